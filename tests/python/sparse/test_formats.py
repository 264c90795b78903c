"""Formats: conversions without a dense matrix between, duplicates, slices, operators, SciPy in and out, refusals."""

import itertools

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse

import kiln
from cases import generator, sparse_dense
from kiln import sparse

SHAPES = [(1, 1), (7, 5), (130, 257), (300, 3), (2, 400), (128, 128)]


def forms(A):
    return [A.to_coo(), A.to_csr(), A.to_csc(), A.to_ell(), A.to_bsr(16), A.to_bsr(128), A.to_bsr(7)]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_format_into_every_other(shape):
    rng = generator(*shape)
    dense = sparse_dense(rng, *shape, 0.2)
    for form in forms(sparse.from_dense(dense)):
        np.testing.assert_array_equal(form.to_dense(), dense)
        assert form.shape == shape and form.dtype == np.float32
        for other in forms(form):
            np.testing.assert_array_equal(other.to_dense(), dense)
        np.testing.assert_array_equal(form.to_scipy().toarray(), dense)
        np.testing.assert_array_equal(form.T.to_dense(), dense.T)
        assert type(form.T) is type(form)
        np.testing.assert_array_equal(form.diagonal(), np.diag(dense))


def test_numbers_of_a_matrix():
    A = sparse.from_dense(np.eye(4, dtype=np.float32))
    assert (A.nnz, A.density, repr(A)) == (4, 0.25, "CSRMatrix(shape=(4, 4), nnz=4, density=0.2500)")
    B = sparse.BSRMatrix.from_dense(np.eye(100, dtype=np.float32), block_size=32)
    assert (B.n_blocks, B.nnz, B.grid, B.shape) == (4, 4 * 32 * 32, (4, 4), (100, 100))
    assert B.density == 0.25 and "block_density=0.2500" in repr(B)
    stats = A.stats()
    assert stats["nnz"] == 4 and stats["longest_row"] == 1 and stats["blocks_of_128"] == 1
    assert sparse.nnz_per_row(A).tolist() == [1, 1, 1, 1]


def test_a_threshold_keeps_what_is_larger():
    dense = np.array([[0.5, -2.0], [1.0, 0.0]], np.float32)
    assert sparse.from_dense(dense, threshold=0.5).nnz == 2
    assert sparse.BSRMatrix.from_dense(dense, 1, threshold=0.75).n_blocks == 2
    assert sparse.BSRMatrix.from_csr(sparse.from_dense(dense), 1, threshold=1.5).n_blocks == 1


def test_places_given_twice_are_added_up():
    rng = generator()
    rows, columns = rng.integers(0, 9, 60), rng.integers(0, 7, 60)
    values = rng.standard_normal(60).astype(np.float32)
    want = scipy.sparse.coo_array((values, (rows, columns)), (9, 7)).toarray()
    A = sparse.COOMatrix(values, rows, columns, (9, 7))
    for form in (A, *forms(A)):
        np.testing.assert_allclose(form.to_dense(), want, atol=1e-6)
    assert A.to_csr().nnz == np.count_nonzero(want) or A.to_csr().nnz == len(set(zip(rows.tolist(), columns.tolist())))


def test_large_matrices_are_never_dense():
    n = 10**6
    A = sparse.COOMatrix(np.ones(5, np.float32), [0, 5, 5, 9, n - 1], [n - 1, 3, 4, 9, 0], (n, n))
    for form in (A.to_csr(), A.to_csc(), A.to_ell(), A.to_bsr(128)):
        assert form.T.to_csr().nnz == 5 and form.to_coo().to_csr().to_bsr(64).shape == (n, n)


@pytest.mark.parametrize("kind", range(7))
def test_slices(kind):
    rng = generator(kind)
    dense = sparse_dense(rng, 40, 30, 0.3)
    A = forms(sparse.from_dense(dense))[kind]
    keys = [slice(None), slice(3, 20), slice(20, 3, -2), slice(-5, None), [4, 4, 0], np.arange(30) % 3 == 0]
    for rows, columns in itertools.product(keys[:-1], keys):
        want = dense[rows][:, columns]
        got = A[rows, columns]
        assert type(got) is type(A)
        np.testing.assert_array_equal(got.to_dense(), want)
    np.testing.assert_array_equal(A[5].to_dense(), dense[5:6])
    assert A[3, 4] == dense[3, 4] and A[-1, -1] == dense[-1, -1]
    assert A[[]].shape == (0, 30) and A[:, np.zeros(0, int)].shape == (40, 0)
    with pytest.raises(IndexError, match="^rows"):
        A[40, 0]


@pytest.mark.parametrize("kind", range(7))
def test_operators(kind):
    rng = generator(kind)
    x, y = sparse_dense(rng, 33, 20, 0.3), sparse_dense(rng, 33, 20, 0.3)
    z, b = sparse_dense(rng, 20, 9, 0.3), rng.standard_normal((20, 4)).astype(np.float32)
    A, B, C = (forms(sparse.from_dense(m))[kind] for m in (x, y, z))
    for got, want in ((A + B, x + y), (A - B, x - y), (-A, -x), (2.0 * A, 2 * x), (A / 4, x / 4), (A @ C, x @ z),
                      (A.multiply(B), x * y), (A.multiply(y), x * y), (A.power(2), x**2)):
        assert type(got) is type(A)
        np.testing.assert_allclose(got.to_dense(), want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(A @ b, x @ b, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(A @ b[:, 0], x @ b[:, 0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y.T @ A, y.T @ x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y[:, 0] @ A, y[:, 0] @ x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((np.float32(2) * A).to_dense(), 2 * x)
    for wrong in (lambda: A @ "b", lambda: "b" @ A, lambda: y * A, lambda: A + 1, lambda: np.abs(A)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(IndexError, match="3 indices"):
        A[0, 0, 0]
    with pytest.raises(ValueError, match="axis: 2"):
        A.sum(2)
    for axis in (0, 1):
        np.testing.assert_allclose(A.sum(axis), x.sum(axis), rtol=1e-5, atol=1e-5)
    assert A.sum() == pytest.approx(x.sum(), abs=1e-4)


def test_scipy_in_and_out():
    rng = generator()
    want = scipy.sparse.random_array((50, 40), density=0.1, rng=rng, format="coo")
    for form in ("csr", "csc", "coo", "bsr"):
        A = sparse.from_scipy(want.asformat(form))
        assert A.dtype == np.float32
        np.testing.assert_allclose(A.to_scipy().toarray(), want.toarray(), rtol=1e-6)
    assert sparse.from_scipy(want, np.float64).dtype == np.float64
    np.testing.assert_array_equal(sparse.eye_sparse(5).to_dense(), np.eye(5))
    for dtype in (np.float16, ml_dtypes.bfloat16):  # SciPy has none
        assert sparse.eye_sparse(5, dtype).to_scipy().dtype == np.float32


@pytest.mark.parametrize("backend", ["native", "simulator"])
def test_what_is_written_into_a_matrix(backend):
    """Values may change in place; attributes that are assigned are checked; starts are never read past the elements."""
    rng = generator()
    A, X = sparse.from_dense(sparse_dense(rng, 40, 30, 0.3)), rng.standard_normal((30, 4)).astype(np.float32)
    sparse.spmm(A, X, backend=backend)
    A.values *= 2
    for product, B in ((sparse.spmm, X), (sparse.spmv, X[:, 0].copy())):
        np.testing.assert_allclose(product(A, B, backend=backend), A.to_dense() @ B, rtol=1e-5, atol=1e-5)
    dense = A.to_dense()
    A.col_indices = 29 - A.col_indices
    np.testing.assert_array_equal(A.to_dense(), dense[:, ::-1])
    np.testing.assert_allclose(sparse.spmm(A, X, backend=backend), dense[:, ::-1] @ X, rtol=1e-5, atol=1e-5)
    for name, wrong in (("values", A.values[:3]), ("col_indices", A.col_indices + 30), ("row_ptrs", A.row_ptrs[:-1]),
                        ("shape", (41, 30))):
        kept = getattr(A, name)
        with pytest.raises(ValueError):
            setattr(A, name, wrong)
        assert getattr(A, name) is kept
    A.row_ptrs[-1] += 10**6
    B = sparse.BSRMatrix(np.ones((2, 2, 2), np.float32), [0, 1], [0, 2], (2, 4), 2)
    B.block_row_ptrs = starts = np.array([0, 2])
    starts[1] = 10**6
    for call in (lambda: sparse.spmm(A, X, backend=backend), lambda: sparse.spmv(A, X[:, 0].copy(), backend=backend),
                 lambda: sparse.sddmm(A, np.ones((40, 4), np.float32), X, backend=backend),
                 lambda: sparse.bsr_spmm(B, X[:4], backend=backend)):
        with pytest.raises(kiln.NkiValidationError, match="sparse.R5"):
            call()


def test_lists_are_arrays():
    A = sparse.CSRMatrix([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2))
    np.testing.assert_array_equal(A.to_dense(), np.diag([1.0, 2.0]))
    np.testing.assert_array_equal(sparse.spmv(A, [1.0, 1.0], 1.0, [1.0, 1.0], 2.0), [3, 4])
    np.testing.assert_array_equal(sparse.spmm(A, [[1.0], [1.0]]), [[1], [2]])
    np.testing.assert_array_equal(A.multiply([[2.0, 2.0], [3.0, 3.0]]).to_dense(), np.diag([2.0, 6.0]))


@pytest.mark.parametrize("make, name", [
    (lambda: sparse.CSRMatrix(np.ones(2), [0, 1], [0, 1], (2, 2)), "row_ptrs"),
    (lambda: sparse.CSRMatrix(np.ones(2), [0, 1], [0, 2, 1], (2, 2)), "row_ptrs"),
    (lambda: sparse.CSRMatrix(np.ones(2), [0, 2], [0, 1, 2], (2, 2)), "col_indices"),
    (lambda: sparse.CSRMatrix(np.ones(2), [0], [0, 1, 2], (2, 2)), "col_indices"),
    (lambda: sparse.COOMatrix(np.ones(2), [0, -1], [0, 1], (2, 2)), "row_indices"),
    (lambda: sparse.CSCMatrix(np.ones(1), [5], [0, 1], (2, 1)), "row_indices"),
    (lambda: sparse.ELLMatrix(np.ones((2, 1)), np.array([[0], [3]]), (2, 2)), "col_indices"),
    (lambda: sparse.BSRMatrix(np.ones((1, 2, 2)), [0], [0, 1], (3, 3), 3), "blocks"),
    (lambda: sparse.BSRMatrix.from_dense(np.ones((3, 3)), 0), "block_size"),
    (lambda: sparse.from_dense(np.ones(3)), "A"),
    (lambda: sparse.from_scipy(np.ones((3, 3))), "matrix"),
    (lambda: sparse.from_scipy(scipy.sparse.csr_array(1j * np.ones((3, 3)))), "matrix"),
    (lambda: sparse.CSRMatrix(np.ones((2, 3)), [0, 1], [0, 1, 2], (2, 2)), "values"),
    (lambda: sparse.COOMatrix(np.ones((1, 1)), [0], [0], (2, 2)), "values"),
    (lambda: sparse.COOMatrix(np.ones(1), [0.5], [0], (2, 2)), "row_indices"),
    (lambda: sparse.COOMatrix(np.ones(1), [0], [0], (2.5, 2)), "shape"),
    (lambda: sparse.COOMatrix(np.ones(1), [0], [0], (2**40, 2**40)), "shape"),
    (lambda: sparse.COOMatrix(scipy.sparse.eye_array(2), [0, 1], [0, 1], (2, 2)), "values"),
    (lambda: sparse.ELLMatrix(np.ones((2, 1)), np.array([[0], [-2]]), (2, 2)), "col_indices"),
    (lambda: sparse.ELLMatrix(np.ones((2, 1)), np.array([[0.5], [1]]), (2, 2)), "col_indices"),
    (lambda: sparse.ELLMatrix(np.ones(2), np.array([0, 1]), (2, 2)), "values"),
    (lambda: sparse.BSRMatrix(np.ones((2, 2)), [0], [0, 1], (2, 2), 2), "blocks"),
    (lambda: sparse.eye_sparse(3).to_ell(1.5), "width"),
    (lambda: sparse.eye_sparse(2.5), "n"),
    (lambda: sparse.eye_sparse(-1), "n"),
    (lambda: sparse.eye_sparse(3)[None], "rows"),
    (lambda: sparse.eye_sparse(3)[0, True], "columns"),
])
def test_what_is_no_matrix_is_refused(make, name):
    with pytest.raises((ValueError, TypeError), match=f"^{name}"):
        make()
