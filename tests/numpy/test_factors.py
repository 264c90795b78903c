"""numpy.linalg by factors: what the factors give again, as their signs are free, for sizes of any kind, and matrices
that are close to singular or have equal values."""

import numpy as np
import pytest

import kiln
from against_numpy import SEED, check, same

R = np.random.default_rng(SEED)


def normal(*shape):
    return R.normal(size=shape).astype(np.float32)


def svd(x, full):
    u, s, v = np.linalg.svd(x, full_matrices=full)
    n = s.shape[-1]
    again = np.matmul(u[..., :, :n] * s[..., None, :], v[..., :n, :])
    return again, s, np.matmul(np.swapaxes(u, -1, -2), u), np.matmul(v, np.swapaxes(v, -1, -2))


def eigh(x, uplo):
    values, vectors = np.linalg.eigh(x, uplo)
    turned = np.swapaxes(vectors, -1, -2)
    return values, np.matmul(vectors * values[..., None, :], turned), np.matmul(turned, vectors)


HARD = [np.zeros((4, 3), np.float32), np.eye(5, dtype=np.float32), np.outer(normal(6), normal(4)), normal(7, 1),
        normal(1, 6), normal(5, 5) * np.float32(1e18), normal(5, 5) * np.float32(1e-18),
        np.diag(np.float32([3, -3, 3, 0, 1e-5])), np.ones((3, 3), np.float32)]


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("x", [*HARD, normal(2, 3, 6, 4), normal(3, 4, 7)], ids=lambda x: str(x.shape))
def test_svd(x, full):
    print(f"KILN_SEED={SEED}")
    got = kiln.jit(lambda x: svd(x, full))(x)
    scale = np.abs(x).max() or 1
    same(got[0] / scale, x / scale, 5)
    same(got[1] / scale, np.linalg.svd(x, compute_uv=False) / scale, 5)
    for square in got[2:]:
        same(square, np.broadcast_to(np.eye(square.shape[-1], dtype=np.float32), square.shape), 5)


@pytest.mark.parametrize("uplo", ["L", "u"])
@pytest.mark.parametrize("x", [x for x in [*HARD, normal(3, 6, 6), normal(17, 17)] if x.shape[-1] == x.shape[-2]],
                         ids=lambda x: str(x.shape))
def test_eigh(x, uplo):
    print(f"KILN_SEED={SEED}")
    scale = np.abs(x).max()
    got, want = (f(x) for f in (kiln.jit(lambda x: eigh(x, uplo)), lambda x: eigh(x, uplo)))
    same(got[0] / scale, want[0] / scale, 10)
    same(got[1] / scale, want[1] / scale, 10)
    same(got[2], want[2], 5)


def test_larger_ones():
    print(f"KILN_SEED={SEED}")
    x = normal(90, 40)
    spd = (x.T @ x / 40 + np.eye(40)).astype(np.float32)
    check(lambda x: (np.linalg.svdvals(x), *np.linalg.qr(x)), x, loose=20)
    check(lambda x, y: np.linalg.lstsq(x, y), x, normal(90, 3), loose=50)
    check(lambda s, y: (np.linalg.solve(s, y), np.linalg.inv(s), np.linalg.slogdet(s), np.linalg.cholesky(s)), spd,
          normal(40), loose=50)


def test_beyond_64_rows():
    print(f"KILN_SEED={SEED}")
    x = normal(100, 100) + 30 * np.eye(100, dtype=np.float32)
    low = kiln.jit(lambda x, y: np.linalg.solve(x, y)).lower(x, normal(100))
    assert low.check() and low.report()["instructions_static"] < 100  # a loop, not a hundred passes
    check(lambda x, y: (np.linalg.solve(x, y), np.linalg.slogdet(x)), x, normal(100), loose=20)
    check(lambda x, y: np.linalg.solve(x, y), x, normal(100, 2), loose=20, target="trn1", opt=1)


def test_pivots_are_needed():
    x = np.float32([[0, 1, 0], [1, 0, 0], [0, 0, 2]])
    check(lambda x: (np.linalg.inv(x), np.linalg.det(x), np.linalg.slogdet(x)), x)
    big = np.roll(np.eye(12, dtype=np.float32), 1, axis=0) * 2
    check(lambda x: (np.linalg.inv(x), np.linalg.det(x), np.linalg.slogdet(x)), big)
    check(lambda x: (np.linalg.det(x), np.linalg.slogdet(x)), np.ones((12, 12), np.float32))
