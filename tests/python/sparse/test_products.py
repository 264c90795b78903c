"""Products on every backend and target, on odd shapes, against float64."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

import kiln
from cases import KERNELS, assert_product, generator, sparse_dense
from kiln import sparse


@pytest.fixture(params=KERNELS, ids="-".join)
def backend(request):
    before = sparse.get_target()
    sparse.set_target(request.param[1])
    yield request.param[0]
    sparse.set_target(before)


def computed_by(backend, operation):
    last = sparse.last_call()
    assert last.backend == backend and operation in last.operation
    assert last.predicted_ns > 0


@pytest.mark.parametrize("rows, columns, n, density", [
    (1, 1, 1, 1.0), (5, 300, 1, 0.3), (300, 200, 70, 0.1), (129, 257, 513, 0.02), (400, 130, 33, 0.6),
    (513, 513, 5, 0.004),
])
def test_spmm(backend, rows, columns, n, density):
    rng = generator(rows, columns, n)
    dense, B, C = sparse_dense(rng, rows, columns, density), *(
        rng.standard_normal((r, n)).astype(np.float32) for r in (columns, rows))
    dense[rng.integers(0, rows, 1 + rows // 9)] = 0  # rows without elements
    A = sparse.from_dense(dense)
    assert_product(sparse.spmm(A, B, backend=backend), dense, B)
    if A.nnz:
        computed_by(backend, "spmm")
    C[0, 0] = np.nan
    assert_product(sparse.spmm(A, B, C=C, backend=backend), dense, B)  # beta 0: C is not read
    C[0, 0] = 1
    got = sparse.spmm(A, B, 2.5, C, -0.5, backend=backend)
    assert_product(got, 2.5 * dense.astype(np.float64), B, -0.5 * C.astype(np.float64))
    x, y = B[:, 0], C[:, 0]
    assert_product(sparse.spmv(A, x, 2.0, y, 1.0, backend=backend)[:, None], 2.0 * dense.astype(np.float64), x[:, None],
                   y[:, None].astype(np.float64))


def vector_program():
    text = str(sparse.last_call().program)
    return "nc_n_gather" in text, "vector_offset" in text


# Rows in order; rows of all groups sorted, since some are far longer than others, beyond what is gathered at once; more
# buckets than have their sums on the chip at once; more columns than fit on it; too few elements; too many, of which
# chips take more or fewer as blocks.
@pytest.mark.parametrize("rows, columns, density, long, gathers, sorts", [
    (700, 900, 0.03, 0, True, False), (300, 3000, 0.001, 2900, True, True), (70000, 64, 0.02, 0, True, False),
    (130, 30000, 0.01, 0, False, True), (200, 9000, 1e-5, 0, False, True), (140, 150, 0.9, 0, False, None),
])
def test_spmv(backend, rows, columns, density, long, gathers, sorts):
    rng = generator(rows, columns)
    A = scipy.sparse.random(rows, columns, density, format="lil", dtype=np.float32, random_state=rng)
    for row in range(7, rows if long else 0, 128):
        A[row, :long] = rng.standard_normal(long)
    A = A.tocsr()
    x, y = (rng.standard_normal(size).astype(np.float32) for size in (columns, rows))
    for alpha, beta in ((1.0, 0.0), (1.0, 1.0), (-2.0, 0.5)):
        got = sparse.spmv(sparse.from_scipy(A), x, alpha, y, beta, backend=backend)
        if backend == "simulator":
            assert vector_program() in [(gathers, s) for s in ((sorts,) if sorts is not None else (True, False))]
        wide = A.astype(np.float64)
        bound = abs(alpha) * (abs(wide) @ np.abs(x)) + np.abs(beta * y)
        error = np.abs(got - (alpha * (wide @ x) + beta * y.astype(np.float64)))
        assert (error <= 4 * np.sqrt(columns) * np.finfo(np.float32).eps * bound + 1e-30).all(), error.max()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_spmv_keeps_infinities_apart(backend, value):
    rng = generator()
    dense, x = sparse_dense(rng, 300, 300, 0.05), rng.standard_normal(300).astype(np.float32)
    x[0] = value
    dense[::2, 0] = 0  # not stored, so 0 inf is nowhere
    got = sparse.spmv(sparse.from_dense(dense), x, backend=backend)
    assert np.array_equal(np.isfinite(got), dense[:, 0] == 0)


def test_dense_tiles_go_to_the_tensor_engine():
    rng = generator()
    dense = sparse_dense(rng, 384, 384, 0.01)
    dense[128:256, 256:384] = rng.standard_normal((128, 128))
    B = rng.standard_normal((384, 64)).astype(np.float32)
    assert_product(sparse.spmm(sparse.from_dense(dense), B, backend="simulator"), dense, B)
    text = str(sparse.last_call().program)
    assert "nc_matmul" in text and "vector_offset" in text or "nc_matmul" in text and "scalar_tensor_tensor" in text


@pytest.mark.parametrize("twice", [False, True])
def test_other_values_at_the_same_places(twice):
    """What one call leaves in memory for the next one is not seen, places that are given twice included."""
    rng = generator(twice)
    places = rng.random((300, 256)) < 0.4
    columns = np.concatenate([np.repeat(np.flatnonzero(row), 1 + twice) for row in places])
    starts = np.concatenate([[0], np.cumsum(places.sum(1) * (1 + twice))])
    X = rng.standard_normal((256, 70)).astype(np.float32)
    for _ in range(3):
        A = sparse.CSRMatrix(rng.standard_normal(len(columns)).astype(np.float32), columns, starts, (300, 256))
        for _ in range(2):
            np.testing.assert_allclose(sparse.spmm(A, X, backend="simulator"), A.to_dense() @ X, atol=2e-4)
        other = sparse.from_dense(sparse_dense(rng, 300, 256, 0.3))
        np.testing.assert_allclose(sparse.spmm(other, X, backend="simulator"), other.to_dense() @ X, atol=2e-4)


def test_more_patterns_than_are_kept():
    rng = generator()
    X = rng.standard_normal((40, 3)).astype(np.float32)
    matrices = [sparse.from_dense(sparse_dense(rng, 30, 40, 0.1)) for _ in range(40)]
    for A in [*matrices, *matrices]:
        np.testing.assert_allclose(sparse.spmm(A, X, backend="simulator"), A.to_dense() @ X, atol=1e-5)
        np.testing.assert_allclose(sparse.spmm(A, X, backend="native"), A.to_dense() @ X, atol=1e-5)


@pytest.mark.parametrize("uplo", ["upper", "lower"])
def test_symmetric_products_take_a_triangle(backend, uplo):
    rng = generator()
    whole = sparse_dense(rng, 140, 140, 0.1)
    whole = whole + whole.T
    half = np.triu(whole) if uplo == "upper" else np.tril(whole)
    x = rng.standard_normal(140).astype(np.float32)
    got = sparse.spmv_symmetric(sparse.from_dense(half), x, 2.0, uplo, backend=backend)
    assert_product(got[:, None], 2.0 * whole.astype(np.float64), x[:, None])


@pytest.mark.parametrize("block_size", [1, 16, 50, 128, 200])
@pytest.mark.parametrize("rows, columns, n", [(300, 200, 70), (128, 256, 600), (1, 130, 1)])
def test_bsr_spmm(backend, block_size, rows, columns, n):
    rng = generator(block_size, rows)
    dense = sparse_dense(rng, rows, columns, 0.05)
    dense[: rows // 2] = 0
    B = rng.standard_normal((columns, n)).astype(np.float32)
    A = sparse.BSRMatrix.from_dense(dense, block_size)
    assert_product(sparse.bsr_spmm(A, B, backend=backend), dense, B)
    X, Y = rng.standard_normal((rows, n)).astype(np.float32), rng.standard_normal((columns, n)).astype(np.float32)
    got = sparse.bsr_sddmm(A, X, Y, backend=backend)
    stored = sparse.BSRMatrix(np.ones_like(A.blocks), A.block_col_indices, A.block_row_ptrs, A.shape, block_size)
    mask = stored.to_dense() != 0
    assert_product(np.where(mask, got.to_dense(), X.astype(np.float64) @ Y.T), X, Y.T)


def test_an_empty_matrix_of_blocks(backend):
    A = sparse.BSRMatrix.from_dense(np.zeros((300, 200), np.float32))
    assert A.n_blocks == 0
    got = sparse.bsr_spmm(A, np.full((200, 9), np.nan, np.float32), backend=backend)
    np.testing.assert_array_equal(got, np.zeros((300, 9)))


@pytest.mark.parametrize("rows, columns, n", [(300, 200, 70), (64, 500, 2500), (1, 1, 3)])
def test_sddmm(backend, rows, columns, n):
    rng = generator(rows)
    A = sparse.from_dense(sparse_dense(rng, rows, columns, 0.05) + np.eye(rows, columns, dtype=np.float32))
    X, Y = rng.standard_normal((rows, n)).astype(np.float32), rng.standard_normal((columns, n)).astype(np.float32)
    got = sparse.sddmm(A, X, Y, backend=backend)
    assert_product(np.where(A.to_dense() != 0, got.to_dense(), X.astype(np.float64) @ Y.T), X, Y.T)
    computed_by(backend, "sddmm")


@pytest.mark.parametrize("shape", [(300, 200, 150), (128, 128, 128), (5, 400, 3)])
def test_spgemm(backend, shape):
    rng = generator(*shape)
    x, y = sparse_dense(rng, shape[0], shape[1], 0.03), sparse_dense(rng, shape[1], shape[2], 0.05)
    got = sparse.spgemm(sparse.from_dense(x), sparse.from_dense(y), backend=backend)
    assert_product(got.to_dense(), x, y)
    assert got.nnz == np.count_nonzero((x != 0).astype(int) @ (y != 0).astype(int))


def test_sums_and_products_by_element(backend):
    rng = generator()
    x, y = sparse_dense(rng, 300, 70, 0.1), sparse_dense(rng, 300, 70, 0.1)
    A, B = sparse.from_dense(x), sparse.from_dense(y)
    got = sparse.sparse_add(A, B, 2.0, -0.5, backend=backend)
    np.testing.assert_allclose(got.to_dense(), 2 * x - 0.5 * y, rtol=1e-6, atol=1e-6)
    assert got.nnz == np.count_nonzero((x != 0) | (y != 0))
    np.testing.assert_allclose(sparse.sparse_multiply(A, B, backend=backend).to_dense(), x * y, rtol=1e-6)
    np.testing.assert_allclose(sparse.sparse_scale(A, 3.0, backend=backend).to_dense(), 3 * x, rtol=1e-6)
    np.testing.assert_array_equal(sparse.sparse_transpose(A).to_dense(), x.T)


def test_nan_and_infinity_travel_as_in_numpy(backend):
    rng = generator()
    dense = sparse_dense(rng, 150, 140, 0.05)
    dense[3, 5], dense[9, 7] = np.inf, np.nan
    B = rng.standard_normal((140, 9)).astype(np.float32)
    B[11, 2], B[5, 4] = np.inf, 2.0
    with np.errstate(invalid="ignore"):
        # 0 times infinity is no product of a sparse matrix
        want = np.array([sum((v * B[j] for j, v in zip(*_row(dense, i))), np.zeros(9)) for i in range(150)])
    got = sparse.spmm(sparse.from_dense(dense), B, backend=backend)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))


@pytest.mark.parametrize("block_size", [16, 48, 128, 200])
def test_infinity_meets_stored_elements_of_blocks_only(backend, block_size):
    """Zeros inside of a stored block count, those that fill up a tile of 128 do not."""
    rng = generator(block_size)
    dense = sparse_dense(rng, 300, 270, 0.3)
    dense *= np.kron(rng.random((-(-300 // block_size), -(-270 // block_size))) < 0.4,
                     np.ones((block_size, block_size)))[:300, :270]
    A = sparse.BSRMatrix.from_dense(dense.astype(np.float32), block_size)
    B = rng.standard_normal((270, 5)).astype(np.float32)
    B[3, 1], B[130, 2], B[269, 4] = np.inf, np.nan, -np.inf
    stored = sparse.BSRMatrix(np.ones_like(A.blocks), A.block_col_indices, A.block_row_ptrs, A.shape,
                              block_size).to_dense() > 0
    with np.errstate(invalid="ignore"):
        want = np.array([dense[i, stored[i]].astype(np.float32) @ B[stored[i]] for i in range(300)])
    got = sparse.bsr_spmm(A, B, backend=backend)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_infinity_in_products_of_sparse_matrices(backend):
    rng = generator()
    x, y = sparse_dense(rng, 150, 140, 0.05), sparse_dense(rng, 140, 160, 0.05)
    x[3, 5], y[5, 9], y[20, 30] = np.inf, 2.0, np.nan
    x[7, 20] = 1.0
    got = sparse.spgemm(sparse.from_dense(x), sparse.from_dense(y), backend=backend)
    want = (scipy.sparse.csr_matrix(x) @ scipy.sparse.csr_matrix(y)).toarray()
    dense = got.to_dense()
    np.testing.assert_array_equal(np.isnan(dense), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(dense), np.isinf(want))
    np.testing.assert_allclose(dense, want, rtol=1e-4, atol=1e-5)


def _row(dense, i):
    columns = np.flatnonzero(~(dense[i] == 0))
    return columns, dense[i, columns]


def test_narrow_and_double_elements():
    rng = generator()
    import ml_dtypes
    dense = sparse_dense(rng, 60, 50, 0.2)
    B = rng.standard_normal((50, 7))
    A = sparse.from_dense(dense.astype(np.float64))
    np.testing.assert_allclose(sparse.spmm(A, B), A.to_dense() @ B, rtol=1e-12, atol=1e-12)
    with pytest.raises(kiln.NkiNotYetError, match="has no kernel so far"):
        sparse.spmm(A, B, backend="simulator")
    for dtype, bound in ((np.float16, 4e-3), (ml_dtypes.bfloat16, 3e-2)):
        x, b = dense.astype(dtype), B.astype(dtype)
        got = sparse.spmm(sparse.from_dense(x), b)
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(float), x.astype(float) @ b.astype(float), rtol=bound, atol=bound)


@pytest.mark.parametrize("call, name", [
    (lambda A, B: sparse.spmm(A, B[1:]), "B"),
    (lambda A, B: sparse.spmm(A, B[:, 0]), "B"),
    (lambda A, B: sparse.spmm(A, B, 1.0, B, 1.0), "C"),
    (lambda A, B: sparse.spmm(A, B.astype(np.float64)), "B"),
    (lambda A, B: sparse.spmm(B, B), "A"),
    (lambda A, B: sparse.spmv(A, B[:, 0][1:]), "x"),
    (lambda A, B: sparse.spmv(A, B[:, 0], y=B[:2, 0]), "y"),
    (lambda A, B: sparse.spmv_symmetric(A, B[:, 0]), "A"),
    (lambda A, B: sparse.sparse_add(A, A.T), "B"),
    (lambda A, B: sparse.spgemm(A, A), "B"),
    (lambda A, B: sparse.sddmm(A, B, B), "X"),
    (lambda A, B: sparse.bsr_spmm(A.to_bsr(2), B[1:]), "B"),
    (lambda A, B: sparse.bsr_spmm(A, B), "A"),
    (lambda A, B: sparse.screened_spmm(B, B[:, 0], B, 0.1), "A"),
    (lambda A, B: sparse.screened_spmm(B @ B.T, B, B, 0.1), "diag_integrals"),
    (lambda A, B: sparse.screened_spmm(B @ B.T, B[1:, 0], B, 0.1), "diag_integrals"),
    (lambda A, B: sparse.screened_spmm(B @ B.T, B[:, 0], B, -1.0), "threshold"),
    (lambda A, B: sparse.screened_spmm(B @ B.T, B[:, 0], B, float("nan")), "threshold"),
    (lambda A, B: sparse.is_screened(B[:, 0], -1.0), "threshold"),
    (lambda A, B: sparse.screen_quartets(B, -1.0), "threshold"),
    (lambda A, B: sparse.spmv(A, None), "x"),
    (lambda A, B: sparse.spmm(A, scipy.sparse.csr_array(B)), "B"),
    (lambda A, B: sparse.spmm(scipy.sparse.csr_array(B.T), B), "A"),
    (lambda A, B: A @ scipy.sparse.csr_array(B), "B"),
    (lambda A, B: A + scipy.sparse.csr_array(B.T), "B"),
    (lambda A, B: scipy.sparse.csr_array(B.T) + A, "B"),
    (lambda A, B: sparse.spmm(A, B, backend="gpu"), "backend"),
])
def test_wrong_arguments_are_named(call, name):
    A, B = sparse.from_dense(np.ones((3, 5), np.float32)), np.ones((5, 2), np.float32)
    with pytest.raises((ValueError, TypeError), match=f"^{name}:"):
        call(A, B)


def test_shapes_that_do_not_fit_are_assertions_too():
    A = sparse.from_dense(np.ones((3, 5), np.float32))
    for call in (lambda: sparse.spmm(A, np.ones((4, 2), np.float32)), lambda: sparse.spmv(A, np.ones(4, np.float32)),
                 lambda: sparse.set_backend("gpu")):
        with pytest.raises(AssertionError):
            call()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_calls_without_more_arguments_are_those_with_them(dtype):
    rng = generator(7, 8)
    A = sparse.from_dense(sparse_dense(rng, 300, 200, 0.1).astype(dtype))
    B, x = rng.standard_normal((200, 9)).astype(dtype), rng.standard_normal(200).astype(dtype)
    for given in (B, B[:, ::2], np.asfortranarray(B)):
        assert np.array_equal(sparse.spmm(A, given), sparse.spmm(A, given, alpha=1.0))
    for given in (x, np.repeat(x, 2)[::2]):
        for _ in range(2):
            assert np.array_equal(sparse.spmv(A, given), sparse.spmv(A, given, alpha=1.0))
            assert sparse.last_call().backend == "native" and sparse.last_call().operation.endswith("spmm")
    other = sparse.CSRMatrix(A.values.copy(), A.col_indices.copy(), A.row_ptrs, A.shape)
    other.col_indices[-1] = other.col_indices[-2]  # a pattern that shares its starts with the one before
    assert_product(sparse.spmv(other, x)[:, None], other.to_dense(), x[:, None])
    for wrong in (x[1:], B, x.astype(np.float16)):
        with pytest.raises((ValueError, TypeError)):
            sparse.spmv(A, wrong)
    with pytest.raises(ValueError, match="Dimension mismatch"):
        sparse.spmm(A, B[1:])


def test_copies_of_a_matrix_have_arrays_of_their_own():
    rng = generator(9)
    A = sparse.from_dense(sparse_dense(rng, 40, 30, 0.2))
    x = rng.standard_normal(30).astype(np.float32)
    y = sparse.spmv(A, x)
    for other in (copy.deepcopy(A), pickle.loads(pickle.dumps(A)), copy.copy(A)):
        other.values = other.values * np.float32(2)
        assert np.array_equal(sparse.spmv(other, x), 2 * y)
        assert np.array_equal(sparse.spmv(A, x), y)
    deep = copy.deepcopy(A)
    deep.values *= 4  # in place
    assert np.array_equal(sparse.spmv(deep, x), 4 * y) and np.array_equal(sparse.spmv(A, x), y)
