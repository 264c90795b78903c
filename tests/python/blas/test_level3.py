"""Level 3 against NumPy in float64, natively and by kernels."""

import itertools

import numpy as np
import pytest

from cases import DTYPES, EPS, SEED, assert_close, normal, op, rng, symmetric, triangle, wide
from kiln import blas

UPLOS, DIAGS, SIDES, TRANSPOSES = ("upper", "lower"), ("nonunit", "unit"), ("left", "right"), (False, True, "C")


@pytest.fixture(params=("native", "simulator"), autouse=True)
def backend(request):
    with blas._backend.scope(request.param):
        yield request.param


def bound(a, b, k, dtype):
    """What float32 products of random operands stay within: 4 sqrt(k) eps |a| |b|, twice that for complex ones."""
    factor = 8 if dtype == "complex64" else 4
    return factor * np.sqrt(k + 1) * EPS[dtype] * (np.abs(a) @ np.abs(b)) + 1e-30


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transA", TRANSPOSES)
@pytest.mark.parametrize("transB", TRANSPOSES)
def test_gemm(dtype, transA, transB, backend):
    r = rng()
    sizes = [(1, 1, 1), tuple(int(v) for v in r.integers(1, 300, 3)), (130, 515, 70)]
    for m, n, k in sizes:
        A = normal(r, (k, m) if transA else (m, k), dtype)
        B = normal(r, (n, k) if transB else (k, n), dtype)
        C = normal(r, (m, n), dtype)
        a, b = op(A, transA), op(B, transB)
        got = blas.gemm(1.0, A, B, transA=transA, transB=transB)
        assert_close(got, a @ b, bound(a, b, k, dtype), f"gemm {m} {n} {k}")
        assert blas.last_call().backend == backend
        got = blas.gemm(-0.5, A, B, 2.0, C, transA=transA, transB=transB)
        assert_close(got, -0.5 * a @ b + 2 * wide(C), 2 * bound(a, b, k, dtype) + 4 * EPS[dtype] * np.abs(C), "beta")


def test_views_are_operands():
    r = rng()
    A, B = normal(r, (60, 90)), normal(r, (90, 50))
    want = wide(A) @ wide(B)
    close = bound(wide(A), wide(B), 90, "float32")
    assert_close(blas.gemm(1.0, np.asfortranarray(A), B), want, close, "by columns")
    assert_close(blas.gemm(1.0, A, np.asfortranarray(B)), want, close, "by columns")
    wide_b = np.zeros((90, 80), np.float32)
    wide_b[:, 10:60] = B
    assert_close(blas.gemm(1.0, A, wide_b[:, 10:60]), want, close, "with gaps")
    assert_close(blas.gemm(1.0, A[::-1], B)[::-1], want, close, "backwards")


def test_what_beta_zero_scales_is_not_read():
    A = normal(rng(), (20, 20))
    C = np.full((20, 20), np.nan, np.float32)
    assert np.isfinite(blas.gemm(1.0, A, A, 0.0, C)).all()
    assert np.isnan(blas.gemm(1.0, A, A, 1.0, C)).all()
    assert np.isfinite(blas.syrk(1.0, A, 0.0, C)).all()
    assert np.isfinite(blas.symm(1.0, A, A, 0.0, C)).all()
    A[3, 4] = np.nan
    got = blas.gemm(1.0, A, np.eye(20, dtype=np.float32))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(A @ np.eye(20, dtype=np.float32)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_batched(dtype):
    r = rng()
    for shapes in (((3, 20, 30), (3, 30, 10)), ((20, 30), (4, 30, 10)), ((2, 3, 20, 30), (3, 30, 10))):
        A, B = (normal(r, s, dtype) for s in shapes)
        want = wide(A) @ wide(B)
        assert_close(blas.batched_gemm(1.0, A, B), want, 1e-5 * np.abs(want).max(), shapes)
        C = normal(r, want.shape, dtype)
        assert_close(blas.batched_gemm(2.0, A, B, 0.5, C), 2 * want + 0.5 * wide(C), 2e-5 * np.abs(want).max(), shapes)
    for shapes in (((4, 2, 0), (4, 0, 3)), ((2, 0), (4, 0, 3)), ((0, 2, 5), (0, 5, 3))):  # nothing to add up
        A, B = (normal(r, s, dtype) for s in shapes)
        C = normal(r, (*shapes[1][:1], 2, 3), dtype)
        assert_close(blas.batched_gemm(2.0, A, B, 0.5, C), wide(C) / 2, 1e-6, shapes)
    A, B = [normal(r, (9, 8), dtype) for _ in range(3)], [normal(r, (7, 8), dtype) for _ in range(3)]
    for a, b, got in zip(A, B, blas.gemm_batched(1.0, A, B, transB=True), strict=True):
        assert_close(got, wide(a) @ wide(b).T, 1e-4, "by list")


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetric_products(dtype):
    r = rng()
    for side, uplo in itertools.product(SIDES, UPLOS):
        n = 140
        A, B = normal(r, (n, n), dtype), normal(r, (n, 33) if side == "left" else (33, n), dtype)
        for name, hermitian in (("symm", False), ("hemm", dtype == "complex64")):
            S = symmetric(A, uplo, hermitian)
            want = S @ wide(B) if side == "left" else wide(B) @ S
            got = getattr(blas, name)(0.5, A, B, 2.0, B, side=side, uplo=uplo)
            assert_close(got, 0.5 * want + 2 * wide(B), 1e-4, name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("uplo", UPLOS)
def test_rank_k(dtype, uplo):
    r, is_complex = rng(), dtype == "complex64"
    for (n, k), trans in itertools.product(((1, 3), (150, 70)), (False, True)):
        A, B = (normal(r, (k, n) if trans else (n, k), dtype) for _ in range(2))
        a, b, C = op(A, trans), op(B, trans), normal(r, (n, n), dtype)
        full, keep = a @ a.T, wide(C) - triangle(C, uplo)
        assert_close(blas.syrk(1.0, A, trans=trans, uplo=uplo), full, 1e-4, "syrk")
        want = 2 * full + 0.25 * (wide(C) + wide(C).T)
        assert_close(blas.syrk(2.0, A, 0.5, C, trans=trans, uplo=uplo), want, 3e-4, "syrk with C")
        want = triangle(2 * full + 0.5 * wide(C), uplo) + keep
        assert_close(blas.syrk(2.0, A, 0.5, C, trans=trans, uplo=uplo, full=False), want, 3e-4, "syrk, a triangle")
        assert_close(blas.syr2k(1.0, A, B, trans=trans, uplo=uplo), a @ b.T + b @ a.T, 3e-4, "syr2k")
        if is_complex:
            a, b = (a, b) if not trans else (a.conj(), b.conj())
            assert_close(blas.herk(1.0, A, trans=trans, uplo=uplo), a @ a.conj().T, 3e-4, "herk")
            alpha = 0.5 + 0.25j
            want = alpha * a @ b.conj().T
            assert_close(blas.her2k(alpha if not trans else alpha, A, B, trans=trans, uplo=uplo),
                         want + want.conj().T, 3e-4, "her2k")
    A, B = normal(r, (60, 20), dtype), normal(r, (20, 60), dtype)
    C = normal(r, (60, 60), dtype)
    want = triangle(wide(A) @ wide(B) + wide(C), uplo) + wide(C) - triangle(C, uplo)
    assert_close(blas.gemmt(1.0, A, B, 1.0, C, uplo=uplo), want, 1e-4, "gemmt")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side", SIDES)
def test_triangular(dtype, side):
    r = rng()
    for uplo, trans, diag in itertools.product(UPLOS, TRANSPOSES, DIAGS):
        n = int(r.integers(100, 200))
        A = (normal(r, (n, n), dtype) / n + 2 * np.eye(n)).astype(dtype)
        B = normal(r, (n, 21) if side == "left" else (21, n), dtype)
        T = op(triangle(A, uplo, diag), trans)
        want = T @ wide(B) if side == "left" else wide(B) @ T
        got = blas.trmm(0.5, A, B, side=side, uplo=uplo, trans=trans, diag=diag)
        assert_close(got, 0.5 * want, 1e-4, "trmm")
        X = wide(blas.trsm(0.5, A, B, side=side, uplo=uplo, trans=trans, diag=diag))
        assert_close(T @ X if side == "left" else X @ T, 0.5 * wide(B), 1e-5, f"trsm {uplo} {trans} {diag}")


@pytest.mark.parametrize("uplo", UPLOS)
def test_cholesky(uplo):
    r = rng()
    for n in (1, 100, 260):
        A = normal(r, (n, n + 5))
        S = (A @ A.T + n * np.eye(n)).astype(np.float32)
        poisoned = np.where(triangle(np.ones((n, n)), uplo) > 0, S, np.nan).astype(np.float32)
        L = wide(blas.cholesky(poisoned, uplo=uplo))
        assert_close(L @ L.T if uplo == "lower" else L.T @ L, wide(S), 1e-5 * np.abs(S).max(), "cholesky")
        assert_close(L, triangle(L, uplo), 0, "the other triangle is zero")
    with pytest.raises(ValueError, match="not positive definite"):
        blas.cholesky(-np.eye(5, dtype=np.float32), uplo=uplo)


def test_doubles_by_split_arithmetic(backend):
    """The bound that docs/blas.md states: k 2^-42 max |row| max |column|."""
    r = rng()
    for m, n, k in ((1, 1, 1), (20, 30, 700)):
        A, B = normal(r, (m, k), "float64"), normal(r, (k, n), "float64")
        A[0] *= 1e200
        B[:, 0] *= 1e-150
        exact = (A.astype(np.longdouble) @ B.astype(np.longdouble)).astype(np.float64)
        rows, columns = np.abs(A).max(1)[:, None], np.abs(B).max(0)[None, :]
        assert_close(blas.gemm(1.0, A, B), exact, k * 2.0 ** -42 * rows * columns, f"dgemm, seed {SEED}")
        assert blas.last_call().backend == backend
    A = normal(r, (40, 40), "complex128") / 40 + 2 * np.eye(40)
    X = normal(r, (40, 3), "complex128")
    assert_close(A @ blas.gemm(1.0, np.linalg.inv(A), X), X, 1e-11, "zgemm")
    assert_close(np.triu(A) @ blas.trsm(1.0, A, X), X, 1e-11, "ztrsm")
    x, y = normal(r, 1000, "float64"), normal(r, 1000, "float64")
    assert_close(blas.dot(x, y), np.dot(x, y), 1e-9, "ddot")
    assert_close(blas.axpy(np.pi, x, y), np.pi * x + y, 1e-11, "daxpy")
    np.testing.assert_array_equal(blas.copy(x), x)
    assert_close(blas.symv(1.0, A.real.copy(), x[:40]), symmetric(A.real, "upper") @ x[:40], 1e-11, "dsymv")
    assert blas.iamax(x) == np.argmax(np.abs(x))
    close = np.array([1.0, 1 + 2.0 ** -52, 1 + 2.0 ** -52, -1 - 2.0 ** -51, 1])
    assert blas.iamax(close) == 3 and blas.iamax(close[:3]) == 1 and blas.iamax(np.array([1.0, np.nan, np.inf])) == 1
    S = A.real @ A.real.T + np.eye(40)
    for uplo in UPLOS:
        L = blas.cholesky(S, uplo=uplo)
        assert_close(L @ L.T if uplo == "lower" else L.T @ L, S, 1e-11 * np.abs(S).max(), "dpotrf")
    with pytest.raises(ValueError, match="not positive definite"):
        blas.cholesky(-S)
    x[3] = np.inf
    assert blas.dot(x, np.abs(y)) == np.inf and np.isnan(blas.dot(x, y * 0))


def test_mp2_energies():
    r = rng()
    o, v, x = 4, 133, 70
    B = (0.1 * normal(r, (o, v, x))).astype(np.float32)
    occ, vir = np.linspace(-1, -0.2, o).astype(np.float32), np.linspace(0.2, 1, v).astype(np.float32)
    flat = wide(B).reshape(o * v, x)
    T = (flat @ flat.T).reshape(o, v, o, v).transpose(0, 2, 1, 3)
    D = wide(occ)[:, None, None, None] + wide(occ)[None, :, None, None] - wide(vir)[None, None, :, None] - wide(vir)
    terms = T * (2 * T - T.transpose(0, 1, 3, 2)) / D
    assert_close(blas.mp2_energy(B, occ, vir), terms.sum(), 1e-6 * abs(terms.sum()), "all pairs")
    assert_close(blas.mp2_pair_energy(B[1], B[3], occ[1], occ[3], vir), terms[1, 3].sum(),
                 1e-6 * abs(terms[1, 3].sum()), "one pair")
    t = (flat[: 2 * v] @ flat.T).astype(np.float32)
    assert_close(blas.mp2_reduce(t, occ[:2], occ, vir), terms[:2].sum(), 1e-6 * abs(terms[:2].sum()), "amplitudes")


def mp2_bound(B, T, D):
    """Errors of terms (2 T^2 - T T') / D: those of amplitudes (k 2^-42 of the largest |b|²), and 2^-41 of their own."""
    error = B.shape[-1] * 2.0 ** -42 * np.abs(B).max() ** 2
    size, other = np.abs(T), np.abs(T.transpose(0, 1, 3, 2))
    return ((5 * size + other) * error + 3 * error ** 2 + 2.0 ** -41 * size * (2 * size + other)) / np.abs(D)


@pytest.mark.parametrize("o, v, x", [(1, 5, 7), (2, 40, 33), (3, 133, 20), (4, 20, 260), (5, 9, 40)])
def test_mp2_energies_in_float64(o, v, x):
    r = rng()
    B, occ, vir = 10.0 ** r.integers(-8, 8) * normal(r, (o, v, x), "float64"), -1 - r.random(o), 1 + r.random(v)
    flat = B.reshape(o * v, x)
    T = (flat @ flat.T).reshape(o, v, o, v).transpose(0, 2, 1, 3)
    D = occ[:, None, None, None] + occ[None, :, None, None] - vir[None, None, :, None] - vir
    terms, bound = T * (2 * T - T.transpose(0, 1, 3, 2)) / D, mp2_bound(B, T, D)
    got = blas.mp2_energy(B, occ, vir)
    assert got.dtype == np.float64
    assert_close(got, terms.sum(), bound.sum(), "all pairs")
    assert_close(blas.mp2_pair_energy(B[0], B[-1], occ[0], occ[-1], vir), terms[0, -1].sum(), bound[0, -1].sum(), "one")
    assert_close(blas.mp2_reduce(flat[:v] @ flat.T, occ[:1], occ, vir), terms[0].sum(), bound[0].sum(), "amplitudes")
    B[0, 0, 0] = np.nan
    assert np.isnan(blas.mp2_energy(B, occ, vir))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_batch_is_one_program(dtype):
    r = rng()
    A, B, C = (normal(r, shape, dtype) for shape in ((3, 20, 30), (3, 30, 10), (3, 20, 10)))
    for shared_a, shared_b in ((False, False), (True, False), (False, True)):
        a, b = A[0] if shared_a else A, B[0] if shared_b else B
        got = blas.batched_gemm(2.0, a, b, 0.5, C)
        assert_close(got, 2 * wide(a) @ wide(b) + 0.5 * wide(C), 1e-5 * 30 * np.abs(A).max() * np.abs(B).max(), dtype)
        if blas.current_backend() != "native":
            assert "batch" in blas.last_call().operation and "batched" in blas.last_call().program.name
