"""Example kernels on the tensor engine: matrix products, convolution, transposes, router, experts."""

import ml_dtypes
import numpy as np
import pytest
import scipy.signal

import conv1d
import matmul
import mixture_of_experts
import mx_matmul
import router_topk
import transpose
from closeness import assert_close, normal, run

SIZES = [(1, 1, 1), (128, 128, 512), (300, 200, 700), (257, 129, 513)]  # K, M, N


@pytest.mark.parametrize("kernel", matmul.VERSIONS, ids=lambda kernel: kernel.func.__name__)
@pytest.mark.parametrize("k, m, n", SIZES)
def test_matmul(target, rng, dtype, kernel, k, m, n):
    a, b = normal(rng, (k, m), dtype), normal(rng, (k, n), dtype)
    assert_close(run(kernel, a, b), a.astype(np.float64).T @ b.astype(np.float64), dtype)


@pytest.mark.parametrize("k, m, n", [(1, 1, 1), (128, 128, 512), (100, 64, 300)])
def test_matmul_of_one_tile(target, rng, dtype, k, m, n):
    a, b = normal(rng, (k, m), dtype), normal(rng, (k, n), dtype)
    assert_close(run(matmul.basic, a, b), a.astype(np.float64).T @ b.astype(np.float64), dtype)


@pytest.mark.parametrize("blocks", [(1, 1, 1), (2, 1, 1), (3, 2, 2)])
def test_blocks_of_any_size(target, rng, blocks):
    a, b = normal(rng, (520, 400), np.float32), normal(rng, (520, 1100), np.float32)
    assert_close(run(matmul.blocked, a, b, *blocks), a.astype(np.float64).T @ b.astype(np.float64))


@pytest.mark.parametrize("k, m, n", [(128, 2, 1), (512, 128, 512), (640, 140, 700), (384, 30, 65)])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_mx_matmul(monkeypatch, rng, k, m, n, dtype):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    a, b = normal(rng, (k, m), dtype), normal(rng, (k, n), dtype)
    got = run(mx_matmul.mx_matmul, a, b)
    assert_close(got, mx_matmul.reference(a, b))
    exact = a.astype(np.float64).T @ b.astype(np.float64)
    assert np.abs(got - exact).max() <= 0.5 * k**0.5  # 4 bits of mantissa in a sum of k products around 1


@pytest.mark.parametrize("batch, inputs, outputs, length, taps", [
    (1, 1, 1, 1, 1), (2, 150, 140, 700, 5), (3, 16, 8, 40, 40), (1, 128, 128, 514, 3)])
def test_conv1d(target, rng, dtype, batch, inputs, outputs, length, taps):
    x, w, bias = (normal(rng, s, dtype) for s in ((batch, inputs, length), (outputs, inputs, taps), (outputs, 1)))
    want = np.stack([sum_of_correlations(image, w.astype(np.float64)) for image in x.astype(np.float64)])
    assert_close(run(conv1d.conv1d, x, w, bias), want + bias.astype(np.float64), dtype)


def sum_of_correlations(image, w):
    return np.concatenate([scipy.signal.correlate(image, taps, "valid") for taps in w])


@pytest.mark.parametrize("shape", [(1, 1), (128, 128), (300, 700), (129, 5)])
def test_transpose(target, rng, dtype, shape):
    x = normal(rng, shape, dtype)
    np.testing.assert_array_equal(run(transpose.transpose, x), x.T)


@pytest.mark.parametrize("rows, shape", [(1, (1, 1)), (130, (3, 4)), (300, (20, 35))])
@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.float32])
def test_transpose_rows(target, rng, rows, shape, kind):
    x = rng.integers(0, 100, (rows, shape[0] * shape[1])).astype(kind)
    want = x.reshape(rows, *shape).swapaxes(1, 2).reshape(rows, -1)
    np.testing.assert_array_equal(run(transpose.transpose_rows, x, shape), want)


@pytest.mark.parametrize("tokens, d, experts, k", [(1, 1, 8, 1), (200, 300, 16, 4), (129, 128, 200, 8)])
def test_router(target, rng, tokens, d, experts, k):
    x, weight = normal(rng, (tokens, d), np.float32), normal(rng, (d, experts), np.float32)
    shares, chosen = run(router_topk.router_topk, x, weight, k)
    want, _ = router_topk.reference(x, weight, k)
    assert_close(shares, want, factor=10)
    logits = np.sort(x.astype(np.float64) @ weight, axis=1)[:, ::-1]
    picked = np.take_along_axis(x.astype(np.float64) @ weight, chosen.astype(np.int64), axis=1)
    assert_close(picked, logits[:, :k])


@pytest.mark.parametrize("tokens, d, hidden, experts, k", [
    (1, 8, 8, 8, 1), (150, 200, 300, 8, 2), (130, 64, 129, 12, 3),
    (800, 16, 24, 8, 3), (600, 16, 24, 8, 8)])  # pairs of blocks with a half, and what is left over
@pytest.mark.parametrize("kind", [np.float32, ml_dtypes.bfloat16])
def test_mixture_of_experts(target, rng, tokens, d, hidden, experts, k, kind):
    arrays = mixture_of_experts.inputs(rng, tokens, d, hidden, experts, kind)
    got = run(mixture_of_experts.mixture_of_experts, *arrays, k=k)
    assert_close(got, mixture_of_experts.reference(*arrays, k=k), kind)
