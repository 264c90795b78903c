"""Lookups in small tables, searches among them, counts and histograms of many numbers: NumPy's values, exactly where
they are integers, and none of them one transfer after the other."""

import ml_dtypes
import numpy as np
import pytest

import kiln
import kiln.numpy as kn
from against_numpy import SEED

TARGETS = ("trn1", "trn2", "trn3")
RANDOM = np.random.default_rng(SEED)


def odd_numbers(n):
    x = RANDOM.standard_normal(n).astype(np.float32)
    for at, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0)):
        x[at::97] = value
    return x


def rising(n, *ends):
    return np.sort(np.concatenate([RANDOM.standard_normal(n), np.array(ends)])).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32, np.uint8, bool])
def test_elements_by_index(dtype, target):
    for shape, n in ((10007,), 100), ((300, 333), 77), ((64, 128), 5000):
        table, index = (RANDOM.standard_normal(n) * 100).astype(np.uint8).astype(dtype), RANDOM.integers(-n, n, shape)
        got = kiln.jit(lambda t, i: t[i], target=target)(table, index.astype(np.int32))
        assert np.array_equal(got, table[index])


@pytest.mark.parametrize("f", [lambda t, i: t[i], lambda t, i: np.moveaxis(t[i], -1, 0)], ids=["rows", "columns"])
def test_short_rows_by_index(f):
    for shape, n, row in ((10007,), 100, 5), ((128, 128), 64, 16), ((60, 70), 32, 3):
        table, index = RANDOM.standard_normal((n, row), np.float32), RANDOM.integers(0, n, shape)
        assert np.array_equal(kiln.jit(f)(table, index.astype(np.int32)), f(table, index))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searches(side, target):
    search = kiln.jit(lambda a, x: np.searchsorted(a, x, side=side), target=target)
    for a, m in (rising(1000), 50000), (rising(4094, np.inf, -np.inf), 2000), (rising(2000, np.nan, np.nan), 5000):
        x = np.concatenate([odd_numbers(m), a])
        assert np.array_equal(search(a, x), np.searchsorted(a, x, side=side))
    a = np.concatenate([np.full(3, -2**31), np.sort(RANDOM.integers(-999, 999, 600)), np.full(3, 2**31 - 1)])
    x = np.concatenate([RANDOM.integers(-1100, 1100, 9000), a]).astype(np.int32)
    assert np.array_equal(search(a.astype(np.int32), x), np.searchsorted(a, x, side=side))


def test_interpolation():
    values = RANDOM.standard_normal(1500).astype(np.float32)
    values[:2] = np.nan, np.inf
    places = rising(1500)
    x = odd_numbers(6000)
    for y in values, np.nan_to_num(values, posinf=1):
        got, want = kiln.jit(np.interp)(x, places, y), np.interp(x, places, y)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype, n, length", [("int32", 5000, 1000), ("uint8", 100003, 256), ("int32", 65536, 65),
                                              ("uint32", 4096, 3000), ("int32", 4099, 64)])
def test_counts(dtype, n, length, target):
    low, high = (-5, length + 20) if dtype == "int32" else (0, np.iinfo(dtype).max + 1)
    x = RANDOM.integers(low, high, n)
    want = np.bincount(x[(x >= 0) & (x < length)], minlength=length)
    assert np.array_equal(kiln.jit(lambda x: kn.bincount(x, length), target=target)(x.astype(dtype)), want)


@pytest.mark.parametrize("bins", [np.array([-2, -1, -1, 0.5, 3], np.float32), 30])
def test_histograms(bins):
    for n in 32768, 40009:
        x = odd_numbers(n)
        count = kiln.jit(lambda x: np.histogram(x, bins, range=(-2, 2))[0])(x)
        assert np.array_equal(count, np.histogram(x, bins, range=(-2, 2))[0])


# By transfers, or with all of the table for each number, these take 1.9, 2.4, 10, 2.7 and 3.5 ms.
IN_SHORT = {
    "lookup": (lambda t, i: t[i], ("float32[256]", "int32[512,512]"), 60e3),
    "bias by distance": (lambda t, i: t[i].transpose(2, 0, 1), ("float32[32,12]", "int32[512,512]"), 150e3),
    "interpolation": (np.interp, ("float32[100000]", "float32[1000]", "float32[1000]"), 250e3),
    "counts": (lambda x: kn.bincount(x, 256), ("int32[1000000]",), 900e3),
    "histogram": (lambda x: np.histogram(x, 50, range=(-3, 3))[0], ("float32[1000000]",), 600e3),
}


@pytest.mark.parametrize("name", IN_SHORT)
def test_times(name):
    f, shapes, most = IN_SHORT[name]
    assert kiln.jit(f).lower(*shapes, target="trn2").report()["time_ns"] < most
