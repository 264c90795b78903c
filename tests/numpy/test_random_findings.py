"""What random programs of floats and integers at odd shapes found, each by the smallest program that shows it."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED, check, same, sample

SHORT = [ml_dtypes.bfloat16, np.float16]


@pytest.mark.parametrize("opt", [1, 2])
def test_a_mean_of_one_number_that_is_on_all_partitions(opt):
    def f(x):
        v = np.log(np.sum(np.exp(x - 1), axis=-1, keepdims=True))
        return np.mean(v, axis=0, keepdims=True), v, np.sum(v) + np.sum(v * 2)

    check(f, sample(np.float32, (777,), 1, False), opt=opt)

    def of_heads(x, w):
        h = (x @ w).reshape(1, 8, 64)
        s = np.sum(h * h, axis=-1, keepdims=True)
        return h / np.sqrt(np.sum(s, axis=-1, keepdims=True) + 1)

    check(of_heads, sample(np.float32, (1, 256), 2, False), sample(np.float32, (256, 512), 3, False), opt=opt)


@pytest.mark.parametrize("shape", [(64, 64), (64, 1), (128, 64), (32, 128)])
def test_sums_of_columns_beside_a_product(shape):
    """Columns that were summed up as heads lay on all partitions, and were read as if each had its own."""
    def f(x, y):
        v = x @ y
        return v / (np.abs(v).sum(axis=0, keepdims=True) + 1), v - v.sum(axis=0), (v * v).mean(axis=0) + v

    x, y = sample(np.float32, shape, 17, False), sample(np.float32, shape[::-1], 18, False)
    check(f, x / 16, y)  # with sums that are near v, whose rounding is not all that a difference has left


def test_products_of_one_number_beside_a_spread_row():
    def f(x, y, w):
        n = x @ y
        return (n @ n) @ w

    check(f, *(sample(np.float32, shape, i, False) / 8 for i, shape in enumerate([(1, 63), (63, 1), (1, 2048)])))


def test_tiles_of_many_dimensions():
    x = sample(np.float32, (1, 1, 3, 5, 2), 4, False)
    check(lambda x: (np.tile(x, 2), np.tile(x, (1, 2, 1, 3, 1)), np.tile(x, (2, 1, 1, 1, 1, 1)), np.tile(x, 0)), x)


PAIRS = [(np.int32, np.int32, np.int32), (np.int8, np.int8, np.int32), (np.uint8, np.int8, np.int32),
         (np.int16, np.int8, np.int32), (np.uint8, np.uint8, np.uint32), (np.bool_, np.int16, np.int32),
         (np.int8, np.int8, np.int16), (np.int16, np.uint8, np.int16), (np.int8, np.int8, np.int8),
         (np.uint16, np.int16, np.int32), (np.int8, np.int32, np.int32)]


def _all_values(dtype, shape, seed):
    random = np.random.default_rng(seed)
    if dtype == np.bool_:
        return random.random(shape) < 0.5
    limits = np.iinfo(dtype)
    x = random.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)
    x[:, 0], x[0] = limits.min, limits.max
    return x


@pytest.mark.parametrize("left, right, to", PAIRS)
@pytest.mark.parametrize("m, k, n", [(3, 1025, 4), (7, 3000, 5), (1, 1, 1), (2, 513, 130)])
def test_products_of_integers(left, right, to, m, k, n):
    """By as many bytes as the operands had before they were widened."""
    x, y = _all_values(left, (m, k), 5), _all_values(right, (n, k), 6)
    check(lambda x, y: x.astype(to) @ y.astype(to).T, x, y)


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize("m, n", [(1, 3), (3, 1)])
def test_products_of_many_integers(dtype, m, n):
    """Each 256 of the sum were ops of their own: the compiler's stack was too short for 50000."""
    x, y = _all_values(dtype, (m, 50_000), 7), _all_values(dtype, (50_000, n), 8)
    check(lambda x, y: x.astype(np.int32) @ y.astype(np.int32), x, y)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8])
def test_divisors_of_the_smallest_integer(dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, 0, 1, 3, 100, limits.min + 1], dtype)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    check(lambda x, y: (np.gcd(x, y), np.lcm(x, y)), x, y)


@pytest.mark.parametrize("opt", [1, 2])
@pytest.mark.parametrize("dtype", SHORT)
def test_what_is_compared_is_rounded(dtype, opt):
    """A product has more bits in PSUM than where it was sorted."""
    def f(x, y, scale):
        s = x @ y if scale is None else (x @ y) * dtype(scale)
        return ((s == s.max(axis=-1, keepdims=True)).sum(axis=-1),
                (s >= np.sort(s, axis=-1)[:, -3:-2]).sum(axis=-1), (s == s[:, ::-1][:, ::-1]).all(axis=-1))

    x, y = sample(dtype, (192, 64), 9, False), sample(dtype, (64, 192), 10, False)
    for scale in (None, 0.1):
        largest, best, own = kiln.jit(f, opt=opt)(x, y, scale)
        assert largest.min() >= 1 and largest.max() < 5
        assert best.min() >= 3 and best.max() < 8
        assert own.all()


@pytest.mark.parametrize("dtype, fill", [(np.float16, -1e4), (np.float16, -65504.0), (np.float32, -3.4e38),
                                         (np.float32, -1e9)])
def test_rows_that_see_nothing(dtype, fill):
    """Their mask over the factor of the scores was an infinity, and their softmax no number."""
    def scores(q, k, seen):
        return np.where(seen, q @ k.T * dtype(0.125), dtype(fill))

    def softmax(q, k, seen):
        s = scores(q, k, seen)
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True, dtype=np.float32)

    q, k = sample(dtype, (13, 16), 11, False), sample(dtype, (11, 16), 12, False)
    loose = 200 if dtype is np.float16 else 4  # NumPy's scores near 8 are rounded to 2^-8, so are their exponentials
    for seen in (np.tri(13, 11, -2, dtype=bool), np.arange(13)[:, None] + np.zeros(11) > 3):
        check(lambda q, k, seen=seen: softmax(q, k, seen), q, k, loose=loose)
        check(softmax, q, k, seen, loose=loose)
        same(kiln.jit(scores)(q, k, seen), scores(q, k, seen), 4)


def test_rows_of_a_table_that_is_a_part_of_its_storage():
    """Its rows of 72 and of 9 were no dimension that 96 elements can have, and the source could not be written."""
    x, at = sample(np.float32, (1, 8, 12), 16, False), np.array([0, -1, 0], np.int32)
    for f in (lambda x, at: x[:, :6][at], lambda x, at: x.reshape(-1)[:90].reshape(10, 9)[at]):
        assert "dma_copy" in kiln.jit(f).lower(x, at).nki
        check(f, x, at)


def test_arguments_that_numpy_refuses():
    """Found by NumPy's own tests, whose calls were made again through kiln.jit."""
    x = sample(np.int32, (2, 3, 4), 13)
    check(lambda x: np.clip(x, 2), x)
    check(lambda x: np.clip(x, a_max=2), x)
    check(lambda x: np.clip(x, 2, 3, max=3), x)
    check(lambda x: (np.clip(x, min=2), np.clip(x, 1, None), np.clip(x, max=2), np.clip(x)), x)
    check(lambda x: (x.clip(2), x.clip(max=3), x.clip(1, 2)), x)
    check(lambda x: np.concatenate([x, x], out=np.empty((4, 3, 4), np.int32), dtype=np.int32), x)
    check(lambda x: np.rollaxis(x, 0, 4), x)
    check(lambda x: np.rollaxis(x, 0, -4), x)
    check(lambda x: (np.rollaxis(x, 0, 3), np.rollaxis(x, 2, -3)), x)


def test_dimensions_that_vecdot_keeps():
    x, y = sample(np.float32, (3, 4, 3), 14, False), sample(np.float32, (3, 1, 3), 15, False)
    check(lambda x, y: (np.vecdot(x, y, axes=[0, 2], keepdims=True), np.vecdot(x, x, axis=1, keepdims=True)), x, y)


def test_the_middle_of_odd_rows_on_two_cores():
    """Both cores compute it: not one of them without the largest score, because its sums are in range, and the other
    one with it."""
    random = np.random.default_rng(SEED)
    q, k, v = (random.normal(size=shape).astype(np.float32) for shape in ((3, 131, 40), (67, 40), (67, 24)))
    slopes = (2.0 ** -np.arange(1, 4)).astype(np.float32)[:, None, None]
    distance = np.arange(67, dtype=np.float32) - np.arange(131, dtype=np.float32)[:, None]

    def attention(q, k, v):
        scores = q @ k.T + slopes * distance
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v

    for opt in (1, 2):
        check(attention, q, k, v, lnc=2, opt=opt)
