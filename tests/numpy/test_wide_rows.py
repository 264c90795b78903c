"""Rows that no partition holds, and columns of many of them: values as NumPy has them on every target, and what they
cost for one element no more than shapes that are a little narrower."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED, same

BF16 = ml_dtypes.bfloat16
TARGETS = ("trn1", "trn2", "trn3")


def three_points(x):
    return x[:, :-2] * 0.25 + x[:, 1:-1] * 0.5 + x[:, 2:] * 0.25


def softmax_of_columns(x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


# A function, the shape of its rows, one that is narrower, and how many times as long an element may take.
CASES = {
    "three points": (three_points, (512, 50257), (512, 8000), 1.5),
    "three points that lie far apart": (lambda x: x[:, :-9000] + x[:, 9000:], (256, 30011), (256, 12000), 3),
    "differences": (lambda x: np.diff(x, axis=1), (512, 10007), (512, 8000), 1.5),
    "every second": (lambda x: x[:, ::2] * 2, (300, 50257), (300, 16000), 1.5),
    "every second of two": (lambda x: x[:, ::2] + x[:, 1::2], (300, 50258), (300, 16000), 1.5),
    "a factor per row": (lambda x: x * x[:, :1] + x[:, 1:2], (256, 50257), (256, 8000), 1.5),
    "transposed": (lambda x: x.T + 1, (10007, 384), (4000, 384), 1.5),
    "softmax of columns": (softmax_of_columns, (300, 11008), (300, 3000), 1.5),
    "softmax of few long columns": (softmax_of_columns, (10007, 256), (4000, 256), 3),
    "running sums of rows": (lambda x: np.cumsum(x * 0.5, 1) + 1, (300, 50257), (300, 8000), 1.5),
    "running sums of columns": (lambda x: np.cumsum(x, 0), (8192, 512), (2000, 512), 1.5),
    "factors of columns": (lambda x: x * x[:1] + x[1:2], (256, 20000), (256, 8000), 1.6),
}


def ns_per_element(function, shape, target, dtype="float32"):
    lowered = kiln.jit(function).lower(f"{dtype}[{shape[0]},{shape[1]}]", target=target)
    return lowered.report()["time_ns"] / np.prod(shape)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_times(name, target):
    function, wide, narrow, limit = CASES[name]
    assert ns_per_element(function, wide, target) < limit * ns_per_element(function, narrow, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, BF16])
@pytest.mark.parametrize("name", CASES)
def test_values(name, dtype, target):
    print("KILN_SEED", SEED)
    function, (rows, columns), _, _ = CASES[name]
    shape = (rows, columns) if rows > columns else (rows // 100 + 1, columns)
    x = np.random.default_rng(SEED).standard_normal(shape, dtype=np.float32).astype(dtype)
    same(kiln.jit(function, target=target)(x), function(x.astype(np.float32)).astype(dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, BF16])
@pytest.mark.parametrize("shape, axis", [((70, 20011), 1), ((131, 50257), 1), ((9001, 33), 0), ((10007, 130), 0),
                                         ((4100, 3, 35), 0), ((2, 4099, 40), 1), ((20011,), 0), ((3, 30001), 1)])
def test_running_values(shape, axis, dtype, target):
    """A piece of a row goes on where the one before ends."""
    print("KILN_SEED", SEED)
    x = np.random.default_rng(SEED).uniform(-1, 1, shape).astype(dtype)
    low = kiln.jit(lambda x: np.cumsum(x, axis), target=target).lower(x)
    exact = np.cumsum(x.astype(np.float64), axis)
    error = np.abs(low(x).astype(np.float64) - exact).max() / np.abs(exact).max()
    assert error < (1e-2 if dtype == BF16 else 1e-5)
    if axis == 1 and shape[0] > 64:
        assert low.report()["bytes_moved"] <= 1.1 * low.report()["bytes_compulsory"]
    if axis == 1 and dtype == np.float32:
        largest = kiln.jit(lambda x: np.maximum.accumulate(x, 1) * 2, target=target)
        np.testing.assert_array_equal(largest(x), np.maximum.accumulate(x, 1) * 2)
