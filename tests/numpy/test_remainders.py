"""Quotients and remainders of floats: the bits are NumPy's, on every target, and all of it stays on the chip."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

BF16 = ml_dtypes.bfloat16
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2.5, -1e30, 1e-30, 3.4028235e38, -3.4028235e38,
                    1.1754944e-38, 7, -7, 6, -6, 0.1, 2**24, 2**25 + 4], np.float32)
FUNCTIONS = {"floor_divide": lambda x, y: x // y, "remainder": lambda x, y: x % y, "fmod": np.fmod}


@pytest.fixture
def rng():
    print(f"KILN_SEED={SEED}")
    return np.random.default_rng(SEED)


def floats(rng, exponents, shape):
    """Normal float32 of both signs, from their bits."""
    parts = [(0, 2, 31), (*exponents, 23), (0, 2**23, 0)]
    return sum(rng.integers(low, high, shape).astype(np.uint32) << shift for low, high, shift in parts).view(np.float32)


def same_bits(got, want):
    numbers = ~np.isnan(want.astype(np.float32))
    assert (numbers == ~np.isnan(got.astype(np.float32))).all()
    assert got[numbers].tobytes() == want[numbers].tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16], ids=["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, dtype, target):
    x, y = (a.astype(dtype).copy() for a in np.meshgrid(SPECIAL, SPECIAL, indexing="ij"))
    want = FUNCTIONS[name](x, y)
    quotient = np.abs(x.astype(np.float64) / y.astype(np.float64))
    known = ~((quotient >= 2**66) & np.isfinite(quotient)) | (name == "floor_divide")
    got = np.asarray(kiln.jit(FUNCTIONS[name], target=target)(x, y))
    if name == "floor_divide" and dtype is np.float32:  # x - rest is rounded there: the last bit may differ
        known &= ~((quotient >= 2**24) & np.isfinite(quotient))
    same_bits(got[known], want[known])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exponents", [(120, 135), (100, 160)], ids=["usual", "far apart"])
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16], ids=["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_quotients_of_all_sizes(name, dtype, exponents, rng):
    exponents = (105, 140) if dtype is np.float16 else exponents
    x, y = floats(rng, exponents, (33, 257)), floats(rng, exponents, (33, 257))
    x[:11] = y[:11] * rng.integers(1, 2**23, (11, 257)).astype(np.float32)  # next to a multiple
    x, y = x.astype(dtype), y.astype(dtype)
    got, want = np.asarray(kiln.jit(FUNCTIONS[name])(x, y)), FUNCTIONS[name](x, y)
    if name == "floor_divide" and dtype is np.float32:
        exact = np.floor(x.astype(np.longdouble) / y.astype(np.longdouble))
        few = np.abs(exact) < 2**22
        same_bits(got[few], want[few])
        np.testing.assert_allclose(got.astype(np.float64), exact.astype(np.float64), rtol=2.0**-22)
    else:
        same_bits(got, want)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_divisors_just_below_a_power_of_two(name, rng):
    """A rest and a divisor more have a bit more than a float32."""
    y = (2.0 ** rng.integers(-8, 8, (33, 257)) * (1 - rng.integers(1, 2**15, (33, 257)) * 2.0**-24)).astype(np.float32)
    x = (y.astype(np.float64) * rng.integers(1, 2**14, (33, 257))).astype(np.float32)
    same_bits(np.asarray(kiln.jit(FUNCTIONS[name])(x, y)), FUNCTIONS[name](x, y))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float32, BF16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_no_number_beyond(name, dtype, rng):
    x, y = floats(rng, (180, 255), (20, 401)).astype(dtype), floats(rng, (1, 120), (20, 401)).astype(dtype)
    got, want = (np.asarray(a, np.float32) for a in (kiln.jit(FUNCTIONS[name])(x, y), FUNCTIONS[name](x, y)))
    assert (np.isnan(got) | (got == want)).all()


@pytest.mark.parametrize("y", [1.0, 2.0, 3.0, 0.1, -7.5])
@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_of_one_number(name, y, rng):
    x = floats(rng, (100, 160), (5, 321))
    same_bits(np.asarray(kiln.jit(lambda x: FUNCTIONS[name](x, np.float32(y)))(x)), FUNCTIONS[name](x, np.float32(y)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_everything_stays_on_the_chip(name, dtype):
    specs = [f"{dtype}[3000,2001]"] * 2
    report = kiln.jit(FUNCTIONS[name]).lower(*specs).report()
    assert report["bytes_moved"] == report["bytes_compulsory"]
    assert len(report["groups"]) == 1
