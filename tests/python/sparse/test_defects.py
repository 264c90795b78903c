"""The known failures of trnsparse, each as a test of what is right (reference list D1 to D9)."""

import os

import numpy as np
import pytest

from cases import attention64, dense_mask, generator, gradients64, relative
from kiln import sparse

LOCAL = lambda i, j: abs(i // 128 - j // 128) <= 1  # noqa: E731


def blocks_of(function, sequence):
    return sparse.BSRMatrix.from_dense(dense_mask(function, sequence, sequence).astype(np.float32))


def arrays(head, sequence=256):
    rng = generator(head)
    return [rng.standard_normal((sequence, head)).astype(np.float32) for _ in range(4)]


@pytest.mark.parametrize("head", [32, 128, 256])
@pytest.mark.parametrize("window", [LOCAL, lambda i, j: (i // 128 - j // 128) % 2 == 0,
                                    lambda i, j: (i // 128 == 0) | (j // 128 == 0)])
def test_d1_dq_takes_the_gradient_of_its_own_row(head, window):
    Q, K, V, dO = arrays(head, 384)
    got = sparse.block_sparse_attention_backward(Q, K, V, dO, blocks_of(window, 384), backend="simulator")
    for g, want in zip(got, gradients64(Q, K, V, dO, dense_mask(window, 384, 384), head ** -0.5)):
        assert relative(g, want) < 1e-5


def test_d2_rows_with_fewer_blocks_attend_to_nothing_else():
    window = lambda i, j: abs(i // 128 - j // 128) <= 2  # noqa: E731
    Q, K, V, _ = arrays(64, 512)
    got = sparse.block_sparse_attention_tiled(Q, K, V, blocks_of(window, 512), backend="simulator")
    assert relative(got, attention64(Q, K, V, dense_mask(window, 512, 512), 0.125)[0]) < 1e-5


def test_d3_empty_rows_are_zero():
    some = lambda i, j: (i // 128 == 1) & (j >= 0)  # noqa: E731
    Q, K, V, dO = arrays(32, 384)
    got = sparse.block_sparse_attention_tiled(Q, K, V, blocks_of(some, 384), backend="simulator")
    np.testing.assert_array_equal(got[:128], 0)
    np.testing.assert_array_equal(got[256:], 0)
    dQ = sparse.block_sparse_attention_backward(Q, K, V, dO, blocks_of(some, 384), backend="simulator")[0]
    np.testing.assert_array_equal(dQ[:128], 0)


def test_d4_the_scale_of_the_caller_counts():
    Q, K, V, dO = arrays(32)
    for scale in (0.05, 1.5):
        got = sparse.block_sparse_attention_tiled(Q, K, V, blocks_of(LOCAL, 256), scale, backend="simulator")
        assert relative(got, attention64(Q, K, V, True, scale)[0]) < 1e-5
        back = sparse.block_sparse_attention_backward(Q, K, V, dO, blocks_of(LOCAL, 256), scale, backend="simulator")
        for g, want in zip(back, gradients64(Q, K, V, dO, True, scale)):
            assert relative(g, want) < 1e-5


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5])
def test_d5_thresholds_that_are_not_trivial(threshold):
    rng = generator()
    A, B = rng.standard_normal((256, 256)).astype(np.float32), rng.standard_normal((256, 128)).astype(np.float32)
    d = rng.random(256).astype(np.float32)
    mask = np.sqrt(d)[:, None] * np.sqrt(d)[None] > np.float32(np.sqrt(threshold))
    assert 0 < mask.mean() < 1
    got = sparse.screened_spmm(A, d, B, threshold, backend="simulator")
    np.testing.assert_allclose(got, (A * mask).astype(np.float64) @ B, atol=1e-3, rtol=1e-4)


def test_d6_heads_of_128():
    Q, K, V, dO = arrays(128)
    got = sparse.block_sparse_attention_tiled(Q, K, V, blocks_of(LOCAL, 256), backend="simulator")
    assert got.shape == (256, 128) and relative(got, attention64(Q, K, V, True, 128 ** -0.5)[0]) < 1e-5


def test_d7_gradients_of_blocks_beyond_the_matrix():
    # d blocks = dC B^T, d B = A^T dC; tests/torch asks torch's graph for them
    rng = generator()
    dense = rng.standard_normal((200, 137)).astype(np.float32)
    A = sparse.BSRMatrix.from_dense(dense)
    g, B = rng.standard_normal((200, 9)).astype(np.float32), rng.standard_normal((137, 9)).astype(np.float32)
    got = sparse.bsr_sddmm(A, g, B, backend="simulator")
    np.testing.assert_allclose(got.to_dense(), g @ B.T, atol=1e-4)
    assert (got.blocks[-1][200 - 128:] == 0).all() and (got.blocks[-1][:, 137 - 128:] == 0).all()
    np.testing.assert_allclose(sparse.bsr_spmm(A.T, g, backend="simulator"), dense.T @ g, atol=1e-3)


@pytest.mark.parametrize("backend", ["native", "simulator"])
def test_d8_a_breakdown_says_how_far_it_came(backend):
    # p A p is 0 in the first step: nothing is computed, and that is what the result says
    A = sparse.BSRMatrix.from_dense(np.array([[0, 1], [1, 0]], np.float32), 2)
    x, passes, residual = sparse.cg_bsr(A, np.array([1, 0], np.float32), backend=backend)
    np.testing.assert_array_equal(x, 0)
    assert (passes, residual) == (0, 1.0)
    # after one step
    A = sparse.BSRMatrix.from_dense(np.diag([2.0, 0.0]).astype(np.float32), 2)
    x, passes, residual = sparse.cg_bsr(A, np.array([2, 0], np.float32), tol=0.0, max_iter=9, backend=backend)
    np.testing.assert_array_equal(x, [1, 0])
    assert passes == 1 and residual == 0


def test_d9_what_fits_is_stated_as_it_is():
    # 24 MiB of SBUF hold 384 blocks of float32; the solver keeps 256, and loads larger matrices again in each pass
    rng = generator()
    n = 17 * 128
    R = rng.standard_normal((n, 8)).astype(np.float32)
    dense = (R @ R.T / n + 2 * np.eye(n)).astype(np.float32)
    A = sparse.BSRMatrix.from_dense(dense)
    b = rng.standard_normal(n).astype(np.float32)
    x, passes, residual = sparse.cg_bsr(A, b, backend="simulator")
    text = str(sparse.last_call().program)
    assert A.n_blocks == 289 and "src=blocks" in text[text.index("while"):]
    assert residual < 1e-6 and np.linalg.norm(dense @ x - b) < 1e-4 * np.linalg.norm(b)
    page = os.path.join(os.environ["KILN_SOURCE_DIR"], "docs", "kernels.md")
    with open(page) as file:
        assert "24 MiB" in file.read()
