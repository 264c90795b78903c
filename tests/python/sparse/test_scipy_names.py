"""Names and operators that users of scipy.sparse know, in every format, with places that are given twice."""

import numpy as np
import pytest
import scipy.sparse

from cases import generator
from kiln import sparse

FORMATS = {"coo": lambda A: A, "csr": lambda A: A.to_csr(), "csc": lambda A: A.to_csc(), "ell": lambda A: A.to_ell(),
           "bsr": lambda A: A.to_bsr(3)}
SHAPES = [(0, 0), (0, 4), (4, 0), (1, 1), (1, 7), (7, 1), (9, 6), (150, 131)]


@pytest.fixture(params=FORMATS)
def kind(request):
    return request.param


def matrices(kind, shape, dtype=np.float32):
    """Ours, SciPy's and NumPy's, of a random density."""
    rng = generator(*shape)
    for count in (0, 1, 3 * shape[0] + 2, 2 * shape[0] * shape[1]):
        count = count if shape[0] * shape[1] else 0
        rows, columns = (rng.integers(0, max(1, size), count) for size in shape)
        values = rng.standard_normal(count).astype(dtype)
        theirs = scipy.sparse.coo_array((values, (rows, columns)), shape).tocsr()
        ours = FORMATS[kind](sparse.COOMatrix(values, rows, columns, shape))
        yield ours, theirs, theirs.toarray(), rng


def assert_same(got, want, rtol=1e-5):
    got, want = (x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in (got, want))
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol, 1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_conversions_and_properties(kind, shape):
    for ours, theirs, dense, _ in matrices(kind, shape):
        assert ours.ndim == 2 and ours.size == ours.nnz
        for got in (ours.toarray(), ours.tocsr(), ours.tocsc(), ours.tocoo(), ours.tobsr(2), ours.copy(),
                    ours.to_scipy()):
            assert_same(got, dense)
        copy = ours.copy()
        assert type(copy) is type(ours)
        assert_same(ours.astype(np.float64), theirs.astype(np.float64))
        assert ours.count_nonzero() == np.count_nonzero(dense)
        for other in (shape[::-1], (1, -1), (-1, max(1, shape[1]))):
            if 0 not in shape:
                assert_same(ours.reshape(other), dense.reshape(other))
                assert_same(ours.reshape(*other), dense.reshape(other))


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_of_a_matrix(kind, shape):
    for ours, theirs, dense, _ in matrices(kind, shape, np.float64):
        assert_same(ours.trace(), theirs.trace())
        for k in range(-shape[0], shape[1] + 1):
            assert_same(ours.diagonal(k), np.diagonal(dense, k) if abs(k) < max(shape) else np.zeros(0))
        for axis in (None, 0, 1, -1, -2):
            if 0 not in shape:
                assert_same(ours.mean(axis), dense.mean(axis))
                assert_same(ours.max(axis), dense.max(axis))
                assert_same(ours.min(axis), dense.min(axis))
                assert_same(ours.sum(axis), dense.sum(axis))
            elif axis is None:
                for of_nothing in (ours.max, ours.mean):
                    with pytest.raises(ValueError, match="0 elements"):
                        of_nothing()


@pytest.mark.parametrize("shape", SHAPES)
def test_operators(kind, shape):
    for ours, _, dense, rng in matrices(kind, shape):
        other = rng.standard_normal(shape).astype(np.float32)
        assert_same(ours + other, dense + other)
        assert_same(other + ours, other + dense)
        assert_same(ours - other, dense - other)
        assert_same(other - ours, other - dense)
        assert_same(abs(ours), abs(dense))
        assert_same(ours ** 3, dense ** 3)
        assert type(abs(ours)) is type(ours ** 2) is type(ours)
        assert_same(ours.dot(other.T), dense @ other.T, 1e-4)
        assert_same(ours.multiply(2.0), dense * 2)
        for row in (other[:1], other[:, :1], other[0] if shape[0] else other[:1]):
            if row.shape in (shape, (1, shape[1]), (shape[0], 1), (shape[1],)):
                assert_same(ours.multiply(row), dense * row)
        twice = ours.copy()
        twice += ours
        twice /= 4.0
        assert_same(twice, dense / 2)
        with pytest.raises(ValueError, match="B: Shape mismatch"):
            ours + np.zeros((shape[0] + 1, shape[1]), np.float32)
        with pytest.raises(ValueError, match="B: Shape mismatch"):
            ours.multiply(np.zeros((shape[0] + 2, shape[1]), np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.bool_])
def test_integers_and_truth_values(kind, dtype):
    rng = generator()
    rows, columns = rng.integers(0, 30, 200), rng.integers(0, 20, 200)
    values = rng.integers(0 if dtype in (np.uint8, np.bool_) else -9, 2 if dtype == np.bool_ else 10, 200).astype(dtype)
    theirs = scipy.sparse.coo_array((values, (rows, columns)), (30, 20)).tocsr()
    ours = FORMATS[kind](sparse.COOMatrix(values, rows, columns, (30, 20)))
    for axis in (None, 0, 1):
        assert_same(ours.sum(axis), theirs.sum(axis=axis))
        assert_same(ours.max(axis), theirs.max(axis=axis))
        assert_same(ours.min(axis), theirs.min(axis=axis))


def test_nan_is_the_largest_and_the_smallest(kind):
    dense = np.array([[np.nan, 1, 0], [0, -2, np.inf], [0, 0, 0]], np.float32)
    ours, theirs = FORMATS[kind](sparse.from_dense(dense).to_coo()), scipy.sparse.csr_array(dense)
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(ours.max(axis), theirs.max(axis=axis).toarray() if axis is not None else np.nan)
        np.testing.assert_array_equal(ours.min(axis), theirs.min(axis=axis).toarray() if axis is not None else np.nan)
    assert not np.signbit(ours.min(0)[0]) and not np.signbit(ours.min(1)[2])


def test_quotients_are_rounded_once(kind):
    rng = generator()
    values = rng.standard_normal(50).astype(np.float32)
    A = FORMATS[kind](sparse.COOMatrix(values, np.arange(50), np.arange(50), (50, 50)))
    for by in (3, 3.0, np.float64(3), np.float32(3)):
        np.testing.assert_array_equal((A / by).diagonal(), values / np.float32(3))
        assert (A / by).dtype == np.float32
    np.testing.assert_array_equal((A / 0).diagonal(), np.copysign(np.inf, values))
    assert (A / abs(A).max()).toarray().max() <= 1 and abs(A / abs(A).max()).max() == 1


def test_powers(kind):
    A = FORMATS[kind](sparse.from_dense(np.array([[4, 0], [0, 9]], np.float32)).to_coo())
    np.testing.assert_array_equal((A ** 0.5).toarray(), [[2, 0], [0, 3]])
    with pytest.raises(ValueError, match="^exponent: 0"):
        A ** 0
    with pytest.raises(TypeError, match="^exponent:"):
        A.power("2")


def test_a_sum_of_matrices(kind):
    A = FORMATS[kind](sparse.from_dense(np.arange(6, dtype=np.float32).reshape(2, 3)).to_coo())
    assert_same(sum([A, A, A]), 3 * A.toarray())
    assert_same(0 - A, -A.toarray())


def test_copies_are_in_memory_of_their_own(kind):
    A = FORMATS[kind](sparse.from_dense(np.eye(9, dtype=np.float32)).to_coo())
    copy = A.copy()
    for name, array in vars(copy).items():
        if isinstance(array, np.ndarray):
            assert not np.shares_memory(array, getattr(A, name)), name


@pytest.mark.parametrize("change", [lambda A: A.copy(), abs, lambda A: A.astype(np.float64), lambda A: A / 2])
def test_blocks_of_zeros_are_kept(change):
    """Of a pattern of attention only the places of blocks count."""
    A = sparse.BSRMatrix(np.zeros((3, 2, 2), np.float32), [1, 0, 1], [0, 1, 3], (4, 4), 2)
    changed = change(A)
    assert changed.n_blocks == 3 and changed.block_col_indices.tolist() == [1, 0, 1]
    twice = sparse.BSRMatrix(np.ones((2, 2, 2), np.float32), [0, 0], [0, 2], (2, 2), 2)
    assert change(twice).n_blocks == 1 and change(twice).toarray()[0, 0] in (1.0, 2.0)


def index(rng, size):
    steps = [None, -3, -2, -1, 1, 2, 3]
    bounds = [None if rng.random() < 0.3 else int(rng.integers(-size - 2, size + 3)) for _ in range(2)]
    kinds = [slice(*bounds), slice(*bounds, steps[rng.integers(len(steps))]), rng.random(size) < 0.5, ...]
    if size:
        kinds += [int(rng.integers(-size, size)), rng.integers(-size, size, 5), list(range(size))[::-2]]
    return kinds[rng.integers(len(kinds))]


def of_dense(key, size):
    return np.atleast_1d(np.arange(size)[slice(None) if key is Ellipsis else key])


@pytest.mark.parametrize("shape", SHAPES)
def test_cuts(kind, shape):
    for ours, _, dense, rng in matrices(kind, shape):
        for _ in range(20):
            rows, columns = (index(rng, size) for size in shape)
            want = dense[np.ix_(of_dense(rows, shape[0]), of_dense(columns, shape[1]))]
            if isinstance(rows, int) and isinstance(columns, int):
                assert_same(ours[rows, columns], want[0, 0])
            else:
                assert_same(ours[rows, columns], want)
                assert_same(ours[rows], dense[of_dense(rows, shape[0])])
