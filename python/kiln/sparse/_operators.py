"""What Python's operators mean for sparse matrices: each is an operation of this package."""

import numbers

import numpy as np

from kiln.blas._arrays import to_numpy

from . import _values as v


class Operators:
    """`A @ B`, `A + B`, `A - B`, `-A`, `abs(A)`, `a * A`, `A / a`, `A ** a`, `A[rows, columns]`; results keep the
    kind of the left one, and with a dense operand `@`, `+` and `-` give dense ones."""

    __array_ufunc__ = None  # NumPy's arrays leave operators to the methods here

    def __matmul__(self, other):
        from . import ops
        from .formats import BSRMatrix
        if isinstance(other, Operators):
            return ops.spgemm(self.to_csr(), other.to_csr())._as(type(self), self)
        if not hasattr(other, "shape"):
            return NotImplemented
        if len(other.shape) == 1:
            if isinstance(self, BSRMatrix):
                return ops.bsr_spmm(self, other.reshape(-1, 1)).reshape(-1)
            return ops.spmv(self, other)
        return ops.bsr_spmm(self, other) if isinstance(self, BSRMatrix) else ops.spmm(self, other)

    def __rmatmul__(self, other):
        if not hasattr(other, "shape"):
            return NotImplemented
        v.require(len(other.shape) in (1, 2), f"left operand: {len(other.shape)} dimensions, expected 1 or 2")
        return self.T @ other if len(other.shape) == 1 else (self.T @ other.T).T

    def __add__(self, other):
        return self._sum(other, 1.0)

    __radd__ = __add__

    def __sub__(self, other):
        return self._sum(other, -1.0)

    def __rsub__(self, other):
        return (-self)._sum(other, 1.0)

    def __abs__(self):
        return self._mapped(abs)

    def __pow__(self, exponent):
        return self.power(exponent) if _is_number(exponent) else NotImplemented

    def __neg__(self):
        return self * -1.0

    def __mul__(self, factor):
        from . import ops
        if not _is_number(factor):
            return NotImplemented
        return ops.sparse_scale(self, factor)

    __rmul__ = __mul__

    def __truediv__(self, factor):
        if not _is_number(factor):
            return NotImplemented
        return self._mapped(lambda values: v.divided(values, factor))

    def _sum(self, other, factor):
        from . import ops
        if _is_number(other) and other == 0:  # where sum([A, B]) begins
            return self.copy()
        if getattr(other, "ndim", 0) == 2 and not isinstance(other, Operators):
            return ops.dense_add(self, other, factor)
        if not isinstance(other, Operators):
            return NotImplemented
        return ops.sparse_add(self.to_csr(), other.to_csr(), 1.0, factor)._as(type(self), self)

    def multiply(self, other):
        """The product element by element, with a number, or a sparse or a dense matrix of the same shape; a dense one
        may have one row for all, or one column."""
        from . import ops
        if _is_number(other):
            return self * other
        return ops.sparse_multiply(self.to_csr(), other)._as(type(self), self)

    def power(self, exponent):
        """Stored elements to a power, which is not zero: that would be 1 where nothing is stored."""
        if not _is_number(exponent):
            raise TypeError(f"exponent: {type(exponent).__name__}, expected a number")
        if exponent == 0:
            raise ValueError("exponent: 0, expected another number: with 0 every element is 1, stored or not")
        return self._mapped(lambda values: values ** exponent)

    def sum(self, axis=None):
        """The sum of all elements, or along an axis."""
        is_truth = str(self.dtype).endswith("bool")  # True twice at a place is one
        rows, columns, values = (self.to_csr() if is_truth else self)._triplets()
        if axis is None:
            return values.sum()
        v.require(axis in (-2, -1, 0, 1), f"axis: {axis!r}, expected None, 0, 1, -1 or -2")
        values = v.widened(values)
        ids, size = (columns, self.shape[1]) if axis in (0, -2) else (rows, self.shape[0])
        return v.placed(values, ids, size)

    def stats(self):
        """What one asks before choosing a format: elements, rows, blocks of 128."""
        rows, columns, _ = self._triplets()
        lengths = np.bincount(rows, minlength=self.shape[0]) if self.shape[0] else np.zeros(1, np.int64)
        blocks = np.unique(rows // 128 * (self.shape[1] // 128 + 1) + columns // 128)
        total = -(-self.shape[0] // 128) * -(-self.shape[1] // 128)
        return {"shape": self.shape, "nnz": self.nnz, "density": self.density, "longest_row": int(lengths.max()),
                "shortest_row": int(lengths.min()), "mean_row": float(lengths.mean()),
                "empty_rows": int(np.count_nonzero(lengths == 0)), "blocks_of_128": len(blocks),
                "block_density_of_128": len(blocks) / total if total else 0.0}

    def __getitem__(self, key):
        keys = tuple(slice(None) if k is Ellipsis else k for k in (key if isinstance(key, tuple) else (key,)))
        if len(keys) > 2:
            raise IndexError(f"{len(keys)} indices, expected rows, or rows and columns")
        rows_key, columns_key = (*keys, slice(None), slice(None))[:2]
        if all(isinstance(k, numbers.Integral) and not isinstance(k, bool) for k in (rows_key, columns_key)):
            return self._cut([rows_key], [columns_key]).sum()
        picked = [_picked(k, size, name) for k, size, name in zip(
            (rows_key, columns_key), self.shape, ("rows", "columns"))]
        return self._cut(*picked)._as(type(self), self)

    def _cut(self, rows_wanted, columns_wanted):
        from .formats import COOMatrix
        rows_wanted = _wrapped(rows_wanted, self.shape[0], "rows")
        columns_wanted = _wrapped(columns_wanted, self.shape[1], "columns")
        rows, columns, values = self._triplets()
        for size, wanted, which in ((self.shape[0], rows_wanted, 0), (self.shape[1], columns_wanted, 1)):
            ids = (rows, columns)[which]
            places, new = _matches(ids, wanted, size)
            rows, columns = rows[places], columns[places]
            values = v.take(values, places)
            if which == 0:
                rows = new
            else:
                columns = new
        return COOMatrix(values, v.indices_like(values, rows), v.indices_like(values, columns),
                         (len(rows_wanted), len(columns_wanted)))


def _is_number(value):
    return isinstance(value, numbers.Number) or getattr(value, "ndim", None) == 0


def _picked(key, size, name):
    if isinstance(key, slice):
        return np.arange(*key.indices(size), dtype=np.int64)
    if isinstance(key, numbers.Integral) and not isinstance(key, bool):
        return np.array([key], np.int64)
    array = to_numpy(key, name)
    if array.shape == (0,):
        return np.zeros(0, np.int64)
    if array.dtype == bool:
        v.require(array.shape == (size,), f"{name}: a mask of {array.shape} for {size}")
        return np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{name}: {key!r}, expected a slice, an index or a vector of them")
    return array.astype(np.int64)


def _wrapped(indices, size, name):
    indices = np.asarray(indices, np.int64)
    if len(indices) and (indices.min() < -size or indices.max() >= size):
        raise IndexError(f"{name}: {indices.min()} to {indices.max()}, allowed are {-size} to {size - 1}")
    return np.where(indices < 0, indices + size, indices)


def _matches(ids, wanted, size):
    """(places in ids, their new ids) for every place whose id is wanted, as often as it is."""
    order = np.argsort(wanted, kind="stable")
    starts = v.starts_of(wanted[order], size) if size else np.zeros(1, np.int64)
    counts = np.diff(starts)[ids] if size else np.zeros(0, np.int64)
    places = np.repeat(np.arange(len(ids)), counts)
    offset = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places, order[starts[ids[places]] + offset] if len(places) else np.zeros(0, np.int64)
