"""Corners of NumPy's functions that its own tests go into: what is refused, dtypes of integers, axes in any order,
lists in place of arrays, arrays without elements."""

import numpy as np
import pytest

import kiln
from against_numpy import check, sample

X = sample(np.float32, (4, 6), 1, False)
V = sample(np.float32, (6,), 2, False)
WHOLE = sample(np.int32, (3, 4), 3)
BYTES = np.array([11, -12, 13], np.int8)

CASES = {
    # Indices: an ellipsis for no dimension stands between arrays all the same.
    "gap": (lambda x, i: x[:, 1, ..., i], sample(np.float32, (4, 3, 5), 4, False), np.array([0, 2], np.int32)),
    "gap_written": (lambda x, i: x.__setitem__((slice(None), 1, ..., i), 7), sample(np.float32, (4, 3, 5), 4, False),
                    np.array([0, 2], np.int32)),
    "ellipsis_behind": (lambda x, i: x[i, 1, ...], X, np.array([0, 2], np.int32)),
    # Shapes.
    "roll_one_shift": (lambda x: np.roll(x, (1,), axis=(0, 1)), X),
    "roll_one_axis": (lambda x: np.roll(x, (1, 2), axis=0), X),
    "roll_mismatch": (lambda x: np.roll(x, (1, 2, 3), axis=(0, 1)), X),
    "transpose_twice": (lambda x: np.transpose(x, (0, 0)), X),
    "moveaxis_range": (lambda x: np.moveaxis(x, [1, 0], range(2)), X),
    "moveaxis_twice": (lambda x: np.moveaxis(x, (0, 0), (0, 1)), X),
    "tril_of_three": (lambda x: np.tril_indices_from(x), sample(np.float32, (2, 2, 2), 5)),
    "pad_length": (lambda x: np.pad(x, 2, "mean", stat_length=-2), X),
    "insert_column": (lambda x: np.insert(x, 1, [[1], [2], [3]], axis=1), WHOLE[:, :2].copy()),
    "insert_columns": (lambda x: np.insert(x, [1], [[1], [2], [3]], axis=1), WHOLE[:, :2].copy()),
    "insert_row": (lambda x: np.insert(x, 1, [5, 6, 7, 8], axis=0), WHOLE),
    "insert_list": (lambda x: np.insert(x, [1], [1, 2, 3, 4], axis=0), WHOLE),
    "insert_number": (lambda x: np.insert(x, 1, 9, axis=1), WHOLE),
    # Averages: weights lie as the axes are named.
    "average_axes": (lambda x, w: np.average(x, axis=(1, 0), weights=w), sample(np.int32, (2, 3, 4), 6),
                     np.array([[0, 0.5], [0, 1], [2, 1]], np.float32)),
    "cov_one_row": (lambda x: np.cov(x, rowvar=False, ddof=0), np.ones((1, 3), np.float32)),
    "cov_too_many": (lambda x: np.cov(x, ddof=5), np.array([[0, 1, 2], [2, 1, 0]], np.float32)),
    "cov_weights": (lambda x: np.cov(x, fweights=np.array([1.5, 4.5, 1.5])), np.ones((2, 3), np.float32)),
    "corrcoef": (lambda x: np.corrcoef(x), X),
    "gradient_spacing": (lambda x: np.gradient(x, np.arange(4.0)), sample(np.float32, (4, 4), 7, False)),
    "gradient_length": (lambda x: np.gradient(x, np.arange(5.0), axis=0), X),
    # Integers.
    "vander_bytes": (lambda x: np.vander(x), BYTES),
    "unwrap_integers": (lambda x: np.unwrap(x, period=255), np.array([0, 75, 150, 225, 45], np.int32)),
    "unwrap_even": (lambda x: np.unwrap(x, period=4), np.array([1, 2, 3, 0, 2, 0, 2], np.int32)),
    "quantile_of_ends": (lambda x: np.quantile(x, 1), BYTES),
    "quantile_lower": (lambda x: np.quantile(x, [0.4, 0.9], method="lower"), np.array([2**30 + 1, 5, 7], np.int32)),
    "percentile_cdf": (lambda x: np.percentile(x, 40.0, method="inverted_cdf"), BYTES),
    "ediff1d_casts": (lambda x: np.ediff1d(x, to_end=np.nan), np.array([1, 2, 4], np.int32)),
    # What is refused.
    "isin_kind": (lambda x: np.isin(x, [1, 2], kind="quicksort"), WHOLE),
    "place_nothing": (lambda x: np.place(x, [True, False, True], []), BYTES),
    "histogram_float": (lambda x: np.histogram(x, 2.4), V),
    "histogram_range": (lambda x: np.histogram(x, range=(0.25, np.inf)), V),
    "histogram_order": (lambda x: np.histogram(x, bins=np.array([1, 3, 1], np.uint32)), V),
    "piecewise_number": (lambda x: np.piecewise(x, [np.asarray(False)], [1, 2]), np.array(3, np.int32)),
    "logspace_bases": (lambda x: np.logspace(1, 2, num=6, base=x, axis=0), np.array([1, 2], np.int32)),
    "logspace_columns": (lambda x: np.logspace(1, np.array([2, 3]), num=6, base=x, axis=1), np.array([1, 2], np.int32)),
    "histogramdd_bins": (lambda x: np.histogramdd(x, bins=[3, [-1.0, 2, 10]])[0], sample(np.float32, (9, 2), 8, False)),
    # Lists of arrays in place of one.
    "list_exp": (lambda x, y: np.exp([x, y]), V, V / 2),
    "list_two": (lambda x, y: np.add([x[0], y[1]], [1, x[2]]), V, V),
    "list_det": (lambda x: np.linalg.det([[x[1], x[2]], [x[0], x[5]]]), V),
    "list_transpose": (lambda x, y: np.transpose([x, y]), V, V),
    "list_where": (lambda x, y: np.where([True, False], [x[0], y[1]], 0), V, V),
    "list_at_least": (lambda x, y: np.atleast_3d([x, y]), V, V),
    "list_named": (lambda x, y: np.sum(a=[x, y], axis=0), V, V),
    "list_outer": (lambda x: np.multiply.outer([x[0], x[1]], x), V),
    "tuple_norm": (lambda x, y: np.linalg.norm((x, y)), V, V),
    "list_stack": (lambda x, y: np.stack([x, y], axis=1), V, V),
    # Without elements.
    "no_median": (lambda x: np.nanmedian(x, axis=1), np.zeros((0, 3), np.float32)),
    "no_svd": (lambda x: np.linalg.svd(x, full_matrices=False), np.zeros((0, 4), np.float32)),
    "no_qr": (lambda x: np.linalg.qr(x), np.zeros((3, 0), np.float32)),
    "no_eigenvalues": (lambda x: np.linalg.eigvalsh(x), np.zeros((0, 0), np.float32)),
    "no_norm": (lambda x: np.linalg.matrix_norm(x, ord=2), np.zeros((0, 2), np.float32)),
    "no_pad": (lambda x: np.pad(x, ((3,), (0,), (1,)), mode="median"), np.zeros((2, 0, 2), np.float32)),
    "no_sum": (lambda x: np.add(np.sum(x, axis=0), 1), np.zeros((0, 3), np.float32)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_corner(name):
    function, *args = CASES[name]
    check(function, *args)


def test_messages_are_those_of_numpy():
    for function, words in ((lambda x: np.transpose(x, (0, 0)), "repeated axis in transpose"),
                            (lambda x: np.roll(x, (1, 2, 3), axis=(0, 1)), "shape mismatch")):
        with pytest.raises(ValueError, match=words):
            kiln.jit(function)(X)
        with pytest.raises(ValueError, match=words):
            function(X)
