"""Example kernels over sequences and images: attention, its gradients, the selective scan, pooling."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import attention
import attention_backward
import average_pool
import selective_scan
from closeness import assert_close, normal, run

LENGTHS = [(1, 1, 1), (1, 5, 64), (200, 300, 64), (128, 2500, 128), (130, 129, 16)]  # queries, keys, d


@pytest.mark.parametrize("queries, keys, d", LENGTHS)
def test_attention(target, rng, dtype, queries, keys, d):
    q, k, v = (normal(rng, (2, n, d), dtype) for n in (queries, keys, keys))
    out, log_sums = run(attention.attention, q, k, v)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / d**0.5
    assert_close(out, scipy.special.softmax(scores, axis=2) @ v.astype(np.float64), dtype)
    assert_close(log_sums, scipy.special.logsumexp(scores, axis=2, keepdims=True))


def test_attention_of_growing_scores(target):
    """Every block has a larger score than the one before it."""
    q, v = np.ones((1, 3, 4), np.float32), np.random.default_rng(1).standard_normal((1, 5000, 4), dtype=np.float32)
    k = np.repeat(np.linspace(0, 30, 5000, dtype=np.float32)[None, :, None], 4, axis=2)
    assert_close(run(attention.attention, q, k, v)[0], attention.reference(q, k, v)[0], factor=10)


@pytest.mark.parametrize("queries, keys, d", LENGTHS[:3] + LENGTHS[4:])
def test_attention_backward(target, rng, queries, keys, d):
    q, k, v, gradient = (normal(rng, (2, n, d), np.float32) for n in (queries, keys, keys, queries))
    got = run(attention_backward.attention_backward, q, k, v, *run(attention.attention, q, k, v), gradient)
    for g, want in zip(got, attention_backward.reference(q, k, v, gradient)):
        assert_close(g + (keys == 1), want + (keys == 1), factor=10)  # one key: the gradients of q and k are 0


def test_attention_backward_is_the_slope(target, rng):
    q, k, v, gradient = (normal(rng, (1, n, 8), np.float32) for n in (6, 9, 9, 6))
    dq, dk, dv = run(attention_backward.attention_backward, q, k, v, *run(attention.attention, q, k, v), gradient)

    def value(q, k, v):
        scores = q @ k.transpose(0, 2, 1) / 8**0.5
        return (scipy.special.softmax(scores, axis=2) @ v * gradient).sum()

    inputs = [x.astype(np.float64) for x in (q, k, v)]
    for i, slope in enumerate((dq, dk, dv)):
        step = rng.standard_normal(inputs[i].shape)
        ends = [value(*[x + sign * 1e-4 * step if j == i else x for j, x in enumerate(inputs)]) for sign in (1, -1)]
        assert abs((ends[0] - ends[1]) / 2e-4 - (slope * step).sum()) <= 1e-4 * np.abs(slope * step).sum()


@pytest.mark.parametrize("batch, channels, states, time", [
    (1, 1, 1, 1), (2, 150, 4, 600), (1, 128, 3, 512), (1, 5, 2, 1025)])
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_selective_scan(target, rng, batch, channels, states, time, kind):
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    arrays = selective_scan.inputs(rng, batch, channels, states, time, dtype)
    assert_close(run(selective_scan.selective_scan, *arrays), selective_scan.reference(*arrays), dtype)


@pytest.mark.parametrize("shape, size", [((1, 1, 1), 1), ((150, 17, 20), 3), ((128, 8, 6), 2), ((3, 50, 40), 7)])
def test_average_pool(target, rng, dtype, shape, size):
    x = normal(rng, shape, dtype)
    assert_close(run(average_pool.average_pool, x, size), average_pool.reference(x, size), dtype)
