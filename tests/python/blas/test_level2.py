"""Level 2 against NumPy in float64, natively and by kernels: every triangle, transpose and kind of storage."""

import itertools

import numpy as np
import pytest

from cases import DTYPES, assert_close, normal, op, rng, symmetric, triangle, wide
from kiln import blas

UPLOS, DIAGS = ("upper", "lower"), ("nonunit", "unit")
TRANSPOSES = (False, True, "C")
SIZES = ((1, 1), (7, 200), (131, 130), (300, 5))
TOLERANCE = 2e-6


@pytest.fixture(params=("native", "simulator"), autouse=True)
def backend(request):
    with blas._backend.scope(request.param):
        yield request.param


def alpha_of(dtype):
    return 0.7 - 0.2j if dtype == "complex64" else 0.7


def terms(alpha, A, x, beta, y):
    """What alpha A x + beta y adds up, as magnitudes: errors are relative to these, however small the sum is."""
    return abs(alpha) * np.abs(A) @ np.abs(wide(x)) + abs(beta) * np.abs(wide(y))


def check(got, want, scale, what):
    assert_close(got, want, TOLERANCE * np.max(scale) + 1e-30, what)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemv_and_ger(dtype):
    r, alpha = rng(), alpha_of(dtype)
    for m, n in SIZES:
        A = normal(r, (m, n + 2), dtype)[:, :n]
        for trans in TRANSPOSES:
            x = normal(r, op(A, trans).shape[1], dtype)
            y = normal(r, op(A, trans).shape[0], dtype)
            scale = np.abs(op(A, trans)) @ np.abs(wide(x)) + np.abs(y)
            check(blas.gemv(alpha, A, x, trans=trans), alpha * op(A, trans) @ wide(x), scale, "gemv")
            check(blas.gemv(alpha, A, x, 2.0, y, trans=trans), alpha * op(A, trans) @ wide(x) + 2 * wide(y),
                  3 * scale, "gemv with y")
        x, y = normal(r, m, dtype), normal(r, n, dtype)
        check(blas.ger(alpha, x, y), alpha * np.outer(wide(x), wide(y)), 9, "ger")
        check(blas.gerc(alpha, x, y, A), alpha * np.outer(wide(x), wide(y).conj()) + wide(A), 9, "gerc")


@pytest.mark.parametrize("uplo", UPLOS)
def test_symmetric_and_hermitian(uplo):
    r = rng()
    for n in (1, 129, 260):
        A, x, y = normal(r, (n, n)), normal(r, n), normal(r, n)
        S = symmetric(A, uplo)
        check(blas.symv(0.7, A, x, 0.5, y, uplo=uplo), 0.7 * S @ wide(x) + 0.5 * wide(y),
              terms(0.7, S, x, 0.5, y), "symv")
        tri = triangle(np.ones((n, n)), uplo)
        check(blas.syr(0.7, x, A, uplo=uplo), wide(A) + tri * 0.7 * np.outer(wide(x), wide(x)), 20, "syr")
        both = np.outer(wide(x), wide(y))
        check(blas.syr2(0.7, x, y, A, uplo=uplo), wide(A) + tri * 0.7 * (both + both.T), 20, "syr2")
        A, x, y = (normal(r, s, "complex64") for s in ((n, n), n, n))
        H, alpha = symmetric(A, uplo, True), 0.7 - 0.2j
        check(blas.hemv(alpha, A, x, 2.0, y, uplo=uplo), alpha * H @ wide(x) + 2 * wide(y),
              terms(alpha, H, x, 2.0, y), "hemv")

        def with_real_diagonal(update, strict):
            out = wide(A) + tri * update
            np.fill_diagonal(out, np.diag(out).real)
            return out

        check(blas.her(0.7, x, A, uplo=uplo), with_real_diagonal(0.7 * np.outer(wide(x), wide(x).conj()), tri), 20,
              "her")
        both = alpha * np.outer(wide(x), wide(y).conj())
        check(blas.her2(alpha, x, y, A, uplo=uplo), with_real_diagonal(both + both.conj().T, tri), 30, "her2")


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular(dtype):
    r = rng()
    for n, uplo, trans, diag in itertools.product((1, 150), UPLOS, TRANSPOSES, DIAGS):
        A, x = normal(r, (n, n), dtype), normal(r, n, dtype)
        T = op(triangle(A, uplo, diag), trans)
        check(blas.trmv(A, x, uplo=uplo, trans=trans, diag=diag), T @ wide(x), np.abs(T) @ np.abs(wide(x)), "trmv")
        A = (A / (4 * n) + 2 * np.eye(n)).astype(dtype)
        T = op(triangle(A, uplo, diag), trans)
        check(blas.trsv(A, x, uplo=uplo, trans=trans, diag=diag), np.linalg.solve(T, wide(x)), 40, "trsv")


def banded(AB, n, kl, ku):
    """The matrix of a band of rows; places outside of it do not count."""
    out = np.zeros((len(AB), n), wide(AB).dtype)
    for i, j in itertools.product(range(len(AB)), range(n)):
        if -kl <= j - i <= ku:
            out[i, j] = AB[i, j - i + kl]
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_bands(dtype):
    r, alpha = rng(), alpha_of(dtype)
    for m, n, kl, ku in ((5, 4, 1, 2), (140, 150, 3, 0), (150, 133, 0, 7), (20, 200, 19, 30)):
        AB = normal(r, (m, kl + ku + 1), dtype)
        A = banded(AB, n, kl, ku)
        outside = np.array([[not 0 <= i - kl + t < n for t in range(kl + ku + 1)] for i in range(m)])
        AB[outside] = np.nan  # never read
        for trans in TRANSPOSES:
            M = op(A, trans)
            x, y = normal(r, M.shape[1], dtype), normal(r, M.shape[0], dtype)
            got = blas.gbmv(alpha, AB, x, n, kl, ku, 2.0, y, trans=trans)
            check(got, alpha * M @ wide(x) + 2 * wide(y), 99, "gbmv")
    for n, k, uplo in itertools.product((1, 140), (0, 5), UPLOS):
        k = min(k, n - 1)
        kl, ku = (0, k) if uplo == "upper" else (k, 0)
        AB, x = normal(r, (n, k + 1), dtype), normal(r, n, dtype)
        S = symmetric(banded(AB, n, kl, ku), uplo, dtype == "complex64")
        name = "hbmv" if dtype == "complex64" else "sbmv"
        check(getattr(blas, name)(alpha, AB, x, uplo=uplo), alpha * S @ wide(x), 99, name)
        AB[:, 0 if uplo == "upper" else k] += 4
        for trans, diag in itertools.product(TRANSPOSES, DIAGS):
            T = op(triangle(banded(AB / 4, n, kl, ku), uplo, diag), trans)
            check(blas.tbmv((AB / 4).astype(dtype), x, uplo=uplo, trans=trans, diag=diag), T @ wide(x), 99, "tbmv")
        T = triangle(banded(AB, n, kl, ku), uplo)
        check(T @ wide(blas.tbsv(AB, x, uplo=uplo)), wide(x), 99, "tbsv")


@pytest.mark.parametrize("uplo", UPLOS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_packed(dtype, uplo):
    r, alpha, n = rng(), alpha_of(dtype), 135
    A, x, y = normal(r, (n, n), dtype), normal(r, n, dtype), normal(r, n, dtype)
    A = (A / n + 2 * np.eye(n)).astype(dtype)
    where = np.triu_indices(n) if uplo == "upper" else np.tril_indices(n)
    AP, hermitian = A[where], dtype == "complex64"
    S = symmetric(A, uplo, hermitian)
    mv, r1, r2 = ("hpmv", "hpr", "hpr2") if hermitian else ("spmv", "spr", "spr2")
    check(getattr(blas, mv)(alpha, AP, x, uplo=uplo), alpha * S @ wide(x), 99, mv)
    T = triangle(A, uplo)
    check(blas.tpmv(AP, x, uplo=uplo), T @ wide(x), 99, "tpmv")
    check(T @ wide(blas.tpsv(AP, x, uplo=uplo)), wide(x), 99, "tpsv")
    want = wide(A) + 0.7 * np.outer(wide(x), wide(x).conj())
    both = alpha * np.outer(wide(x), wide(y).conj())
    want2 = wide(A) + both + (both.conj().T if hermitian else both.T)
    if hermitian:
        np.fill_diagonal(want, np.diag(want).real)
        np.fill_diagonal(want2, np.diag(want2).real)
    check(getattr(blas, r1)(0.7, x, AP, uplo=uplo), want[where], 20, r1)
    check(getattr(blas, r2)(alpha, x, y, AP, uplo=uplo), want2[where], 20, r2)


def test_the_other_triangle_and_y_are_not_read():
    r, n = rng(), 140
    for uplo in UPLOS:
        A, x = normal(r, (n, n)), normal(r, n)
        poisoned = np.where(np.triu(np.ones((n, n))) if uplo == "upper" else np.tril(np.ones((n, n))), A, np.nan)
        poisoned = poisoned.astype(np.float32)
        y = np.full(n, np.nan, np.float32)
        check(blas.symv(1.0, poisoned, x, 0.0, y, uplo=uplo), symmetric(A, uplo) @ wide(x), 999, "symv")
        check(blas.trmv(poisoned, x, uplo=uplo), triangle(A, uplo) @ wide(x), 999, "trmv")
        strict = poisoned.copy()
        np.fill_diagonal(strict, np.nan)
        check(blas.trmv(strict, x, uplo=uplo, diag="unit"), triangle(A, uplo, "unit") @ wide(x), 999, "trmv")
    y = np.full(n, np.nan, np.float32)
    assert np.isfinite(blas.gemv(1.0, A, x, 0.0, y)).all()
    assert np.isnan(blas.gemv(1.0, A, x, 1.0, y)).all()
