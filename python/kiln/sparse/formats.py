"""Sparse matrices: COO, CSR, CSC, BSR with blocks of any size, ELL.

Each converts into every other through its triplets, never through a dense matrix. Places that are given twice are
added up. `values` (`blocks`) are NumPy arrays or torch tensors; on tensors conversions are differentiable.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kiln.blas._arrays import to_numpy

from . import _values as v
from ._operators import Operators
from ._scipy_names import ScipyNames

__all__ = ["BSRMatrix", "COOMatrix", "CSCMatrix", "CSRMatrix", "ELLMatrix", "eye_sparse", "from_dense", "from_scipy"]


class _Format(Operators, ScipyNames):
    """What all formats have. `_triplets()` gives rows, columns and values, in any order; `_check()` takes what the
    caller gave."""

    def __post_init__(self):
        self.__dict__["_is_made"] = False
        self._check()
        self.__dict__["_is_made"] = True

    def __setattr__(self, name, value):
        """What is assigned to a matrix is checked as what it is made of; a matrix that it does not fit stays."""
        if name.startswith("_") or not self.__dict__.get("_is_made"):
            return object.__setattr__(self, name, value)
        before = self.__dict__.copy()
        try:
            object.__setattr__(self, name, value)
            self.__post_init__()
        except Exception:
            self.__dict__.update(before)
            raise

    @property
    def nnz(self):
        """The number of stored elements."""
        return int(self.values.shape[0])

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def density(self):
        """The share of elements that are stored."""
        return self.nnz / (self.shape[0] * self.shape[1]) if self.shape[0] * self.shape[1] else 0.0

    def __repr__(self):
        return f"{type(self).__name__}(shape={self.shape}, nnz={self.nnz}, density={self.density:.4f})"

    def to_dense(self):
        """The whole matrix."""
        rows, columns, values = self._triplets()
        m, n = self.shape
        return v.placed(values, rows * n + columns, m * n).reshape(m, n)

    def to_coo(self):
        rows, columns, values = self._triplets()
        return COOMatrix(v.copied(values), v.indices_like(values, rows), v.indices_like(values, columns), self.shape)

    def to_csr(self):
        rows, columns, values = _sorted(self.shape, *self._triplets())
        return CSRMatrix(values, v.indices_like(values, columns),
                         v.indices_like(values, v.starts_of(rows, self.shape[0])), self.shape)

    def to_csc(self):
        rows, columns, values = self._triplets()
        columns, rows, values = _sorted(self.shape[::-1], columns, rows, values)
        return CSCMatrix(values, v.indices_like(values, rows),
                         v.indices_like(values, v.starts_of(columns, self.shape[1])), self.shape)

    def to_bsr(self, block_size=128, threshold=0.0):
        return BSRMatrix._from_triplets(*self._triplets(), self.shape, block_size, threshold)

    def to_ell(self, width=None):
        """Rows of one width; None: the length of the longest row."""
        csr = self.to_csr()
        lengths = np.diff(csr._starts)
        longest = int(lengths.max(initial=0))
        width = longest if width is None else v.size_of(width, "width")
        v.require(width >= longest, f"width: {width}, but a row has {longest} elements")
        places = v.ids_of(csr._starts) * width + np.arange(csr.nnz) - np.repeat(csr._starts[:-1], lengths)
        columns = np.full(self.shape[0] * width, -1, np.int64)
        columns[places] = csr._columns
        values = v.placed(csr.values, places, self.shape[0] * width)
        return ELLMatrix(values.reshape(self.shape[0], width),
                         v.indices_like(values, columns).reshape(self.shape[0], width), self.shape)

    def to_scipy(self):
        """As scipy.sparse has it: a csr_array; of float32 for float16 and bfloat16, which SciPy has not."""
        import scipy.sparse
        csr = self.to_csr()
        values = to_numpy(csr.values, "values")
        if values.dtype.itemsize == 2 and values.dtype.kind not in "iu":
            values = values.astype(np.float32)
        return scipy.sparse.csr_array((values, csr._columns, csr._starts), shape=self.shape)

    def transpose(self):
        rows, columns, values = self._triplets()
        turned = COOMatrix(values, v.indices_like(values, columns), v.indices_like(values, rows), self.shape[::-1])
        return turned if isinstance(self, COOMatrix) else turned._as(type(self), self)

    @property
    def T(self):
        return self.transpose()

    def diagonal(self, k=0):
        """The elements (i, i + k)."""
        rows, columns, values = self._triplets()
        kept = np.flatnonzero(columns - rows == k)
        size = min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0))
        return v.placed(v.take(values, kept), np.minimum(rows, columns)[kept], max(0, size))

    def _mapped(self, function):
        """This matrix with function(values), in memory of its own; places that are given twice are added up before."""
        csr = self.to_csr()
        mapped = CSRMatrix(function(csr.values), v.copied(csr.col_indices), csr.row_ptrs, self.shape)
        return mapped._as(type(self), self)

    def _as(self, kind, like):
        """This matrix as another kind; of blocks as large as those of `like`."""
        if kind is BSRMatrix:
            return self.to_bsr(like.block_size)
        return {COOMatrix: self.to_coo, CSRMatrix: self.to_csr, CSCMatrix: self.to_csc, ELLMatrix: self.to_ell}[kind]()


def _sorted(shape, rows, columns, values):
    """Triplets by rows, then columns, each place once."""
    keys = rows * shape[1] + columns
    if len(keys) and np.all(keys[1:] > keys[:-1]):
        return rows, columns, v.copied(values)
    order = np.argsort(keys, kind="stable")
    unique, ids = np.unique(keys[order], return_inverse=True)
    values = v.take(values, order)
    if len(unique) != len(keys):
        values = v.placed(values, ids, len(unique))
    width = max(1, shape[1])
    return unique // width, unique % width, values


def _check_indices(name, indices, size):
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise v.ShapeError(f"{name}: {indices.min()} to {indices.max()}, allowed are 0 to {size - 1}")


def _check_starts(name, starts, groups, count):
    v.require(len(starts) == groups + 1, f"{name}: {len(starts)} numbers, expected {groups + 1}")
    v.require(starts[0] == 0 and starts[-1] == count and np.all(np.diff(starts) >= 0),
              f"{name}: expected ascending numbers from 0 to {count}")


@dataclass(repr=False, eq=False)
class CSRMatrix(_Format):
    """By rows: row i has values[row_ptrs[i]:row_ptrs[i + 1]] at those col_indices."""

    values: Any
    col_indices: Any
    row_ptrs: Any
    shape: tuple
    _columns: Any = field(init=False, repr=False)
    _starts: Any = field(init=False, repr=False)

    def _check(self):
        self.shape, self.values = v.shape_of(self.shape), v.values_array(self.values, "values", 1)
        self._columns = v.index_array(self.col_indices, "col_indices")
        self._starts = v.index_array(self.row_ptrs, "row_ptrs")
        v.require(len(self._columns) == self.nnz,
                  f"col_indices: {len(self._columns)} numbers for {self.nnz} values")
        _check_starts("row_ptrs", self._starts, self.shape[0], self.nnz)
        _check_indices("col_indices", self._columns, self.shape[1])

    def _triplets(self):
        return v.ids_of(self._starts), self._columns, self.values


@dataclass(repr=False, eq=False)
class CSCMatrix(_Format):
    """By columns: column j has values[col_ptrs[j]:col_ptrs[j + 1]] at those row_indices."""

    values: Any
    row_indices: Any
    col_ptrs: Any
    shape: tuple
    _rows: Any = field(init=False, repr=False)
    _starts: Any = field(init=False, repr=False)

    def _check(self):
        self.shape, self.values = v.shape_of(self.shape), v.values_array(self.values, "values", 1)
        self._rows = v.index_array(self.row_indices, "row_indices")
        self._starts = v.index_array(self.col_ptrs, "col_ptrs")
        v.require(len(self._rows) == self.nnz, f"row_indices: {len(self._rows)} numbers for {self.nnz} values")
        _check_starts("col_ptrs", self._starts, self.shape[1], self.nnz)
        _check_indices("row_indices", self._rows, self.shape[0])

    def _triplets(self):
        return self._rows, v.ids_of(self._starts), self.values


@dataclass(repr=False, eq=False)
class COOMatrix(_Format):
    """Triplets in any order."""

    values: Any
    row_indices: Any
    col_indices: Any
    shape: tuple
    _rows: Any = field(init=False, repr=False)
    _columns: Any = field(init=False, repr=False)

    def _check(self):
        self.shape, self.values = v.shape_of(self.shape), v.values_array(self.values, "values", 1)
        self._rows = v.index_array(self.row_indices, "row_indices")
        self._columns = v.index_array(self.col_indices, "col_indices")
        v.require(len(self._rows) == len(self._columns) == self.nnz,
                  f"row_indices, col_indices: {len(self._rows)} and {len(self._columns)} numbers for {self.nnz} values")
        _check_indices("row_indices", self._rows, self.shape[0])
        _check_indices("col_indices", self._columns, self.shape[1])

    def _triplets(self):
        return self._rows, self._columns, self.values


@dataclass(repr=False, eq=False)
class ELLMatrix(_Format):
    """Rows of one width: row i has values[i] at col_indices[i]; an index of -1 is no element."""

    values: Any
    col_indices: Any
    shape: tuple
    _columns: Any = field(init=False, repr=False)

    def _check(self):
        self.shape, self.values = v.shape_of(self.shape), v.values_array(self.values, "values", 2)
        self._columns = v.index_array(self.col_indices, "col_indices", 2)
        v.require(self._columns.shape == tuple(self.values.shape),
                  f"col_indices: {self._columns.shape}, values are {tuple(self.values.shape)}")
        v.require(len(self._columns) == self.shape[0],
                  f"values: {len(self._columns)} rows, the matrix has {self.shape[0]}")
        _check_indices("col_indices", self._columns[self._columns != -1], self.shape[1])

    @property
    def width(self):
        return self._columns.shape[1]

    @property
    def nnz(self):
        return int(np.count_nonzero(self._columns >= 0))

    def _triplets(self):
        flat = self._columns.reshape(-1)
        kept = np.flatnonzero(flat >= 0)
        return kept // max(1, self.width), flat[kept], v.take(self.values.reshape(-1), kept)


@dataclass(repr=False, eq=False)
class BSRMatrix(_Format):
    """Dense square blocks: block row i has blocks[block_row_ptrs[i]:block_row_ptrs[i + 1]] at those block columns. A
    shape that is no multiple of block_size has blocks that reach beyond it; what they hold there does not count."""

    blocks: Any
    block_col_indices: Any
    block_row_ptrs: Any
    shape: tuple
    block_size: int = 128
    _columns: Any = field(init=False, repr=False)
    _starts: Any = field(init=False, repr=False)

    def _check(self):
        self.shape, self.blocks = v.shape_of(self.shape), v.values_array(self.blocks, "blocks", 3)
        b = self.block_size = _block_size(self.block_size)
        v.require(tuple(self.blocks.shape[1:]) == (b, b),
                  f"blocks: their shape is {tuple(self.blocks.shape)}, expected (count, {b}, {b})")
        self._columns = v.index_array(self.block_col_indices, "block_col_indices")
        self._starts = v.index_array(self.block_row_ptrs, "block_row_ptrs")
        v.require(len(self._columns) == self.n_blocks,
                  f"block_col_indices: {len(self._columns)} numbers for {self.n_blocks} blocks")
        _check_starts("block_row_ptrs", self._starts, self.grid[0], self.n_blocks)
        _check_indices("block_col_indices", self._columns, self.grid[1])

    @property
    def grid(self):
        """Blocks in a column and in a row, those that reach beyond the shape included."""
        return tuple(-(-s // self.block_size) for s in self.shape)

    @property
    def n_blocks(self):
        return int(self.blocks.shape[0])

    @property
    def nnz(self):
        """Stored elements: block_size squared for each block."""
        return self.n_blocks * self.block_size ** 2

    @property
    def dtype(self):
        return self.blocks.dtype

    @property
    def density(self):
        """The share of blocks that are stored."""
        total = self.grid[0] * self.grid[1]
        return self.n_blocks / total if total else 0.0

    def __repr__(self):
        return (f"BSRMatrix(shape={self.shape}, block_size={self.block_size}, n_blocks={self.n_blocks}, "
                f"block_density={self.density:.4f})")

    @classmethod
    def from_dense(cls, A, block_size=128, threshold=0.0):
        """Blocks that have an element with |a| > threshold."""
        A = _matrix(A)
        b = _block_size(block_size)
        m, n = A.shape
        mb, nb = -(-m // b), -(-n // b)
        if (mb * b, nb * b) != (m, n):
            padded = v.zeros(A, (mb * b, nb * b))
            padded[:m, :n] = A
            A = padded
        grid = v.permuted(A.reshape(mb, b, nb, b), (0, 2, 1, 3)).reshape(mb * nb, b, b)
        largest = np.abs(to_numpy(grid, "A")).max(axis=(1, 2), initial=0)
        kept = np.flatnonzero(~(largest <= threshold))
        blocks = v.contiguous(v.take(grid, kept))
        return cls(blocks, v.indices_like(blocks, kept % max(1, nb)),
                   v.indices_like(blocks, v.starts_of(kept // max(1, nb), mb)), (m, n), b)

    @classmethod
    def from_csr(cls, csr, block_size=128, threshold=0.0):
        """The blocks that have an element with |a| > threshold."""
        return csr.to_bsr(block_size, threshold)

    @classmethod
    def _from_triplets(cls, rows, columns, values, shape, block_size, threshold):
        b = _block_size(block_size)
        rows, columns, values = _sorted(shape, rows, columns, values)
        nb = max(1, -(-shape[1] // b))
        keys = rows // b * nb + columns // b
        large = ~(np.abs(to_numpy(values, "values")) <= threshold)
        kept = np.unique(keys[large])
        block = np.searchsorted(kept, keys)
        inside = np.flatnonzero((block < len(kept)) & (kept[np.minimum(block, len(kept) - 1)] == keys)
                                if len(kept) else np.zeros(len(keys), bool))
        places = (block[inside] * b + rows[inside] % b) * b + columns[inside] % b
        blocks = v.placed(v.take(values, inside), places, len(kept) * b * b).reshape(len(kept), b, b)
        return cls(blocks, v.indices_like(blocks, kept % nb),
                   v.indices_like(blocks, v.starts_of(kept // nb, -(-shape[0] // b))), shape, b)

    def _triplets(self):
        b = self.block_size
        block_rows = v.ids_of(self._starts)
        inner = np.arange(b, dtype=np.int64)
        rows = np.broadcast_to(block_rows[:, None, None] * b + inner[None, :, None], (self.n_blocks, b, b)).reshape(-1)
        columns = np.broadcast_to(self._columns[:, None, None] * b + inner[None, None, :],
                                  (self.n_blocks, b, b)).reshape(-1)
        flat = self.blocks.reshape(-1)
        inside = np.flatnonzero((rows < self.shape[0]) & (columns < self.shape[1]))
        if len(inside) == len(rows):
            return rows, columns, flat
        return rows[inside], columns[inside], v.take(flat, inside)

    def to_csr(self):
        """The elements that are not zero."""
        rows, columns, values = _sorted(self.shape, *self._triplets())
        kept = np.flatnonzero(to_numpy(values, "blocks") != 0)
        rows, columns, values = rows[kept], columns[kept], v.take(values, kept)
        return CSRMatrix(values, v.indices_like(values, columns),
                         v.indices_like(values, v.starts_of(rows, self.shape[0])), self.shape)

    def _mapped(self, function):
        keys = v.ids_of(self._starts) * max(1, self.grid[1]) + self._columns
        places, ids = np.unique(keys, return_inverse=True)
        blocks = function(v.placed(self.blocks, ids, len(places)))
        return BSRMatrix(blocks, v.indices_like(blocks, places % max(1, self.grid[1])),
                         v.indices_like(blocks, v.starts_of(places // max(1, self.grid[1]), self.grid[0])), self.shape,
                         self.block_size)

    def transpose(self):
        block_rows = v.ids_of(self._starts)
        order = np.lexsort((block_rows, self._columns))
        blocks = v.contiguous(v.permuted(v.take(self.blocks, order), (0, 2, 1)))
        return BSRMatrix(blocks, v.indices_like(blocks, block_rows[order]),
                         v.indices_like(blocks, v.starts_of(self._columns[order], self.grid[1])), self.shape[::-1],
                         self.block_size)


def _block_size(value):
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise v.ShapeError(f"block_size: {value!r}, expected a positive integer")
    return int(value)


def _matrix(A, name="A"):
    if not hasattr(A, "shape"):
        A = np.asarray(A)
    v.require(len(A.shape) == 2, f"{name}: {len(A.shape)} dimensions, expected 2")
    return A


def from_dense(A, threshold=0.0):
    """The elements of a dense matrix with |a| > threshold, as CSR."""
    A = _matrix(A)
    m, n = A.shape
    places = np.flatnonzero(~(np.abs(to_numpy(A, "A")).reshape(-1) <= threshold))
    values = v.take(A.reshape(-1), places)
    return CSRMatrix(values, v.indices_like(values, places % max(1, n)),
                     v.indices_like(values, v.starts_of(places // max(1, n), m)), (m, n))


def from_scipy(matrix, dtype=None):
    """A matrix of scipy.sparse as CSR, float32 unless another dtype is given; torch tensors where torch is loaded."""
    if not hasattr(matrix, "tocsr"):
        raise TypeError(f"matrix: {type(matrix).__name__}, expected one of scipy.sparse; from_dense takes dense ones")
    csr = matrix.tocsr()
    if csr.dtype.kind == "c":
        raise TypeError(f"matrix: elements are {csr.dtype}; sparse operations are for real ones")
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    torch = v.default_torch()
    if torch is None or isinstance(dtype, (np.dtype, type)):
        values = np.array(csr.data, dtype or np.float32)
    else:
        values = torch.tensor(csr.data).to(dtype or torch.float32)
    return CSRMatrix(values, v.indices_like(values, csr.indices), v.indices_like(values, csr.indptr), csr.shape)


def eye_sparse(n, dtype=None):
    """The identity as CSR, float32 unless another dtype is given; torch tensors where torch is loaded."""
    n = v.size_of(n, "n")
    torch = v.default_torch()
    if torch is None or isinstance(dtype, (np.dtype, type)):
        values = np.ones(n, dtype or np.float32)
    else:
        values = torch.ones(n, dtype=dtype or torch.float32)
    return CSRMatrix(values, v.indices_like(values, np.arange(n)), v.indices_like(values, np.arange(n + 1)), (n, n))
