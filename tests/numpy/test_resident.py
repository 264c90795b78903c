"""Programs whose values live together in large numbers, or are reduced in two steps, stay on the chip: their values are
those of NumPy, and they move hardly more bytes than they must."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED


def variance(x):
    return np.var(x, axis=1)


def total(x):
    return np.sum(x, axis=1)


def quotient_and_rest(x, y):
    return x // y, x % y


# By function: its shapes, and bytes over those that must move. A variance reads twice, a sum goes in two steps.
CASES = [(total, [(300, 200, 333)], 1.5), (variance, [(300, 200, 333)], 3), (quotient_and_rest, [(384, 2001)] * 2, 1.1)]


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("function, shapes, most", CASES)
def test_bytes(function, shapes, most, dtype, target):
    specs = [f"{dtype}[{','.join(map(str, s))}]" for s in shapes]
    report = kiln.jit(function).lower(*specs, target=target).report()
    assert report["bytes_moved"] <= most * report["bytes_compulsory"]


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-5), (ml_dtypes.bfloat16, 1e-2)])
@pytest.mark.parametrize("function", [total, variance])
def test_two_steps(function, dtype, tolerance):
    print(f"KILN_SEED={SEED}")
    x = (np.random.default_rng(SEED).standard_normal((300, 200, 333)) + 1).astype(dtype)
    want = function(x.astype(np.float64))
    got = np.asarray(kiln.jit(function, target="trn2")(x), np.float64)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def test_many_values():
    rng = np.random.default_rng(SEED)
    print(f"KILN_SEED={SEED}")
    x, y = (rng.standard_normal((384, 2001)).astype(np.float32) for _ in range(2))
    y = np.copysign(np.abs(y) + np.float32(0.01), y)
    for got, want in zip(kiln.jit(quotient_and_rest, target="trn2")(x * 100, y), quotient_and_rest(x * 100, y)):
        np.testing.assert_array_equal(got, want)
