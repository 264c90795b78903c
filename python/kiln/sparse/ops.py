"""Operations on sparse matrices. Names and signatures are those of trnsparse where it has them; every function also
takes `backend=`. Matrices of any format go where CSR is written; BSR stays blocks in bsr_* operations."""

import numpy as np

from kiln import blas
from kiln.blas._arrays import to_numpy, torch_of

from . import _native as native
from . import _plain as plain
from . import _values as v
from ._autograd import node, wants_gradient
from ._backend import routine
from .attention import (  # noqa: F401  block_sparse_attention is the longer form of the other
    _block_sparse_attn_backward, _block_sparse_attn_pytorch, block_sparse_attention, block_sparse_attention_tiled,
)
from .formats import BSRMatrix, COOMatrix, CSRMatrix
from .screening import root_of_threshold

__all__ = ["block_sparse_attention", "block_sparse_attention_tiled", "bsr_sddmm", "bsr_spmm", "nnz_per_row",
           "screened_spmm", "sddmm", "sparse_add", "sparse_multiply", "sparse_scale", "sparse_transpose", "spgemm",
           "spmm", "spmv", "spmv_symmetric"]


def _csr(A, name="A"):
    if isinstance(A, CSRMatrix):
        return A
    if not hasattr(A, "to_csr"):
        hint = "; from_scipy takes those of SciPy" if hasattr(A, "tocsr") else ""
        raise TypeError(f"{name}: {type(A).__name__}, expected a sparse matrix of this package{hint}")
    return A.to_csr()


def _dense(form, B, rows, name, against):
    array = form.array(v.array_of(B, name), name)
    v.require(array.ndim == 2, f"{name}: {array.ndim} dimensions, expected 2")
    v.require(array.shape[0] == rows, f"{name}: Dimension mismatch: {against}, {name} is {array.shape}")
    return array


class _Pattern:
    """The places of a CSR matrix, and those of its transpose."""

    def __init__(self, A):
        self.shape, self.starts, self.columns = A.shape, A._starts, A._columns
        self._turned = None

    def turned(self):
        """(pattern of the transpose, for each of its elements which one of ours it is)."""
        if self._turned is None:
            rows = v.ids_of(self.starts)
            order = np.lexsort((rows, self.columns))
            other = object.__new__(_Pattern)
            other.shape, other.columns = self.shape[::-1], rows[order]
            other.starts, other._turned = v.starts_of(self.columns[order], self.shape[1]), None
            self._turned = other, order
        return self._turned


def _scaled(factor, array):
    return array if not torch_of(factor) and factor == 1.0 else blas.scal(factor, array)


def _spmm(pattern, values, B, alpha=1.0, C=None, beta=0.0):
    """alpha A B + beta C as a node of values, B, C, alpha and beta."""
    reads_c = C is not None and (wants_gradient(beta) or beta != 0.0)

    def forward(values, B, C, alpha, beta):
        form = native.form_of(values, "A")
        b = _dense(form, B, pattern.shape[1], "B", f"A is {pattern.shape}")
        c = v.contiguous(form.array(C, "C", 2)) if reads_c else None
        if c is not None:
            v.require(c.shape == (pattern.shape[0], b.shape[1]),
                      f"C: its shape is {c.shape}, expected {(pattern.shape[0], b.shape[1])}")
        return form.result(native.spmm(pattern.shape, pattern.starts, pattern.columns, form.array(values, "A"), b,
                                       form.scalar(alpha, "alpha"), c,
                                       form.scalar(beta, "beta") if reads_c else 0.0)), None

    def backward(g, _, wanted, values, B, C, alpha, beta):
        g = g.contiguous()
        turned, order = pattern.turned()
        sampled = _sddmm(pattern, g, B) if wanted[0] or wanted[3] else None
        return (_scaled(alpha, sampled) if wanted[0] else None,
                _spmm(turned, v.take(values, order), g, alpha) if wanted[1] else None,
                (_scaled(beta, g) if reads_c else g * 0) if wanted[2] else None,
                _of_factor(alpha, values, sampled) if wanted[3] else None,
                _of_factor(beta, C.reshape(-1), g.reshape(-1)) if wanted[4] and reads_c else None)

    return node(forward, backward, values, B, C, alpha, beta)


def _of_factor(factor, x, g):
    """The gradient of a factor of x."""
    return blas.dot(x, g).to(factor.dtype).reshape(factor.shape)


def _sddmm(pattern, X, Y):
    """The elements of X Y^T at the places of a pattern, as a node of X and Y."""

    def forward(X, Y):
        form = native.form_of(X, "X")
        x = _dense(form, X, pattern.shape[0], "X", f"the pattern is {pattern.shape}")
        y = _dense(form, Y, pattern.shape[1], "Y", f"the pattern is {pattern.shape}")
        v.require(x.shape[1] == y.shape[1], f"Y: {y.shape[1]} columns, X has {x.shape[1]}")
        return form.result(native.sddmm(pattern.shape, pattern.starts, pattern.columns, x, y)), None

    def backward(g, _, wanted, X, Y):
        turned, order = pattern.turned()
        return (_spmm(pattern, g, Y) if wanted[0] else None,
                _spmm(turned, v.take(g, order), X) if wanted[1] else None)

    return node(forward, backward, X, Y)


@routine(plain=plain.spmm)
def spmm(A, B, alpha=1.0, C=None, beta=0.0):
    """alpha A B + beta C of a sparse and a dense matrix."""
    A = _csr(A)
    return _spmm(_Pattern(A), A.values, B, alpha, C, beta)


@routine(plain=plain.spmv)
def spmv(A, x, alpha=1.0, y=None, beta=0.0):
    """alpha A x + beta y of a sparse matrix and a vector."""
    A, x = _csr(A), v.array_of(x, "x")
    v.require(len(x.shape) == 1 and x.shape[0] == A.shape[1],
              f"x: Dimension mismatch: A is {A.shape}, x is {tuple(x.shape)}")
    if y is not None:
        y = v.array_of(y, "y")
        v.require(tuple(y.shape) == (A.shape[0],), f"y: its shape is {tuple(y.shape)}, expected {(A.shape[0],)}")
        y = y.reshape(-1, 1)
    return _spmm(_Pattern(A), A.values, x.reshape(-1, 1), alpha, y, beta).reshape(-1)


@routine
def spmv_symmetric(A, x, alpha=1.0, uplo="upper"):
    """alpha (A + S^T) x with S what A stores beside its diagonal: the symmetric matrix of which A is a triangle."""
    if uplo not in ("upper", "lower"):
        raise ValueError(f"uplo: {uplo!r}, expected 'upper' or 'lower'")
    A, x = _csr(A), v.array_of(x, "x")
    v.require(A.shape[0] == A.shape[1], f"A: Matrix must be square for symmetric SpMV, it is {A.shape}")
    v.require(len(x.shape) == 1 and x.shape[0] == A.shape[1],
              f"x: Dimension mismatch: A is {A.shape}, x is {tuple(x.shape)}")
    rows, columns, values = A._triplets()
    other = np.flatnonzero(rows != columns)
    joined = v.joined([values, v.take(values, other)])
    whole = COOMatrix(joined, np.concatenate([rows, columns[other]]), np.concatenate([columns, rows[other]]), A.shape)
    whole = whole.to_csr()
    return _spmm(_Pattern(whole), whole.values, x.reshape(-1, 1), alpha).reshape(-1)


@routine
def sddmm(A, X, Y):
    """The elements of X Y^T at the places that A stores, as CSR; values of A do not count."""
    A = _csr(A)
    return _like(A, _sddmm(_Pattern(A), X, Y))


def _like(A, values):
    return CSRMatrix(values, v.indices_like(values, A._columns), v.indices_like(values, A._starts), A.shape)


def _placed_as(A, keys):
    """For each key (row * columns + column) of an ascending list, where A has it, or -1."""
    have = v.ids_of(A._starts) * A.shape[1] + A._columns
    at = np.searchsorted(have, keys)
    at = np.minimum(at, max(0, len(have) - 1))
    return np.where(have[at] == keys, at, -1) if len(have) else np.full(len(keys), -1)


def _keys(A):
    return v.ids_of(A._starts) * A.shape[1] + A._columns


def _spread(A, keys):
    """The values of A at the places of an ascending list of keys that has all of its own."""
    return v.placed(A.values, np.searchsorted(keys, _keys(A)), len(keys))


def _from_keys(keys, values, shape):
    width = max(1, shape[1])
    return CSRMatrix(values, v.indices_like(values, keys % width),
                     v.indices_like(values, v.starts_of(keys // width, shape[0])), shape)


def _canonical(A, name):
    """By rows with ascending columns, each place once."""
    A = _csr(A, name)
    keys = _keys(A)
    return A if np.all(keys[1:] > keys[:-1]) else A.to_csr()


@routine
def sparse_add(A, B, alpha=1.0, beta=1.0):
    """alpha A + beta B, with all places that one of them has."""
    A, B = _canonical(A, "A"), _canonical(B, "B")
    v.require(A.shape == B.shape, f"B: Shape mismatch: {A.shape} vs {B.shape}")
    keys = np.union1d(_keys(A), _keys(B))
    left, right = _spread(A, keys), _spread(B, keys)
    total = blas.axpy(alpha, left, _scaled(beta, right)) if len(keys) else left
    return _from_keys(keys, total, A.shape)


@routine
def dense_add(A, B, beta=1.0):
    """A + beta B with a dense B, dense."""
    B = v.array_of(B, "B")
    v.require(tuple(B.shape) == A.shape, f"B: Shape mismatch: {A.shape} vs {tuple(B.shape)}")
    left = A.to_dense().reshape(-1)
    return blas.axpy(beta, B.reshape(-1), left).reshape(A.shape) if left.shape[0] else left.reshape(A.shape)


@routine
def sparse_multiply(A, B):
    """A times B element by element; B is sparse, or dense with as many rows and columns, or one of either."""
    A = _canonical(A, "A")
    if hasattr(B, "to_csr"):
        B = _canonical(B, "B")
        v.require(A.shape == B.shape, f"B: Shape mismatch: {A.shape} vs {B.shape}")
        at = _placed_as(B, _keys(A))
        mine, theirs = np.flatnonzero(at >= 0), at[at >= 0]
        left, right, keys = v.take(A.values, mine), v.take(B.values, theirs), _keys(A)[mine]
    else:
        B = v.array_of(B, "B")
        keys, shape = _keys(A), tuple(B.shape)
        v.require(shape in (A.shape, (1, A.shape[1]), A.shape[1:], (A.shape[0], 1)),
                  f"B: Shape mismatch: {A.shape} vs {shape}")
        places = {A.shape: keys, (A.shape[0], 1): v.ids_of(A._starts)}.get(shape, A._columns)
        left, right = A.values, v.take(B.reshape(-1), places)
    return _from_keys(keys, _product(left, right), A.shape)


def _product(x, y):
    """x y element by element: a product with a diagonal matrix."""

    def forward(x, y):
        form = native.form_of(x, "A")
        if not len(x):
            return form.result(form.array(x, "A")), None
        diagonal = _Diagonal(len(x))
        return form.result(native.spmm(diagonal.shape, diagonal.starts, diagonal.columns, form.array(x, "A"),
                                       form.array(y, "B").reshape(-1, 1)).reshape(-1)), None

    def backward(g, _, wanted, x, y):
        return _product(g, y) if wanted[0] else None, _product(g, x) if wanted[1] else None

    return node(forward, backward, x, y)


class _Diagonal:
    def __init__(self, n):
        self.shape, self.starts, self.columns = (n, n), np.arange(n + 1), np.arange(n)


@routine
def sparse_scale(A, alpha):
    """alpha A, in the format of A."""
    if isinstance(A, BSRMatrix):
        scaled = blas.scal(alpha, A.blocks.reshape(-1)).reshape(A.blocks.shape) if A.n_blocks else A.blocks
        return BSRMatrix(scaled, v.copied(A.block_col_indices), v.copied(A.block_row_ptrs), A.shape, A.block_size)
    csr = _csr(A)
    values = blas.scal(alpha, csr.values) if csr.nnz else csr.values
    scaled = CSRMatrix(values, v.copied(csr.col_indices), v.copied(csr.row_ptrs), csr.shape)
    return scaled if isinstance(A, CSRMatrix) else scaled._as(type(A), A)


def sparse_transpose(A):
    """The transpose, in the format of A."""
    return A.transpose()


def nnz_per_row(A):
    """The number of elements of each row."""
    A = _csr(A)
    return A.row_ptrs[1:] - A.row_ptrs[:-1]


@routine
def spgemm(A, B):
    """A B of two sparse matrices, as CSR with every place that some product falls on."""
    A, B = _canonical(A, "A"), _canonical(B, "B")
    v.require(A.shape[1] == B.shape[0], f"B: Dimension mismatch: A is {A.shape}, B is {B.shape}")
    found = {}

    def forward(a, b):
        form = native.form_of(a, "A")
        starts, columns, values = native.spgemm(
            A.shape, (A._starts, A._columns, form.array(a, "A")), B.shape, (B._starts, B._columns, form.array(b, "B")))
        found["places"] = starts, columns
        return form.result(values), None

    def backward(g, _, wanted, a, b):
        G = CSRMatrix(g, found["places"][1], found["places"][0], (A.shape[0], B.shape[1]))
        return (_sampled(spgemm(G, _with(B, b).transpose()), A) if wanted[0] else None,
                _sampled(spgemm(_with(A, a).transpose(), G), B) if wanted[1] else None)

    values = node(forward, backward, A.values, B.values)
    starts, columns = found["places"]
    return CSRMatrix(values, v.indices_like(values, columns), v.indices_like(values, starts), (A.shape[0], B.shape[1]))


def _with(A, values):
    return CSRMatrix(values, A._columns, A._starts, A.shape)


def _sampled(G, A):
    """The elements of G at the places of A; zero where it has none."""
    at = _placed_as(G, _keys(A))
    have = np.flatnonzero(at >= 0)
    return v.placed(v.take(G.values, at[have]), have, A.nnz)


def _bsr_spmm(A, blocks, B):
    def forward(blocks, B):
        form = native.form_of(blocks, "A")
        b = _dense(form, B, A.shape[1], "B", f"A is {A.shape}")
        found = native.bsr_spmm(A.shape, A.block_size, A._starts, A._columns, form.array(blocks, "A"), b)
        return form.result(found), None

    def backward(g, _, wanted, blocks, B):
        g = g.contiguous()
        mine = BSRMatrix(blocks, A._columns, A._starts, A.shape, A.block_size)
        turned = mine.transpose() if wanted[1] else None
        return (_bsr_sddmm(A, g, B) if wanted[0] else None,
                _bsr_spmm(turned, turned.blocks, g) if wanted[1] else None)

    return node(forward, backward, blocks, B)


def _bsr_sddmm(A, X, Y):
    def forward(X, Y):
        form = native.form_of(X, "X")
        x = _dense(form, X, A.shape[0], "X", f"the pattern is {A.shape}")
        y = _dense(form, Y, A.shape[1], "Y", f"the pattern is {A.shape}")
        v.require(x.shape[1] == y.shape[1], f"Y: {y.shape[1]} columns, X has {x.shape[1]}")
        return form.result(native.bsr_sddmm(A.shape, A.block_size, A._starts, A._columns, x, y)), None

    def backward(g, _, wanted, X, Y):
        mine = BSRMatrix(g, A._columns, A._starts, A.shape, A.block_size)
        turned = mine.transpose() if wanted[1] else None
        return (_bsr_spmm(mine, g, Y) if wanted[0] else None,
                _bsr_spmm(turned, turned.blocks, X) if wanted[1] else None)

    return node(forward, backward, X, Y)


def _bsr(A, name="A"):
    if not isinstance(A, BSRMatrix):
        raise TypeError(f"{name}: {type(A).__name__}, expected a BSRMatrix")
    return A


@routine
def bsr_spmm(A, B):
    """A B of a matrix of blocks and a dense matrix."""
    return _bsr_spmm(_bsr(A), A.blocks, B)


def _bsr_spmm_pytorch(A, B):
    """The same, natively."""
    return bsr_spmm(A, B, backend="native")


@routine
def bsr_sddmm(A, X, Y):
    """The blocks of X Y^T that A stores, as BSR; values of A do not count."""
    blocks = _bsr_sddmm(_bsr(A), X, Y)
    return BSRMatrix(blocks, v.indices_like(blocks, A._columns), v.indices_like(blocks, A._starts), A.shape,
                     A.block_size)


def _bound(diagonal, form, size, name):
    array = form.array(diagonal, name)
    v.require(array.ndim == 1, f"{name}: diag_integrals must be 1-D; got shape {array.shape}")
    v.require(len(array) == size, f"{name}: {len(array)} bounds for {size}; A has one for each row, and each column")
    return np.sqrt(np.abs(array))


@routine
def screened_spmm(A, diag_integrals, B, threshold, column_integrals=None):
    """(A where Q_i Q_j > sqrt(threshold), else 0) B, with Q = sqrt(|diag_integrals|). With `column_integrals` the
    columns have bounds of their own, and A may be rectangular. What is screened out is not read."""
    limit_of_pairs = root_of_threshold(threshold)

    def bounds(form, shape):
        if column_integrals is None:
            v.require(shape[0] == shape[1],
                      f"A: screened_spmm requires square A with diag_integrals of matching length, or "
                      f"column_integrals; got A shape {shape}")
        columns = diag_integrals if column_integrals is None else column_integrals
        return (_bound(diag_integrals, form, shape[0], "diag_integrals"),
                _bound(columns, form, shape[1], "diag_integrals" if column_integrals is None else "column_integrals"),
                float(form.compute.type(limit_of_pairs)))

    def forward(A, B):
        form = native.form_of(A, "A")
        a = form.array(A, "A", 2)
        found = bounds(form, a.shape)
        return form.result(native.screened_spmm(a, *found, _dense(form, B, a.shape[1], "B", f"A is {a.shape}"))), None

    def backward(g, _, wanted, A, B):
        return _screened_gradients(g.contiguous(), A, B, wanted, bounds)

    return node(forward, backward, A, B)


def _screened_gradients(g, A, B, wanted, bounds):
    form = native.form_of(A, "A")
    rows, columns, limit = bounds(form, tuple(A.shape))
    kept = form.torch.from_numpy((rows[:, None] * columns[None, :]) > limit).to(A.device)

    def turned(A, g):
        """(A, screened)^T g."""
        found = native.screened_spmm(form.array(A, "A"), columns, rows, limit, form.array(g, "g"), True)
        return form.result(found), None

    def of_turned(h, _, wanted, A, g):
        return (blas.gemm(1.0, g, h, transB=True) * kept if wanted[0] else None,
                screened(A, h) if wanted[1] else None)

    def screened(A, h):
        forward = lambda A, h: (form.result(native.screened_spmm(  # noqa: E731
            form.array(A, "A"), rows, columns, limit, form.array(h, "h"))), None)
        return node(forward, lambda g, _, wanted, A, h: _screened_gradients(g, A, h, wanted, bounds), A, h)

    return (blas.gemm(1.0, g, B, transB=True) * kept if wanted[0] else None,
            node(turned, of_turned, A, g) if wanted[1] else None)


def is_screened(diag_integrals, threshold, column_integrals=None):
    """The mask of screened_spmm: True where an element counts."""
    form = native.form_of(diag_integrals, "diag_integrals")
    rows = _bound(diag_integrals, form, len(diag_integrals), "diag_integrals")
    columns = rows if column_integrals is None else np.sqrt(np.abs(to_numpy(column_integrals, "column_integrals")))
    kept = (rows[:, None] * columns[None, :]) > form.compute.type(root_of_threshold(threshold))
    return kept if form.torch is None else form.torch.from_numpy(kept)
