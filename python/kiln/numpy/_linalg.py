"""numpy.linalg: norms, powers, elimination and Cholesky's factors, a pass for each row."""

import math
import operator

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy._array import as_array
from kiln.numpy._axes import axes_of, axis_of
from kiln.numpy._control import for_loop
from kiln.numpy._dispatch import implements
from kiln.numpy._rules import ARGUMENT, refuse


def floating(x):
    x = as_array(x)
    dtype = _dtypes.narrow(x.dtype)
    if _dtypes.is_float(dtype) and dtype.itemsize == 2 and dtype.kind == "f":
        refuse(ARGUMENT, "numpy.linalg of float16", "cast to float32", kind=TypeError)
    return x if _dtypes.is_float(dtype) else x.astype(np.float32)


def _real(x):
    x = as_array(x)
    return x if _dtypes.is_float(_dtypes.narrow(x.dtype)) else x.astype(np.float32)


@implements(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = _real(x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            made = np.sqrt(np.sum(np.square(x)))
            return made.reshape((1,) * x.ndim) if keepdims else made
        axis = tuple(range(x.ndim))
    axes = tuple(axis_of(a, x.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(axes) == 1:
        return _vector(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _vector(x, ord, axis, keepdims):
    a = np.abs(x)
    if ord == math.inf:
        return np.max(a, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return np.min(a, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(x != 0, axis=axis, keepdims=keepdims).astype(x.dtype)
    if ord == 1:
        return np.sum(a, axis=axis, keepdims=keepdims)
    if ord is None or ord == 2:
        return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    return np.sum(a ** float(ord), axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _matrix(x, ord, axes, keepdims):
    row, column = axes
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return np.sqrt(np.sum(np.square(x), axis=axes, keepdims=keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (row, column) if abs(ord) == 1 else (column, row)
        sums = np.sum(np.abs(x), axis=first, keepdims=True)
        made = (np.max if ord > 0 else np.min)(sums, axis=second, keepdims=True)
        return made if keepdims else np.squeeze(made, axis=axes)
    if ord in (2, -2, "nuc"):
        from kiln.numpy._factors import spectral_norm

        return spectral_norm(x, ord, axes, keepdims)
    raise ValueError("Invalid norm order for matrices.")


@implements(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = _real(x)
    axes = axes_of(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    flat = x.transpose([*kept, *axes]).reshape([x.shape[i] for i in kept] + [-1])
    made = _vector(flat, ord, flat.ndim - 1, False)
    return made.reshape([1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else made


@implements(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    x = _real(x)
    return _matrix(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


@implements(np.linalg.matrix_power)
def matrix_power(a, n):
    x = as_array(a)
    square(x)
    n = operator.index(n)
    if n == 0:
        return np.broadcast_to(np.eye(x.shape[-1], dtype=_dtypes.narrow(x.dtype)), x.shape).copy()
    if n < 0:
        x, n = inv(x), -n
    made = None
    while n:
        if n & 1:
            made = x if made is None else np.matmul(made, x)
        n >>= 1
        x = np.matmul(x, x) if n else x
    return made.copy() if made._parent is not None else made


@implements(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    if out is not None:
        refuse(ARGUMENT, "numpy.linalg.multi_dot(out=...)")
    arrays = [as_array(a) for a in arrays]
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    return _chain(arrays)


def _chain(arrays):
    """The products in the order with the fewest multiplications."""
    n = len(arrays)
    dims = [arrays[0].shape[0] if arrays[0].ndim > 1 else 1, *(
        a.shape[1] if a.ndim > 1 else (a.shape[0] if i == 0 else 1) for i, a in enumerate(arrays))]
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            options = [(cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1], k) for k in range(i, j)]
            cost[i, j], cut[i, j] = min(options)

    def product(i, j):
        return arrays[i] if i == j else np.matmul(product(i, cut[i, j]), product(cut[i, j] + 1, j))

    return product(0, n - 1)


# Elimination.

_UNROLLED = 8  # rows of which each is a pass of its own; more are a loop


def square(x):
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def _passes(n, step, state):
    """step(k, state) for k from 0 on."""
    if n > _UNROLLED:
        return for_loop(n, step, state)
    for k in range(n):
        state = step(k, state)
    return state


def _pivoted(work, k, rows):
    """(the row with the largest element of column k from row k on, where it was, the rows with row k in its place)."""
    column = np.where(rows >= k, np.abs(work[..., :, k]), np.float32(-1))
    best = np.argmax(column, axis=-1, keepdims=True)  # [..., 1]
    is_best = rows == best
    chosen = np.sum(np.where(is_best[..., None], work, np.float32(0)), axis=-2, keepdims=True)
    return chosen, best, np.where((is_best & (rows != k))[..., None], work[..., k, None, :], work)


def _eliminated(x, rest):
    """What `rest` becomes when x becomes the identity: Gauss-Jordan with the largest pivot of each column."""
    n = x.shape[-1]
    rows = np.arange(n, dtype=np.int32)

    def step(k, work):
        chosen, _, work = _pivoted(work, k, rows)
        scaled = chosen / chosen[..., :, k, None]
        return np.where((rows == k)[:, None], scaled, work - work[..., :, k, None] * scaled)

    return _passes(n, step, np.concatenate([x, rest], axis=-1))[..., n:]


@implements(np.linalg.inv)
def inv(a):
    x = floating(a)
    square(x)
    if x.size == 0:
        return x.copy()
    eye = np.broadcast_to(np.eye(x.shape[-1], dtype=np.float32), x.shape)
    return _eliminated(x, as_array(eye))


@implements(np.linalg.solve)
def solve(a, b):
    x, y = floating(a), floating(b)
    square(x)
    is_vector = y.ndim == 1
    y = y.reshape(-1, 1) if is_vector else y
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = np.broadcast_to(x, batch + x.shape[-2:])
    y = np.broadcast_to(y, batch + y.shape[-2:])
    if x.size == 0 or y.size == 0:
        made = y.copy()
    else:
        made = _eliminated(x, y)
    return made[..., 0] if is_vector else made


@implements(np.linalg.det)
def det(a):
    x = floating(a)
    square(x)
    n = x.shape[-1]
    if n == 1:
        return x[..., 0, 0]
    if n == 2:
        return x[..., 0, 0] * x[..., 1, 1] - x[..., 0, 1] * x[..., 1, 0]
    pivots, swaps = _triangular(x)
    return np.prod(np.concatenate([pivots, swaps], axis=-1), axis=-1)


def _triangular(x):
    """Pivots and signs of an elimination downwards; a column without a pivot gives 0."""
    n = x.shape[-1]
    rows = np.arange(n, dtype=np.int32)
    places = rows

    def step(k, state):
        work, pivots, swaps = state
        chosen, best, work = _pivoted(work, k, rows)
        pivot = chosen[..., :, k, None]
        factor = work[..., :, k, None] / np.where(pivot == 0, np.float32(1), pivot)
        work = np.where((rows > k)[:, None], work - factor * chosen, work)
        here = places == k
        swap = np.where(best == k, np.float32(1), np.float32(-1))
        return work, np.where(here, pivot[..., 0], pivots), np.where(here, swap, swaps)

    ones = np.ones((*x.shape[:-2], n), np.float32)
    return _passes(n, step, (x, ones, ones))[1:]


@implements(np.linalg.slogdet)
def slogdet(a):
    x = floating(a)
    square(x)
    from numpy.linalg._linalg import SlogdetResult

    if x.shape[-1] == 0:
        return SlogdetResult(np.ones(x.shape[:-2], np.float32), np.zeros(x.shape[:-2], np.float32))
    pivots, swaps = _triangular(x)
    sign = np.prod(np.concatenate([np.sign(pivots), swaps], axis=-1), axis=-1)
    return SlogdetResult(sign, np.sum(np.log(np.abs(pivots)), axis=-1))


@implements(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    x = floating(a)
    square(x)
    n = x.shape[-1]
    rows = np.arange(n, dtype=np.int32)
    if upper:
        x = np.swapaxes(x, -1, -2)

    def step(k, work):
        """Column k is done, and its products are taken from the columns behind it."""
        pivot = work[..., k, None, k, None] if isinstance(k, int) else work[..., k, :][..., None, k, None]
        column = np.where((rows >= k)[:, None], work[..., :, k, None] / np.sqrt(pivot), np.float32(0))
        left = work - column * np.swapaxes(column, -1, -2)
        return np.where(rows == k, column, np.where(rows > k, left, work))

    made = np.tril(_passes(n, step, x.copy()))
    return np.swapaxes(made, -1, -2).copy() if upper else made


@implements(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    x, y = as_array(a), as_array(b)
    if axes is not None:
        rest = [k for k in range(x.ndim) if k not in axes]
        x = x.transpose([*rest, *axes])
    shape = x.shape[y.ndim:]
    return solve(x.reshape(y.size, -1), y.reshape(-1)).reshape(shape)


@implements(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    x = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = x.shape[ind:] + x.shape[:ind]
    size = int(np.prod(x.shape[ind:]))
    return inv(x.reshape(size, -1)).reshape(shape)
