"""Integers of 32 bits sorted by themselves: all of them, in networks of exact minima and maxima."""

import numpy as np
import pytest

import kiln
from against_numpy import SEED

SHAPES = ((3, 77), (300, 17), (1000,), (8, 5000), (50257,))


def integers(shape, dtype):
    bounds = np.iinfo(dtype)
    x = np.random.default_rng(SEED).integers(bounds.min, bounds.max, shape, dtype=np.int64, endpoint=True).astype(dtype)
    x.flat[:9] = bounds.max, bounds.max, bounds.min, bounds.min, 0, 1, 0, bounds.max - 1, bounds.max - 2
    return x


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows(shape, dtype, target):
    x = integers(shape, dtype)
    for f in lambda x: np.sort(x, -1), lambda x: np.sort(x, -1)[..., ::-1]:
        assert np.array_equal(kiln.jit(f, target=target)(x), f(x))


def test_columns_and_descending():
    x = integers((500, 40), "int32")
    for f in lambda x: np.sort(x, 0), lambda x: -np.sort(-x, -1), lambda x: np.sort(x, -1)[:, 20]:
        assert np.array_equal(kiln.jit(f)(x), f(x))


def test_times():
    """By their order, half after half, these take 0.6, 11.8 and 39 ms."""
    for shape, most in (("128,1024", 80e3), ("8,5000", 200e3), ("129000", 1500e3)):
        assert kiln.jit(lambda x: np.sort(x, -1)).lower(f"int32[{shape}]", target="trn2").report()["time_ns"] < most
