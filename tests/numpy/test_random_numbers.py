"""kiln.numpy.random: Threefry against a plain one, the same bits on every target, moments of what is made of them."""

import numpy as np
import pytest

import kiln
from kiln.numpy import random

TARGETS = ("trn1", "trn2", "trn3")


def threefry(key, count):
    """Threefry-2x32 with 20 rounds of the counters (0, 0), (1, 0), ..., as Salmon and others write it."""
    half = (count + 1) // 2
    x = [np.arange(half, dtype=np.uint32), np.zeros(half, np.uint32)]
    keys = [key[0], key[1], np.uint32(0x1BD11BDA) ^ key[0] ^ key[1]]
    turns = ((13, 15, 26, 6), (17, 29, 16, 24))
    with np.errstate(over="ignore"):
        x = [x[0] + keys[0], x[1] + keys[1]]
        for i in range(5):
            for turn in turns[i % 2]:
                x[0] = x[0] + x[1]
                x[1] = (x[1] << np.uint32(turn) | x[1] >> np.uint32(32 - turn)) ^ x[0]
            x = [x[0] + keys[(i + 1) % 3], x[1] + keys[(i + 2) % 3] + np.uint32(i + 1)]
    return np.concatenate(x)[:count]


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (40, 129)])
def test_bits(shape):
    for seed in (0, 1, 2**64 - 1):
        key = random.key(seed)
        want = threefry(key, int(np.prod(shape))).reshape(shape)
        for target in TARGETS:
            np.testing.assert_array_equal(kiln.jit(lambda k: random.bits(k, shape), target=target)(key), want)


def test_the_same_bits_on_every_target():
    def made(key):
        first, second = random.split(key)
        return (random.uniform(first, (33, 7)), random.normal(second, (500,)), random.integers(first, -5, 12, (90,)),
                random.uniform(second, (11,), -2.0, 3.0), random.normal(first, (6, 5), dtype=np.float16))

    results = [kiln.jit(made, target=target)(random.key(42)) for target in TARGETS]
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)
    uniform, _, integers, moved, half = results[0]
    assert uniform.dtype == np.float32 and (uniform >= 0).all() and (uniform < 1).all()
    assert integers.dtype == np.int32 and integers.min() >= -5 and integers.max() < 12
    assert (moved >= -2).all() and (moved < 3).all() and half.dtype == np.float16


def test_uniform_is_the_upper_bits():
    key = random.key(5)
    np.testing.assert_array_equal(random.uniform(key, (100,)), (threefry(key, 100) >> 8) / np.float32(2**24))


def test_normal_numbers():
    """Against NumPy's functions on the same bits; moments of 20,000 numbers lie within five deviations."""
    key, n = random.key(7), 20000
    u = (threefry(key, 2 * n) >> 8).astype(np.float64) / 2**24
    want = np.sqrt(-2 * np.log1p(-u[:n])) * np.cos(2 * np.pi * u[n:])
    got = random.normal(key, (n,))
    np.testing.assert_allclose(got, want, atol=2e-5)
    assert abs(got.mean()) < 5 / np.sqrt(n) and abs(got.var() - 1) < 5 * np.sqrt(2 / n)


def test_what_is_refused():
    for wrong in (lambda: random.key(-1), lambda: random.bits(np.zeros(3, np.uint32), (2,)),
                  lambda: random.integers(random.key(0), 3, 3),
                  lambda: random.uniform(random.key(0), (2,), dtype=np.int32)):
        with pytest.raises(Exception, match="numpy.R5"):
            wrong()
