"""Names that users of scipy.sparse know; each is an operation of this package, or a conversion."""

import numpy as np

from kiln.blas._arrays import to_numpy, torch_of

from . import _values as v


class ScipyNames:
    """`toarray`, `tocsr` …, `copy`, `astype`, `dot`, `reshape`, `trace`, `mean`, `max`, `min`, `count_nonzero`."""

    ndim = 2

    @property
    def size(self):
        """The number of stored elements."""
        return self.nnz

    def toarray(self):
        """The whole matrix as a NumPy array."""
        return to_numpy(self.to_dense(), "matrix")

    def tocsr(self):
        return self.to_csr()

    def tocsc(self):
        return self.to_csc()

    def tocoo(self):
        return self.to_coo()

    def tobsr(self, block_size=128):
        return self.to_bsr(block_size)

    def copy(self):
        """The same matrix in memory of its own; places that are given twice are added up."""
        return self._mapped(v.copied)

    def astype(self, dtype):
        """With elements of another dtype: NumPy's, or torch's where they are a tensor."""
        return self._mapped(lambda values: values.astype(dtype) if torch_of(values) is None else values.to(dtype))

    def dot(self, other):
        return self @ other

    def reshape(self, *shape):
        """The same elements, row by row, in another shape; -1 is what is left."""
        shape = shape[0] if len(shape) == 1 else shape
        total = self.shape[0] * self.shape[1]
        v.require(len(shape) == 2 and list(shape).count(-1) <= 1, f"shape: {shape!r}, expected (rows, columns)")
        if -1 in shape:
            known = max(1, -shape[0] * shape[1])
            shape = tuple(total // known if size == -1 else size for size in shape)
        shape = v.shape_of(shape)
        v.require(shape[0] * shape[1] == total, f"shape: {shape} for {total} elements")
        rows, columns, values = self._triplets()
        places, width = rows * self.shape[1] + columns, max(1, shape[1])
        return self._from(places // width, places % width, values, shape)

    def trace(self):
        return self.diagonal().sum()

    def mean(self, axis=None):
        """The mean of all elements, zeros that are not stored among them, or along an axis."""
        counts = {None: self.shape[0] * self.shape[1], 0: self.shape[0], 1: self.shape[1]}
        total, count = self.sum(axis), counts[axis if axis is None else axis % 2]
        v.require(count > 0, f"a mean of 0 elements of a matrix of {self.shape}")
        return total / count

    def count_nonzero(self):
        """The number of elements that are not zero."""
        return int(np.count_nonzero(to_numpy(self.to_csr().values, "values")))

    def max(self, axis=None):
        """The largest element, zeros that are not stored among them, or those along an axis."""
        return self._extreme(axis, "max")

    def min(self, axis=None):
        """The smallest element, zeros that are not stored among them, or those along an axis."""
        return self._extreme(axis, "min")

    def _extreme(self, axis, of):
        v.require(axis in (None, -2, -1, 0, 1), f"axis: {axis!r}, expected None, 0, 1, -1 or -2")
        rows, columns, values = self.to_csr()._triplets()
        m, n = self.shape
        ids, size, each = {None: (rows * 0, 1, m * n), 0: (columns, n, m), 1: (rows, m, n)}[axis and axis % 2]
        v.require(each > 0, f"an extreme of {each} elements of a matrix of {self.shape}")
        found = v.extremes(values, ids, size, np.bincount(ids, minlength=size) < each, of)
        return found if axis is not None else found[0]

    def _from(self, rows, columns, values, shape):
        from .formats import COOMatrix
        turned = COOMatrix(values, v.indices_like(values, rows), v.indices_like(values, columns), shape)
        return turned._as(type(self), self)
