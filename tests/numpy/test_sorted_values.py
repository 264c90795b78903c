"""Sorts of values alone, whose order is not asked for: any length, axis, dtype; NaN, infinities, ties, both zeros."""
import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

CHIPS = ("trn1", "trn2", "trn3")
DTYPES = (np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)


def with_odd_ones(rng, shape, dtype, plain=False):
    """Ties, and of floats small numbers and, unless they are to be plain, zeros of both signs, NaN and infinities."""
    x = rng.integers(-9, 9, shape) if np.dtype(dtype).kind != "u" else rng.integers(0, 200, shape)
    x = x.astype(dtype)
    if np.dtype(dtype).kind in "iu":
        return x
    odd = np.array([0.0, 1e-8, 1e-4] + [-0.0, np.nan, -np.nan, np.inf, -np.inf] * (not plain), np.float32)
    odd = odd.astype(dtype)
    return np.where(rng.random(shape) < 0.2, rng.choice(odd, shape), x)


def expect_sorted(got, x, axis):
    got = np.asarray(got)
    want = np.sort(x.astype(np.float64) if x.dtype.kind not in "iu" else x, axis=axis)
    assert got.shape == want.shape and got.dtype == x.dtype
    np.testing.assert_array_equal(got.astype(want.dtype), want)
    if x.dtype.kind not in "iu":  # no zero has lost its sign
        negative = (np.signbit(x) & (x == 0)).sum(axis=axis)
        np.testing.assert_array_equal((np.signbit(got) & (got == 0)).sum(axis=axis), negative)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("target", CHIPS)
def test_any_shape_and_axis(dtype, target):
    rng = np.random.default_rng([SEED, CHIPS.index(target), DTYPES.index(dtype)])
    for shape, axis in [((5, 33), 1), ((130, 8), -1), ((7, 129), 0), ((3, 9, 17), 1), ((2, 2), 1), ((6, 1), 1),
                        ((40,), 0), ((int(rng.integers(1, 140)), int(rng.integers(2, 300))), 1)]:
        turned = axis % len(shape) != len(shape) - 1
        x = with_odd_ones(rng, shape, dtype, plain=target == "trn1" and turned)  # which multiplies to turn columns
        expect_sorted(kiln.jit(lambda x, axis=axis: np.sort(x, axis=axis), target=target)(x), x, axis)


@pytest.mark.parametrize("opt", [1, 2])
@pytest.mark.parametrize("shape", [(7, 513), (2, 2047), (51, 654), (3, 12001), (64, 5, 200)], ids=str)
def test_many_lines_of_no_even_number(shape, opt):
    """Several lines on each partition, and the rest one by one: only the first of several was sorted."""
    rng = np.random.default_rng([SEED, shape[1]])
    for dtype in (np.float32, np.int8, ml_dtypes.bfloat16):
        x = with_odd_ones(rng, shape, dtype)
        expect_sorted(kiln.jit(lambda x: np.sort(x, axis=0), opt=opt)(x), x, 0)
        head = kiln.jit(lambda x: np.sort(x, axis=0)[:2] if x.dtype == np.float32 else np.sort(x, axis=0)[-2:], opt=opt)
        want = np.sort(x.astype(np.float64), axis=0)
        want = want[:2] if dtype == np.float32 else want[-2:]
        np.testing.assert_array_equal(np.asarray(head(x)).astype(np.float64), want)


@pytest.mark.parametrize("columns", [1000, 1024, 3001, 4096])
def test_long_lines(columns):
    rng = np.random.default_rng([SEED, columns])
    x = with_odd_ones(rng, (9, columns), np.float32)
    expect_sorted(kiln.jit(lambda x: np.sort(x, axis=-1))(x), x, -1)


@pytest.mark.parametrize(("shape", "axis"), [((3, 5000), 1), ((8, 9001), 1), ((2, 3, 8200), 2), ((70001,), 0),
                                             ((4500, 2), 0), ((1, 4096), 1)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int16], ids=lambda t: np.dtype(t).name)
def test_lines_that_are_cut(shape, axis, dtype):
    """Too long for a partition, or too few to fill the partitions; orders that are hard for networks, too."""
    rng = np.random.default_rng([SEED, shape[0], np.dtype(dtype).itemsize])
    sort = kiln.jit(lambda x: np.sort(x, axis=axis))
    x = with_odd_ones(rng, shape, dtype)
    expect_sorted(sort(x), x, axis)
    for y in (np.sort(x, axis=axis), np.flip(np.sort(x, axis=axis), axis), np.roll(np.sort(x, axis=axis), 1000, axis),
              (np.indices(shape)[axis] % 2).astype(dtype)):
        y = np.ascontiguousarray(y)
        expect_sorted(sort(y), y, axis)


def test_few_long_lines_fill_the_partitions():
    """As many instructions as for one line: lines side by side are cut into columns that share the network."""
    one, eight = (kiln.jit(lambda x: np.sort(x, axis=-1)).lower(f"float32[{n},32000]", target="trn2").report()
                  for n in (1, 8))
    assert eight["instructions_executed"] < 1.5 * one["instructions_executed"]


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
def test_lines_of_one_value(special):
    x = np.full((4, 37), special, np.float32)
    expect_sorted(kiln.jit(lambda x: np.sort(x, axis=-1))(x), x, -1)


def test_backwards_and_medians():
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((20, 501)).astype(np.float32)
    np.testing.assert_array_equal(kiln.jit(lambda x: np.sort(x, axis=-1)[:, ::-1])(x), np.sort(x, axis=-1)[:, ::-1])
    np.testing.assert_array_equal(kiln.jit(lambda x: np.median(x, axis=-1))(x), np.median(x, axis=-1))


def test_values_beside_their_order():
    """Both from one network: the values are taken by the order."""
    x = np.random.default_rng(SEED).integers(0, 9, (11, 60)).astype(np.float32)
    values, order = kiln.jit(lambda x: (np.sort(x, axis=-1), np.argsort(x, axis=-1, kind="stable")))(x)
    np.testing.assert_array_equal(values, np.sort(x, axis=-1))
    np.testing.assert_array_equal(order, np.argsort(x, axis=-1, kind="stable"))


def test_three_instructions_a_step():
    """A step of the network for values has minima, maxima and what it leaves; with an order it has eleven."""
    low = kiln.jit(lambda x: np.sort(x, axis=-1)).lower("float32[128,1024]", target="trn2")
    assert low.report()["instructions_executed"] < 3 * 55 + 15
