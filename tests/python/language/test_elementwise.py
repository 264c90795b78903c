"""Functions of two operands: operators, broadcasting, dtypes, and what they refuse."""

import ml_dtypes
import numpy as np
import pytest

from kernels import lowering, refused, run, same
from kiln.nki import language as nl

ARITHMETIC = ["add", "subtract", "multiply", "maximum", "minimum"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGICAL = ["logical_and", "logical_or", "logical_xor"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]


def floats(rng, shape, dtype):
    """Small multiples of 1/8, so that values tie, and some special values."""
    x = (rng.integers(-16, 17, shape) / 8).astype(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    where = rng.random(shape) < 0.2
    x[where] = rng.choice(special, int(where.sum()))
    return x


def expected(name, x, y, dtype=None):
    """NumPy in float32, rounded to the result's dtype."""
    with np.errstate(all="ignore"):
        value = getattr(np, name)(np.asarray(x, np.float32), np.asarray(y, np.float32))
    return value.astype(dtype or (x if isinstance(x, np.ndarray) else y).dtype)


def check(name, got, want):
    if name in ("maximum", "minimum"):  # NumPy leaves the sign of zero open
        got, want = got + got.dtype.type(0), want + want.dtype.type(0)
    same(got, want)


def shape_of(rng):
    return int(rng.integers(1, 129)), int(rng.integers(2, 150))


@pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS)
def test_tiles_numbers_and_columns(target, rng, float_dtype, name):
    f = getattr(nl, name)
    x, y = (floats(rng, shape_of(rng), float_dtype) for _ in range(2))
    y = floats(rng, x.shape, float_dtype)
    column = floats(rng, (x.shape[0], 1), float_dtype)
    check(name, run(f, x, y), expected(name, x, y))
    check(name, run(lambda a: f(a, 0.5), x), expected(name, x, 0.5))
    check(name, run(lambda a: f(0.5, a), x), expected(name, 0.5, x))
    check(name, run(f, x, column), expected(name, x, column))
    check(name, run(f, column, x), expected(name, column, x))
    check(name, run(lambda a, b: f(a, b, dtype=nl.float32), x, y), expected(name, x, y, np.float32))


def test_what_they_issue(rng):
    x, y = (rng.standard_normal((4, 6)).astype(np.float32) for _ in range(2))
    column, half = y[:, :1].copy(), y[:, :1].astype(ml_dtypes.bfloat16)
    assert lowering(nl.add, x, y) == ["tensor_tensor"]
    assert lowering(lambda a: nl.add(a, 1.0), x) == ["tensor_scalar"]
    assert lowering(lambda a: nl.subtract(1.0, a), x) == ["tensor_scalar"]
    assert lowering(nl.subtract, x, column) == ["tensor_scalar"]
    assert lowering(lambda a, b: nl.subtract(a, b, dtype=nl.float32), x, half) == ["tensor_tensor"]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_32_bit_integers_are_exact(target, rng, name, dtype):
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, (9, 31), dtype, endpoint=True) for _ in range(2))
    f, want = getattr(nl, name), getattr(np, name)
    same(run(f, x, y), want(x, y))
    same(run(f, x, y[:, :1].copy()), want(x, y[:, :1]))
    same(run(lambda a: f(a, 12345), x), want(x, dtype(12345)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16])
def test_small_integers_saturate(target, rng, dtype):
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, (5, 20), dtype, endpoint=True) for _ in range(2))
    for name in ("add", "subtract"):
        want = np.clip(getattr(np, name)(x.astype(np.int64), y), info.min, info.max).astype(dtype)
        same(run(getattr(nl, name), x, y), want)
    same(run(lambda a, b: nl.less(a, b, dtype=nl.uint8), x, y), (x < y).astype(np.uint8))


@pytest.mark.parametrize("name", LOGICAL)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_logical(target, rng, name, dtype):
    x, y = (rng.integers(0, 2, (7, 19)).astype(dtype) for _ in range(2))
    same(run(getattr(nl, name), x, y), getattr(np, name)(x, y).astype(dtype))
    same(run(lambda a: getattr(nl, name)(a, 1), x), getattr(np, name)(x, 1).astype(dtype))


@pytest.mark.parametrize("name", BITWISE)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int32])
def test_bits(target, rng, name, dtype):
    info, bits = np.iinfo(dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    x = rng.integers(info.min, info.max, (6, 23), dtype, endpoint=True)
    y = rng.integers(0, np.iinfo(dtype).bits if "shift" in name else info.max, (6, 23)).astype(dtype)
    f, want = getattr(nl, name), lambda a, b: getattr(np, name)(a.view(bits), np.asarray(b).astype(bits)).view(dtype)
    same(run(f, x, y), want(x, y))
    same(run(f, x, y[:, :1].copy()), want(x, y[:, :1]))
    same(run(lambda a: f(a, 5), x), want(x, 5))
    if name == "bitwise_and" and bits.itemsize == 4:
        same(run(lambda a: f(a, 0xFFFF0000, dtype=nl.uint32), x), x.view(bits) & np.uint32(0xFFFF0000))


def test_power(target, rng):
    x, y = rng.random((4, 9), np.float32) * 3, rng.standard_normal((4, 9)).astype(np.float32)
    np.testing.assert_allclose(run(nl.power, x, y), np.power(x, y), rtol=1e-5)
    np.testing.assert_allclose(run(nl.power, x, y[:, :1].copy()), np.power(x, y[:, :1]), rtol=1e-5)
    refused("nki.R27", lambda a: nl.power(a, 2.0), x, help="nl.full")


@pytest.mark.parametrize("name, larger", [("abs_max", True), ("abs_min", False)])
def test_magnitudes(monkeypatch, rng, name, larger):
    x, y = (np.round(rng.standard_normal((9, 40)) * 2).astype(np.float32) for _ in range(2))
    f = getattr(nl, name)
    takes_x = (abs(x) > abs(y)) if larger else (abs(x) < abs(y))
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    same(run(f, x, y), np.where(takes_x, x, y))
    column = y[:, :1]
    takes_x = (abs(x) > abs(column)) if larger else (abs(x) < abs(column))
    same(run(f, x, column.copy()), np.where(takes_x, x, column))
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    refused("tensor_tensor.R7", lambda a, b: f(a, b), x, y, help="trn3")


def test_operands_may_be_in_psum(target, rng):
    x = rng.standard_normal((8, 8)).astype(np.float32)
    same(run(lambda a: nl.add(nl.transpose(a), a), x), x.T + x)
    refused("tensor_tensor.R1", lambda a: nl.add(nl.transpose(a), nl.transpose(a)), x)


def test_shapes_that_do_not_broadcast():
    x, row, tall = np.zeros((4, 6), np.float32), np.zeros((1, 6), np.float32), np.zeros((5, 6), np.float32)
    refused("nki.R28", lambda a, b: nl.add(a, b), x, row, help="nl.broadcast_to(tile, (4, 6))")
    refused("nki.R28", lambda a, b: nl.add(a, b), row, x, help="nl.broadcast_to")
    refused("nki.R28", lambda a, b: nl.multiply(a, b), x, tall, help="nl.broadcast_to")
    refused("nki.R28", lambda a, b: nl.multiply(a, b[0:1, 0:1]), x, row, help="nl.broadcast_to")


def test_dtypes_that_differ_need_dtype(rng):
    x, y = rng.standard_normal((4, 6)).astype(np.float32), rng.integers(0, 9, (4, 6)).astype(np.int32)
    refused("nki.R29", lambda a, b: nl.add(a, b), x, y, help="dtype=")
    same(run(lambda a, b: nl.add(a, b, dtype=nl.float32), x, y), x + y.astype(np.float32))


def test_operands_of_the_wrong_kind(rng):
    x = np.zeros((4, 6), np.float32)
    refused("nki.R27", lambda a: nl.add(1, 2), x)
    refused("nki.R27", lambda a: nl.add(a, "1"), x)
    refused("nki.R27", lambda a: nl.add(a, np.zeros((4, 6))), x)
    refused("nki.R27", lambda a: nl.add(a, nl.ndarray((4, 6), nl.float32, buffer=nl.hbm)), x, help="nl.load")
    refused("tensor_scalar.R7", lambda a: nl.bitwise_and(a, 1), x)
