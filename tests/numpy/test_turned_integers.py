"""Columns of integers and of truth as rows, exact, and without a transfer for each element; given matrices of 8 bits
that are turned for a product, before or behind their conversion and their scales."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "bool")
TARGETS = ("trn1", "trn2", "trn3")


def integers(shape, dtype):
    random = np.random.default_rng(SEED)
    if dtype == "bool":
        return random.random(shape) < 0.5
    bounds = np.iinfo(dtype)
    return random.integers(bounds.min, bounds.max, shape, dtype=np.int64, endpoint=True).astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_columns_of_integers(dtype, target):
    for shape in (300, 200), (257, 33), (17, 1000):
        x, y = integers(shape, dtype), integers(shape[::-1], dtype)
        for f in lambda x, y: (x.T ^ y).T, lambda x, y: x.T ^ y:
            assert np.array_equal(kiln.jit(f, target=target)(x, y), f(x, y))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_columns_move_in_long_runs(dtype):
    """By single elements this takes 2 to 8 ms."""
    f = kiln.jit(lambda x: x.T.astype(np.float32) * 0.5)
    assert f.lower(f"{dtype}[4096,1024]", target="trn2").report()["time_ns"] < 400e3


def after(x, w, s):
    return x @ w.T.astype(x.dtype) * s


def columns_scaled(x, w, s):
    return x @ (w.T.astype(x.dtype) * s)


def rows_scaled(x, w, s):
    return x @ (w.astype(x.dtype) * s[:, None]).T


def read_twice(x, w, s):
    turned = w.T.astype(x.dtype)
    return x @ turned * s + turned.max(0)


WAYS = (after, columns_scaled, rows_scaled, read_twice)


@pytest.mark.parametrize("weights", ["int8", "uint8"])
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (ml_dtypes.bfloat16, 2e-2)])
@pytest.mark.parametrize("f", WAYS, ids=lambda f: f.__name__)
def test_turned_weights(f, dtype, tolerance, weights):
    random = np.random.default_rng(SEED)
    for m, k, n in (64, 300, 200), (3, 129, 77):
        x, s = random.standard_normal((m, k)).astype(dtype), random.random(n).astype(dtype)
        w = integers((n, k), weights)
        want = f(x.astype(np.float64), w, s.astype(np.float64))
        for target in TARGETS:
            got = kiln.jit(f, target=target)(x, w, s).astype(np.float64)
            assert np.abs(got - want).max() < tolerance * np.abs(want).max()


@pytest.mark.parametrize("f", WAYS[:3], ids=lambda f: f.__name__)
def test_turned_weights_are_not_stored(f):
    """One pass over the matrix, which DMAs convert: 8.1 ms where its columns come element by element."""
    shapes = ("bfloat16[64,4096]", "int8[4096,4096]", "bfloat16[4096]")
    report = kiln.jit(f).lower(*shapes, target="trn2").report()
    assert report["time_ns"] < 200e3
    assert report["bytes_moved"] < 2.1 * report["bytes_compulsory"]
