"""Queries of several heads that share their keys, with masks that are added apart by head: rows of one product."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

KEYS, NEW = 700, 5
SEEN = np.arange(KEYS) <= np.arange(NEW)[:, None] + KEYS - NEW


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def scores(q, k):
    return (q @ np.swapaxes(k, -1, -2)).astype(np.float32) * q.shape[-1] ** -0.5


def apart(q, k, v, mask):
    s = scores(q.reshape(2, 4 * NEW, 64), k).reshape(2, 4, NEW, KEYS)
    p = softmax(np.where(SEEN, s, -np.inf))
    return (p.reshape(2, 4 * NEW, KEYS).astype(q.dtype) @ v).reshape(8, NEW, 64)


def added(q, k, v, mask):
    s = scores(q.reshape(2, 4 * NEW, 64), k).reshape(8, NEW, KEYS) + mask
    return (softmax(s).reshape(2, 4 * NEW, KEYS).astype(q.dtype) @ v).reshape(8, NEW, 64)


def repeated(q, k, v, mask):
    k, v = np.repeat(k, 4, 0), np.repeat(v, 4, 0)
    return softmax(scores(q, k) + mask).astype(q.dtype) @ v


def read_too(q, k, v, mask):
    s = scores(q.reshape(2, 4 * NEW, 64), k).reshape(2, 4, NEW, KEYS) + mask
    return (softmax(s).reshape(2, 4 * NEW, KEYS).astype(q.dtype) @ v).reshape(8, NEW, 64), s.max(-1), s[:, 1]


WAYS = (apart, added, repeated, read_too)


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-5), (ml_dtypes.bfloat16, 2e-2)])
@pytest.mark.parametrize("f", WAYS, ids=lambda f: f.__name__)
def test_values(f, dtype, tolerance, target):
    random = np.random.default_rng(SEED)
    q, k, v = (random.standard_normal((n, m, 64)).astype(dtype) for n, m in ((8, NEW), (2, KEYS), (2, KEYS)))
    mask = random.standard_normal((NEW, KEYS)).astype(np.float32)
    results = kiln.jit(f, target=target)(q, k, v, mask), f(*(x.astype(np.float64) for x in (q, k, v, mask)))
    for got, want in zip(*(r if isinstance(r, tuple) else (r,) for r in results), strict=True):
        assert np.abs(got.astype(np.float64) - want).max() < tolerance * np.abs(want).max()


@pytest.mark.parametrize("dtype, most", [("bfloat16", 90e3), ("float32", 150e3)])
def test_time(dtype, most):
    """One head after the other, this takes 0.25 and 0.33 ms."""
    def five(q, k, v):
        s = scores(q.reshape(8, 20, 128), k).reshape(8, 4, 5, 2048)
        p = softmax(np.where(np.arange(2048) <= np.arange(5)[:, None] + 2043, s, -np.inf))
        return (p.reshape(8, 20, 2048).astype(q.dtype) @ v).reshape(32, 5, 128)

    shapes = [f"{dtype}[{shape}]" for shape in ("32,5,128", "8,2048,128", "8,2048,128")]
    assert kiln.jit(five).lower(*shapes, target="trn2").report()["time_ns"] < most
