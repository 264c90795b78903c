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
                with pytest.raises(ValueError, match="0 elements"):
                    ours.max()


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
