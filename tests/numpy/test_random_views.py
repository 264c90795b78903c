"""Random chains of views, joins, sums and products, against NumPy. Elements are small integers, so that sums are exact
in whatever order they are taken."""

import numpy as np
import pytest

from against_numpy import SEED, check

SIZES = (64, 96, 360, 720, 1024, 2520)


def _shape(random, size, rank):
    """A random shape of that many elements."""
    shape, factor = [1] * rank, 2
    while size > 1:
        if size % factor:
            factor += 1
            continue
        shape[random.integers(rank)] *= factor
        size //= factor
    return tuple(shape)


def _slice(random, extent):
    kind = random.integers(5)
    if kind == 0:
        return slice(None, None, -1)
    return slice(int(random.integers(extent)), None, int(random.integers(1, 3))) if kind == 1 else slice(None)


def _step(random, x):
    """A random function of an array of this shape."""
    kind, axis = random.integers(8), int(random.integers(x.ndim))
    if kind == 0:
        shape = _shape(random, x.size, int(random.integers(1, 9)))
        return lambda x: x.reshape(shape)
    if kind == 1:
        order = tuple(int(i) for i in random.permutation(x.ndim))
        return lambda x: x.transpose(order)
    if kind == 2:
        key = tuple(_slice(random, n) for n in x.shape)
        return lambda x: x[key]
    if kind == 3 and x.ndim > 1:
        at = int(random.integers(x.shape[0])) * int(random.integers(2))
        return lambda x: x[at]
    if kind == 4:
        return lambda x: x.max(axis, keepdims=True)
    if kind == 5 and x.size < 10000:
        return lambda x: np.concatenate([x, x + 1], axis)
    if kind == 6 and x.ndim < 7 and x.size < 10000:
        return lambda x: np.broadcast_to(np.expand_dims(x, axis), x.shape[:axis] + (2,) + x.shape[axis:]) + 0
    if kind == 7:
        return lambda x: x.sum(axis, keepdims=True) % 64
    return lambda x: x * 2 % 64


def _chain(random):
    size = int(random.choice(SIZES))
    x = (np.arange(size) % 61).astype(np.float32).reshape(_shape(random, size, int(random.integers(1, 8))))
    steps, y = [], x
    for _ in range(random.integers(2, 7)):
        steps.append(_step(random, y))
        y = steps[-1](y)

    def function(x):
        for step in steps:
            x = step(x)
        return x + 1

    return function, x


@pytest.mark.parametrize("chain", range(60))
def test_chain(chain):
    print(f"KILN_SEED={SEED}")
    check(*_chain(np.random.default_rng([SEED, chain])))
