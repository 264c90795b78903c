"""NumPy's functions that move elements: shapes, joining, splitting, repeating, padding."""

import operator

import numpy as np

from kiln.numpy import _dtypes, _lenses
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, node_of
from kiln.numpy._axes import axes_of, axis_of
from kiln.numpy._dispatch import implements, write_out
from kiln.numpy._rules import ARGUMENT, DYNAMIC_SHAPE, refuse


@implements(np.shape)
def shape(a):
    return as_array(a).shape


@implements(np.ndim)
def ndim(a):
    return as_array(a).ndim


@implements(np.size)
def size(a, axis=None):
    x = as_array(a)
    out = 1
    for i in axes_of(axis, x.ndim):
        out *= x.shape[i]
    return out


@implements(np.reshape, view=True)
def reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    if shape is None:
        shape = newshape
    return as_array(a).reshape(shape, order=order, copy=copy)


@implements(np.ravel, view=True)
def ravel(a, order="C"):
    x = as_array(a)
    if order == "K":  # the axes with the longest strides first
        strides = x._shadow().strides
        return x.transpose(sorted(range(x.ndim), key=lambda i: -abs(strides[i]))).reshape(-1)
    return x.reshape(-1, order=order)


@implements(np.transpose, np.permute_dims, view=True)
def transpose(a, axes=None):
    x = as_array(a)
    return x.transpose() if axes is None else x.transpose(tuple(axes))


@implements(np.matrix_transpose, np.linalg.matrix_transpose, view=True)
def matrix_transpose(x, /):
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.transpose([*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


@implements(np.swapaxes, view=True)
def swapaxes(a, axis1, axis2):
    x = as_array(a)
    perm = list(range(x.ndim))
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    perm[i], perm[j] = perm[j], perm[i]
    return x.transpose(perm)


def _each_axis(axes, ndim):
    """The axes that a number or any sequence of numbers names."""
    return [axis_of(a, ndim) for a in (axes if np.iterable(axes) else (axes,))]


@implements(np.moveaxis, view=True)
def moveaxis(a, source, destination):
    x = as_array(a)
    source, destination = _each_axis(source, x.ndim), _each_axis(destination, x.ndim)
    for name, axes in (("source", source), ("destination", destination)):
        if len(set(axes)) != len(axes):
            raise ValueError(f"repeated axis in `{name}` argument")
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    perm = [i for i in range(x.ndim) if i not in source]
    for d, s in sorted(zip(destination, source)):
        perm.insert(d, s)
    return x.transpose(perm)


@implements(np.rollaxis, view=True)
def rollaxis(a, axis, start=0):
    x = as_array(a)
    axis = axis_of(axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise np.exceptions.AxisError(f"start is {start}, of an array of {x.ndim} dimensions")
    start = start + x.ndim if start < 0 else start
    start -= axis < start
    perm = list(range(x.ndim))
    perm.remove(axis)
    perm.insert(start, axis)
    return x.transpose(perm)


@implements(np.expand_dims, view=True)
def expand_dims(a, axis):
    x = as_array(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of(i, x.ndim + len(axes)) for i in axes]
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    rest = iter(x.shape)
    return x.reshape([1 if i in axes else next(rest) for i in range(x.ndim + len(axes))])


@implements(np.squeeze, view=True)
def squeeze(a, axis=None):
    x = as_array(a)
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axis is None else axes_of(axis, x.ndim)
    if any(x.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _at_least(n, place):
    def op(*arrays):
        made = [place(as_array(a)) for a in arrays]
        return made[0] if len(made) == 1 else tuple(made)

    return op


def _at_least_3(x):
    if x.ndim == 2:
        return x.reshape((*x.shape, 1))
    return x.reshape((1, x.shape[0], 1)) if x.ndim == 1 else x.reshape((1, 1, 1)) if x.ndim == 0 else x


implements(np.atleast_1d, view=True)(_at_least(1, lambda x: x if x.ndim else x.reshape(1)))
implements(np.atleast_2d, view=True)(
    _at_least(2, lambda x: x if x.ndim > 1 else x.reshape((1, -1) if x.size else (1, 0)))
)
implements(np.atleast_3d, view=True)(_at_least(3, _at_least_3))


@implements(np.broadcast_to, view=True)
def broadcast_to(array, shape, subok=False):
    x = as_array(array)
    shape = (
        (operator.index(shape),) if isinstance(shape, (int, np.integer)) else tuple(operator.index(n) for n in shape)
    )
    if np.broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"cannot broadcast {x.shape} to {shape}")
    lens = _lenses.ReadOnly(lambda node: ops.broadcast_to(node, shape), lambda a: np.broadcast_to(a, shape))
    return x._view(lens, shape)


@implements(np.broadcast_arrays, view=True)
def broadcast_arrays(*args, subok=False):
    arrays = [as_array(a) for a in args]
    common = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(broadcast_to(a, common) for a in arrays)


@implements(np.copy)
def copy(a, order="K", subok=False):
    made = Array(node_of(a))
    made._is_cell = True
    return made


@implements(np.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    dtype = np.dtype(dtype)
    known = x._known()
    if known is not None:
        with np.errstate(all="ignore"):
            made = Array(const=known.astype(dtype))
    elif not copy and x.dtype == _dtypes.narrow(dtype):
        return x
    else:
        made = Array(ops.cast(x._get(), _dtypes.requested(dtype)))
    made._is_cell = x._is_cell
    return made


@implements(np.lib.stride_tricks.sliding_window_view, view=True)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    x = as_array(x)
    if writeable:
        refuse(ARGUMENT, "sliding_window_view(writeable=True)", "write to the array itself")
    window = (window_shape,) if isinstance(window_shape, (int, np.integer)) else tuple(window_shape)
    axes = list(range(x.ndim)) if axis is None else [axis_of(a, x.ndim) for a in np.atleast_1d(axis).tolist()]
    if len(axes) != len(window):
        raise ValueError("Must provide matching length window_shape and axis")
    shape = list(x.shape)
    for a, n in zip(axes, window):
        shape[a] -= n - 1
        if n < 0 or shape[a] < 1:
            raise ValueError("window shape cannot be larger than input array shape")
    lens = _lenses.ReadOnly(lambda node: _windows(node, window, axes), lambda host: np.lib.stride_tricks.
                            sliding_window_view(host, window, axes))
    return x._view(lens, [*shape, *window])


def _windows(node, window, axes):
    """The windows, joined from one slice for each place in them."""
    for a, n in zip(axes, window):
        count = node.shape[a] - n + 1
        parts = [ops.expand_dims(_lenses.bool_to_number(ops.cut(node, a, i, i + count)), node.ndim) for i in range(n)]
        node = ops.cast(ops.concat(parts, node.ndim), node.dtype)
    return node


# Joining.

def joined_dtype(arrays, dtype, casting):
    kinds = [a.dtype for a in arrays]
    if dtype is not None:
        for a in arrays:
            if not np.can_cast(a.dtype, np.dtype(dtype), casting):
                raise TypeError(f"Cannot cast array data from {a.dtype} to {dtype} according to the rule '{casting}'")
        return _dtypes.requested(dtype)
    return _dtypes.common(kinds, "concatenate")


@implements(np.concatenate)
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = [as_array(a) for a in arrays]
    if out is not None and dtype is not None:
        raise TypeError("np.concatenate takes `out` or `dtype`, not both")
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        arrays, axis = [a.reshape(-1) for a in arrays], 0
    first = arrays[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis_of(axis, first.ndim)
    for i, a in enumerate(arrays):
        if a.ndim != first.ndim or any(m != n for d, (m, n) in enumerate(zip(a.shape, first.shape)) if d != axis):
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, but "
                             f"array 0 has shape {first.shape} and array {i} has shape {a.shape}")
    made = joined_dtype(arrays, dtype, casting)
    is_bool = made.kind == "b"
    inner = np.dtype(np.uint8) if is_bool else made
    nodes = [ops.cast(node_of(a, made), inner) for a in arrays]
    result = Array(ops.cast(ops.concat(nodes, axis), made))
    return result if out is None else write_out(result, out, "concatenate")


@implements(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = [as_array(a) for a in arrays]
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = axis_of(axis, arrays[0].ndim + 1)
    return np.concatenate([expand_dims(a, axis) for a in arrays], axis=axis, out=out, dtype=dtype, casting=casting)


@implements(np.vstack, *([np.row_stack] if hasattr(np, "row_stack") else []))
def vstack(tup, *, dtype=None, casting="same_kind"):
    return np.concatenate([np.atleast_2d(as_array(a)) for a in tup], axis=0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    arrays = [np.atleast_1d(as_array(a)) for a in tup]
    return np.concatenate(arrays, axis=0 if arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup):
    return np.concatenate([np.atleast_3d(as_array(a)) for a in tup], axis=2)


@implements(np.column_stack)
def column_stack(tup):
    arrays = [as_array(a) for a in tup]
    return np.concatenate([a.reshape(-1, 1) if a.ndim < 2 else a for a in arrays], axis=1)


@implements(np.block)
def block(arrays):
    def depth(x):
        return 1 + max(map(depth, x)) if isinstance(x, list) else 0

    levels = depth(arrays)
    rank = max([levels, *_ranks(arrays)])

    def join(x, level):
        if not isinstance(x, list):
            a = as_array(x)
            return a.reshape((1,) * (rank - a.ndim) + a.shape)
        return np.concatenate([join(item, level + 1) for item in x], axis=rank - levels + level)

    return join(arrays, 0)


def _ranks(x):
    return [r for item in x for r in _ranks(item)] if isinstance(x, list) else [as_array(x).ndim]


@implements(np.append)
def append(arr, values, axis=None):
    if axis is None:
        return np.concatenate([as_array(arr).reshape(-1), as_array(values).reshape(-1)])
    return np.concatenate([as_array(arr), as_array(values)], axis=axis)


# Splitting.

@implements(np.array_split, view=True)
def array_split(ary, indices_or_sections, axis=0):
    x = as_array(ary)
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    if hasattr(indices_or_sections, "__len__") and np.ndim(indices_or_sections):
        ends = [operator.index(i) for i in indices_or_sections]
        bounds = [0, *ends, n]
    else:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(n, sections)
        bounds = [0]
        for i in range(sections):
            bounds.append(bounds[-1] + each + (i < extra))
    before = (slice(None),) * axis
    return [x[(*before, slice(a, b))] for a, b in zip(bounds, bounds[1:])]


@implements(np.split, view=True)
def split(ary, indices_or_sections, axis=0):
    x = as_array(ary)
    if not (hasattr(indices_or_sections, "__len__") and np.ndim(indices_or_sections)):
        if x.shape[axis_of(axis, x.ndim)] % operator.index(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


@implements(np.hsplit, view=True)
def hsplit(ary, indices_or_sections):
    x = as_array(ary)
    if x.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@implements(np.vsplit, view=True)
def vsplit(ary, indices_or_sections):
    x = as_array(ary)
    if x.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(x, indices_or_sections, 0)


@implements(np.dsplit, view=True)
def dsplit(ary, indices_or_sections):
    x = as_array(ary)
    if x.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(x, indices_or_sections, 2)


@implements(np.unstack, view=True)
def unstack(x, /, *, axis=0):
    x = np.moveaxis(as_array(x), axis, 0)
    return tuple(x[i] for i in range(x.shape[0]))


# Order.

@implements(np.flip, view=True)
def flip(m, axis=None):
    x = as_array(m)
    axes = axes_of(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim))]


@implements(np.fliplr, view=True)
def fliplr(m):
    x = as_array(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return x[:, ::-1]


@implements(np.flipud, view=True)
def flipud(m):
    x = as_array(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return x[::-1]


@implements(np.rot90, view=True)
def rot90(m, k=1, axes=(0, 1)):
    x = as_array(m)
    a, b = (axis_of(i, x.ndim) for i in axes)
    if a == b:
        raise ValueError("Axes must be different.")
    k %= 4
    if k == 0:
        return x[...]
    if k == 2:
        return np.flip(np.flip(x, a), b)
    return np.flip(np.swapaxes(x, a, b), a) if k == 1 else np.swapaxes(np.flip(x, a), a, b)


@implements(np.roll)
def roll(a, shift, axis=None):
    x = as_array(a)
    if axis is None:
        return roll(x.reshape(-1), shift, 0).reshape(x.shape)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
    many = max(len(axes), len(shifts))
    axes, shifts = (each * many if len(each) == 1 else each for each in (axes, shifts))
    if len(axes) != len(shifts):
        raise ValueError("shape mismatch: objects cannot be broadcast to a single shape")
    node = x._get()
    for s, i in zip(shifts, axes):
        i = axis_of(i, x.ndim)
        n = x.shape[i]
        if n and isinstance(s, Array) and s._known() is None:
            node = np.take(Array(node), np.remainder(np.arange(n, dtype=np.int32) - s, n), axis=i)._get()
            continue
        s = operator.index(s) % n if n else 0
        if s:
            node = ops.concat([ops.cut(node, i, n - s, n), ops.cut(node, i, 0, n - s)], i)
    return Array(node)


@implements(np.repeat)
def repeat(a, repeats, axis=None):
    x = as_array(a)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    counts = repeats._known() if isinstance(repeats, Array) else np.asarray(repeats)
    if counts is None:
        refuse(DYNAMIC_SHAPE, "np.repeat with counts that are known at run time alone", kind=ValueError)
    if counts.size == 1:
        n = int(counts.reshape(-1)[0])
        if n < 0:
            raise ValueError("repeats may not contain negative values.")
        spread = ops.broadcast_to(ops.expand_dims(x._get(), axis + 1), (*x.shape[:axis + 1], n, *x.shape[axis + 1:]))
        return Array(ops.reshape(spread, (*x.shape[:axis], x.shape[axis] * n, *x.shape[axis + 1:])))
    if counts.shape != (x.shape[axis],):
        raise ValueError(f"operands could not be broadcast together with shape ({x.shape[axis]},) {counts.shape}")
    return np.take(x, np.repeat(np.arange(x.shape[axis]), counts), axis=axis)


@implements(np.tile)
def tile(A, reps):
    x = as_array(A)
    reps = tuple(reps) if isinstance(reps, (tuple, list, np.ndarray)) else (operator.index(reps),)
    reps = (1,) * (x.ndim - len(reps)) + tuple(int(r) for r in reps)
    shape = (1,) * (len(reps) - x.ndim) + x.shape
    pairs = [(r, n) if r != 1 else (n,) for r, n in zip(reps, shape)]
    spread = [n for pair in pairs for n in pair]
    apart = [n for pair in pairs for n in ((1,) * (len(pair) - 1) + pair[-1:])]
    node = ops.broadcast_to(ops.reshape(x._get(), apart), spread)
    return Array(ops.reshape(node, [r * n for r, n in zip(reps, shape)]))


@implements(np.resize)
def resize(a, new_shape):
    x = as_array(a).reshape(-1)
    shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    count = int(np.prod(shape))
    if count and not x.size:
        return np.zeros_like(x, shape=shape)
    return tile(x, -(-count // max(x.size, 1)))[:count].reshape(shape)


# Like another array.

def _like(a, dtype, shape, number):
    dtype = as_array(a).dtype if dtype is None else np.dtype(dtype)
    shape = as_array(a).shape if shape is None else shape
    made = Array(const=np.full(shape, number, dtype))
    made._is_cell = True
    return made


@implements(np.zeros_like, np.empty_like)
def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(a, dtype, shape, 0)


@implements(np.ones_like)
def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(a, dtype, shape, 1)


@implements(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    if isinstance(fill_value, Array) and fill_value._known() is None:
        dtype = as_array(a).dtype if dtype is None else dtype
        return np.broadcast_to(fill_value, as_array(a).shape if shape is None else shape).astype(dtype)
    return _like(a, dtype, shape, fill_value)


@implements(np.real, view=True)
def real(val):
    return as_array(val)


@implements(np.imag)
def imag(val):
    return np.zeros_like(as_array(val))


