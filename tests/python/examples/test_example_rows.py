"""Example kernels that work row by row: softmax, norms, cumulative sum, cross-entropy, rope."""

import numpy as np
import pytest
import scipy.special

import cross_entropy
import cumsum
import rms_norm
import rms_norm_quantize
import rope
import softmax
from closeness import assert_close, normal, run

SHAPES = [(1, 1), (128, 512), (300, 1000), (129, 33)]


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(target, rng, dtype, shape):
    x = 4 * normal(rng, shape, dtype)
    assert_close(run(softmax.softmax, x), scipy.special.softmax(x.astype(np.float64), axis=1), dtype)


def test_softmax_of_large_values(target):
    x = np.array([[1000, 1001, 999], [-1e30, 0, 1e30]], np.float32)
    assert_close(run(softmax.softmax, x), scipy.special.softmax(x.astype(np.float64), axis=1))


@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm(target, rng, dtype, shape):
    x, weight = normal(rng, shape, dtype), normal(rng, shape[1], dtype)
    want = rms_norm.reference(*(a.astype(np.float64) for a in (x, weight)))
    assert_close(run(rms_norm.rms_norm, x, weight), want, dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm_quantize(target, rng, shape):
    x, weight = normal(rng, shape, np.float32), normal(rng, shape[1], np.float32)
    quantized, scale = run(rms_norm_quantize.rms_norm_quantize, x, weight)
    _, want_scale = rms_norm_quantize.reference(x, weight)
    assert_close(scale, want_scale)
    assert quantized.dtype.name == "float8_e4m3"
    y = rms_norm.reference(x, weight)
    error = np.abs(quantized.astype(np.float64) * scale - y)
    assert (error <= np.maximum(np.abs(y) / 16, scale * 2.0**-10) * 1.01).all()  # half a step of 3 mantissa bits


def test_rms_norm_quantize_of_zeros(target):
    x = np.zeros((3, 7), np.float32)
    quantized, scale = run(rms_norm_quantize.rms_norm_quantize, x, np.ones(7, np.float32))
    assert (quantized.astype(np.float32) == 0).all() and (scale > 0).all()


@pytest.mark.parametrize("shape", [*SHAPES, (5, 5000), (130, 2049)])
def test_cumsum(target, rng, dtype, shape):
    x = normal(rng, shape, dtype)
    assert_close(run(cumsum.cumsum, x), np.cumsum(x, axis=1, dtype=np.float64), dtype, factor=4)


@pytest.mark.parametrize("shape", [(1, 2), (128, 512), (200, 9001), (131, 4097)])
def test_cross_entropy(target, rng, dtype, shape):
    logits = 5 * normal(rng, shape, dtype)
    labels = rng.integers(0, shape[1], (shape[0], 1), dtype=np.int32)
    wide = logits.astype(np.float64)
    want = scipy.special.logsumexp(wide, axis=1, keepdims=True) - np.take_along_axis(wide, labels.astype(np.int64), 1)
    got = run(cross_entropy.cross_entropy, logits, labels)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1e-6 * (1 + np.abs(wide).max())  # a difference of numbers of that size


@pytest.mark.parametrize("shape", [(1, 1, 2), (300, 3, 64), (129, 8, 128)])
def test_rope(target, rng, dtype, shape):
    x = normal(rng, shape, dtype)
    angles = rope.angles(shape[0], shape[2])
    assert_close(run(rope.rope, x, *angles), rope.reference(x, *angles), dtype)


def test_rope_keeps_distances(target, rng):
    """The product of two turned vectors depends on the difference of their positions only."""
    x = np.broadcast_to(normal(rng, (1, 2, 64), np.float32), (50, 2, 64))
    turned = run(rope.rope, np.ascontiguousarray(x), *rope.angles(50, 64))
    products = turned[:, 0] @ turned[:, 1].T
    assert_close(products[7:, 7:], products[:-7, :-7], factor=10)
