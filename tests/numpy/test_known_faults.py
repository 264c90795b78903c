"""Faults that a public front end of the same kind is known for, each by its number in our notes."""

import numpy as np
import pytest

import kiln
import kiln.numpy as kn
from against_numpy import check, same, sample

X, V = sample(np.float32, (6, 8), 1, False), sample(np.float32, (8,), 2, False)
T = np.array([1, 4, 1], np.int32)


def _put(x, key, value):
    x[key] = value
    return x


def test_13_concatenate_along_a_negative_axis_with_unequal_extents():
    check(lambda x: np.concatenate([x, x[:, :1]], axis=-1), X)


def test_14_static_parts_beside_runtime_indices():
    check(lambda x, t: _put(x, (slice(1, 4), t), 2), X, T)
    check(lambda x, t: _put(x, (2, t), np.float64(3)), X, T)
    check(lambda x: _put(x, np.array([0, 2]), [1, 2, 3, 4, 5, 6, 7, 8]), X)
    check(lambda x, v: _put(x, np.s_[::-2], v), X, V)
    check(lambda x: _put(x, 0, np.float32(2)), X)
    check(lambda x: _put(x, 1, np.arange(8)), X)


def test_15_reads_are_clamped_and_may_be_empty():
    check(lambda x: (x[0:100], x[::-1], x[np.int64(2)], x[3:3], x[5:2]), X)


def test_16_negative_indices_of_the_run():
    check(lambda x, i: (x[i], np.take(x, i, axis=1)), X, np.array([-1, 0, -6], np.int32))
    try:
        kiln.jit(lambda x: np.take(x, [48]))(X)
    except IndexError:
        return
    raise AssertionError("an index that is outside was taken")


def test_17_promotion_and_truth():
    i, h = sample(np.int32, (4,), 3), sample(np.float16, (4,), 4, False)
    f = sample(np.float32, (4,), 5, False)
    check(lambda i, h, f: (i * 0.5, i / 2, i + f, h + f, i > 0, np.isnan(f), h * 2), i, h, f)


def test_18_arguments_of_reductions():
    negative = np.array([[-2.0, 3.0], [0.5, -1.0]], np.float32)
    check(lambda x: (np.var(x, ddof=1), np.std(x, axis=0, ddof=1), np.sum(x, dtype=np.int32), np.prod(x, axis=0),
                     np.mean(x, dtype=np.float16)), negative)
    check(lambda x: (np.power(x, 3), np.power(x, -2), np.power(x, 0.5), x**np.float32(2)), negative)
    check(lambda x: (np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)), np.array([3e9, -3e9, 1e20, -2.5], np.float32))


def test_19_positions_beyond_2_to_the_24():
    x = np.zeros(2**24 + 9, np.float32)
    x[2**24 + 3] = 1
    assert kiln.jit(lambda x: np.argmax(x), opt=1)(x) == 2**24 + 3


def test_20_wide_rows():
    x = sample(np.float32, (2, 50_000), 6, False)
    check(
        lambda x: (
            x.sum(axis=1),
            x.max(axis=1),
            x[:, ::2],
            np.concatenate([x, x], axis=1),
            x - x.mean(axis=1, keepdims=True),
        ),
        x,
    )
    check(lambda x, i: np.take_along_axis(x, i, axis=1), x, sample(np.uint8, (2, 7), 7).astype(np.int32))


def test_22_small_operands_on_the_left():
    one, column = sample(np.float32, (1, 1), 8, False), sample(np.float32, (6, 1), 9, False)
    check(lambda a, b, x: (a - x, b - x, a / x, b / x, 2 - x), one, column, X)


def test_27_long_programs_stay_short():
    flip = kiln.jit(lambda x: np.flip(x)).lower("float32[256,256]").report()["instructions_static"]
    assert flip < 6666 / 10
    running = kiln.jit(lambda x: np.cumsum(x)).lower("float32[64,64]").report()["instructions_static"]
    assert running < 15786 / 10
    x = sample(np.float32, (512, 512), 10, False)
    check(lambda x: _put(x, np.s_[::2, ::2], 0), x)


def test_28_starred_arguments():
    same(kiln.jit(lambda *a: a[0] + 2 * a[1])(X, X + 1), X + 2 * (X + 1))


def test_30_augmented_assignment_changes_the_argument():
    def f(x):
        x += 1

    check(f, X)


def test_33_what_is_offered_is_there():
    want = np.exp(X) / np.exp(X).sum(axis=-1, keepdims=True)
    same(kn.softmax(X), want)
    same(kn.rms_norm(X), X / np.sqrt((X * X).mean(axis=-1, keepdims=True) + 1e-6))
    check(lambda x, y: (np.copyto(x, y), x)[1], X, X[:1])


# Found later.

@pytest.mark.parametrize("options", [{}, {"backend": "native"}, {"target": "trn1", "opt": 1}])
def test_quotients_that_decide(options):
    """The chip multiplies by reciprocals, and 49 / 49 is less than 1 that way."""
    x = np.arange(1, 200, dtype=np.float32)

    def steps(x, y):
        q = x / y
        return q.astype(np.int32), np.floor(q), np.ceil(q), np.trunc(q), q == 3, q >= 3, (x / 49).astype(np.int16), \
            np.rint(x / (y * 6)), (y / y).astype(np.uint8), np.floor(x / 8), np.floor(x / 0.3) if not options else 0

    check(steps, x * 3, x, **options)
    special = np.float32([np.inf, -np.inf, np.nan, 0, -0.0, 1, 3e38, 1e-30])
    check(lambda x, y: (np.floor(x[:, None] / y), x[:, None] / y >= 1), special, special, **options)


def test_a_quotient_is_equal_to_itself():
    def best(x, y):
        q = x / y
        return (q >= np.sort(q)[-3]).sum(), q == q + 0, (q >= np.max(q)).sum(), q > q * 1

    x = np.arange(1, 60, dtype=np.float32)
    check(best, x * 3 + 1, x)


def test_functions_outside_of_their_domain():
    x = np.float32([-3e38, -2, -1, 0, 0.5, 1, 2, 3e38, np.inf, -np.inf, np.nan])
    check(lambda x: (np.arccosh(x), np.arcsin(x), np.arctanh(x)), x)
    check(lambda x: np.sinc(x), np.float32([1e-45, -1e-40, 1e-30, 1e-10, 0, 0.5, 1, -2.5]))
    small = np.float32([1e-40, -3e-39, 1e-38, 1e-20, 0, -0.0, 1, np.inf, np.nan, 3e38, -1e-45])
    got = kiln.jit(lambda x: (np.hypot(x[:, None], x), np.arctan2(x[:, None], x)))(small)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got[0], np.hypot(small[:, None], small), rtol=1e-6, atol=3e-45)
        np.testing.assert_allclose(got[1], np.arctan2(small[:, None], small), rtol=2e-6, atol=3e-45)


@pytest.mark.parametrize("limit", [3.0, 30.0, 1e4, 1e7, 1e8])
def test_large_angles(limit):
    """They were off by one turn near 10^8, and not reduced at all behind a minimum."""
    x = np.random.default_rng(3).uniform(-limit, limit, (5, 301)).astype(np.float32)
    x[0, :4] = 0.0, limit, -limit, 1.0
    for f in (np.sin, np.cos):
        for g in (f, lambda x, f=f: f(np.minimum(x, np.float32(0.9 * limit)))):
            np.testing.assert_allclose(kiln.jit(g)(x), g(x.astype(np.float64)), rtol=0, atol=1e-6)
