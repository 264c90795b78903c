"""NumPy's reductions: axis, keepdims, dtype, out, where, initial, ddof as NumPy has them."""

import math

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array
from kiln.numpy._axes import axes_of, axis_of
from kiln.numpy._dispatch import METHODS, implements, write_out
from kiln.numpy._dtypes import BOOL, FLOAT32, INT32, UINT32
from kiln.numpy._rules import ARGUMENT, refuse
from kiln.numpy._trace import active, user_place

_NONE = np._NoValue


def flag(keepdims):
    return False if keepdims is _NONE else bool(keepdims)


def finished(node, out, name):
    made = node if isinstance(node, Array) else Array(node)
    return made if out is None else write_out(made, out, name)


def masked(x, where, neutral):
    """x with `neutral` where the mask is false."""
    if where is _NONE or where is True:
        return x
    mask = as_array(where)
    if mask.dtype.kind != "b":
        raise TypeError("where must be of type bool")
    return np.where(np.broadcast_to(mask, np.broadcast_shapes(mask.shape, x.shape)), x,
                    np.asarray(neutral, _dtypes.narrow(x.dtype)))


def kept_shape(shape, axes, keepdims):
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def sum_dtype(dtype):
    """NumPy sums integers in the platform's: in 32 bits here."""
    if dtype.kind in "bi":
        return INT32
    return UINT32 if dtype.kind == "u" else dtype


def _doubt(node, dtype, count, op, name):
    """Notes where a sum of integers that were of a dtype, as op adds so many of them, is beyond 32 bits: parts of their
    bits are added apart, which is exact."""
    trace, (low, high) = active(), _dtypes.finite_range(_dtypes.narrow(dtype))
    is_signed = node.dtype.kind == "i"
    if trace.doubts is None or node.size == 0 or count * max(high, -low) < 2**(31 if is_signed else 32):
        return
    bits, top = 16 if count < 2**15 else 8, None
    for shift in range(0, 32, bits):
        part = ops.right_shift(node, shift) if shift else node
        part = op(ops.cast(ops.bitwise_and(part, 2**bits - 1) if shift + bits < 32 else part, INT32))
        top = part if top is None else ops.add(part, ops.right_shift(top, bits))
    least, most = (-2**(bits - 1), 2**(bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    beyond = ops.logical_or(ops.less(top, least), ops.greater(top, most))
    beyond = ops.anys(beyond, list(range(beyond.ndim)), False) if beyond.ndim else beyond
    trace.doubts.append((beyond, f"np.{name} of {dtype}{list(node.shape)}", user_place()))


def _summed(x, axis, dtype, keepdims, initial, where, op, combine, neutral, wide):
    x = as_array(x)
    before, is_widened = x.dtype, dtype is None and op is ops.sums and x.dtype.kind in "iu"
    dtype = sum_dtype(_dtypes.narrow(x.dtype)) if dtype is None else _dtypes.requested(dtype)
    axes = axes_of(axis, x.ndim)
    x = masked(x.astype(dtype) if x.dtype != dtype else x, where, neutral)
    node = x._get()
    if is_widened and axes:
        _doubt(node, before, math.prod(x.shape[i] for i in axes), lambda part: op(part, axes, keepdims), "sum")
    if dtype == BOOL:
        node = (ops.anys if op is ops.sums else ops.alls)(node, axes, keepdims)
    else:
        # 16-bit floats are summed in float32, as NumPy does within rows
        small = _dtypes.is_small_float(dtype)
        node = ops.cast(op(ops.cast(node, FLOAT32) if small else node, axes, keepdims), dtype) if axes else node
    made = Array(node)
    if initial is not _NONE and initial is not None:
        made = combine(made, initial).astype(dtype)
    return made


@implements(np.sum)
def sum_(a, axis=None, dtype=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    made = _summed(a, axis, dtype, flag(keepdims), initial, where, ops.sums, np.add, 0, False)
    return finished(made, out, "sum")


@implements(np.prod)
def prod(a, axis=None, dtype=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    made = _summed(a, axis, dtype, flag(keepdims), initial, where, ops.prods, np.multiply, 1, False)
    return finished(made, out, "prod")


def _extreme(name, a, axis, out, keepdims, initial, where, op, both, lowest):
    x = as_array(a)
    axes = axes_of(axis, x.ndim)
    dtype = _dtypes.narrow(x.dtype)
    has_initial = initial is not _NONE
    if where is not _NONE and where is not True:
        if not has_initial:
            raise ValueError(f"reduction operation '{name}imum' does not have an identity, so to use a where mask one "
                             "has to specify 'initial'")
        x = masked(x, where, initial)
    empty = any(x.shape[i] == 0 for i in axes)
    if empty and not has_initial:
        raise ValueError(f"zero-size array to reduction operation {name}imum which has no identity")
    if empty:
        made = Array(ops.full(kept_shape(x.shape, axes, flag(keepdims)), initial, dtype))
        return finished(made, out, name)
    node = x._get()
    if dtype == BOOL:
        made = Array((ops.anys if name == "max" else ops.alls)(node, axes, flag(keepdims))) if axes else Array(node)
    elif node.size == 0:
        made = Array(ops.full(kept_shape(x.shape, axes, flag(keepdims)), 0, dtype))
    else:
        made = Array(op(node, axes, flag(keepdims))) if axes else Array(node)
    if has_initial:
        made = both(made, np.asarray(initial, dtype))
    return finished(made, out, name)


@implements(np.max, np.amax)
def max_(a, axis=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    return _extreme("max", a, axis, out, keepdims, initial, where, ops.maxima, np.maximum, -math.inf)


@implements(np.min, np.amin)
def min_(a, axis=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    return _extreme("min", a, axis, out, keepdims, initial, where, ops.minima, np.minimum, math.inf)


@implements(np.ptp)
def ptp(a, axis=None, out=None, keepdims=_NONE):
    made = np.max(a, axis=axis, keepdims=flag(keepdims)) - np.min(a, axis=axis, keepdims=flag(keepdims))
    return finished(made, out, "ptp")


def _truth(a, axis, out, keepdims, where, op, neutral, name):
    x = as_array(a)
    x = x if x.dtype == BOOL else x != 0
    x = masked(x, where, neutral)
    axes = axes_of(axis, x.ndim)
    return finished(Array(op(x._get(), axes, flag(keepdims)) if axes else x._get()), out, name)


@implements(np.any)
def any_(a, axis=None, out=None, keepdims=_NONE, *, where=_NONE):
    return _truth(a, axis, out, keepdims, where, ops.anys, False, "any")


@implements(np.all)
def all_(a, axis=None, out=None, keepdims=_NONE, *, where=_NONE):
    return _truth(a, axis, out, keepdims, where, ops.alls, True, "all")


@implements(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    return np.sum(as_array(a) != 0, axis=axis, keepdims=keepdims)


def counted(x, axes, where, keepdims):
    """How many elements are reduced: a number, or an Array when a mask says."""
    if where is _NONE or where is True:
        return math.prod(x.shape[i] for i in axes)
    mask = np.broadcast_to(as_array(where), x.shape)
    return np.sum(mask, axis=tuple(axes), keepdims=keepdims).astype(np.float32)


def _mean_dtype(x, dtype):
    if dtype is not None:
        return _dtypes.requested(dtype)
    dtype = _dtypes.narrow(x.dtype)
    return dtype if _dtypes.is_float(dtype) else FLOAT32


@implements(np.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=_NONE, *, where=_NONE):
    x = as_array(a)
    axes, dtype = axes_of(axis, x.ndim), _mean_dtype(x, dtype)
    if _dtypes.is_integer(dtype):
        refuse(ARGUMENT, f"np.mean(dtype={dtype})", "take the mean in a float dtype")
    keep = flag(keepdims)
    x = x.astype(np.float32)
    count = counted(x, axes, where, keep)
    if isinstance(count, Array):
        made = np.sum(masked(x, where, 0), axis=tuple(axes), keepdims=keep) / count
    elif count == 0:
        made = Array(ops.full(kept_shape(x.shape, axes, keep), math.nan, FLOAT32))
    else:
        made = Array(ops.means(x._get(), axes, keep) if axes else x._get())
    return finished(made.astype(dtype), out, "mean")


@implements(np.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NONE, *, where=_NONE, mean=_NONE, correction=_NONE):
    if correction is not _NONE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = as_array(a)
    axes, dtype, keep = axes_of(axis, x.ndim), _mean_dtype(x, dtype), flag(keepdims)
    x = x.astype(np.float32)
    count = counted(x, axes, where, True)
    if isinstance(count, Array):
        left = np.maximum(count - ddof, 0)
        centre = np.sum(masked(x, where, 0), axis=tuple(axes), keepdims=True) / count if mean is _NONE else mean
    elif count == 0:
        made = Array(ops.full(kept_shape(x.shape, axes, keep), math.nan, FLOAT32))
        return finished(made.astype(dtype), out, "var")
    else:
        left = max(count - ddof, 0)
        centre = np.mean(x, axis=tuple(axes), keepdims=True) if mean is _NONE else mean
    if mean is _NONE and not isinstance(count, Array) and isinstance(ddof, int) and left > 0 and axes:
        made = Array(ops.variances(x._get(), axes, keep, int(ddof)))
        return finished(made.astype(dtype), out, "var")
    squares = np.square(x - centre)
    total = np.sum(masked(squares, where, 0), axis=tuple(axes), keepdims=keep)
    if isinstance(left, Array) and not keep:
        left = np.squeeze(left, axis=tuple(axes))
    made = total / np.float32(left) if not isinstance(left, Array) else total / left
    return finished(made.astype(dtype), out, "var")


@implements(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NONE, *, where=_NONE, mean=_NONE, correction=_NONE):
    x = as_array(a)
    dtype = _mean_dtype(x, dtype)
    wide = var(x, axis, np.float32, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return finished(np.sqrt(wide).astype(dtype), out, "std")


@implements(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=_NONE):
    x, keep = as_array(a), flag(keepdims)
    if weights is None:
        made = np.mean(x, axis=axis, keepdims=keep)
        count = x.size // max(made.size, 1)
        return (made, np.full_like(made, count)) if returned else made
    w = as_array(weights)
    if w.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = [axis_of(i, x.ndim) for i in (axis if isinstance(axis, (tuple, list)) else (axis,))]
        if w.shape != tuple(x.shape[i] for i in axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = np.transpose(w, np.argsort(axes))  # its axes lie as the call names them
        w = w.reshape([x.shape[i] if i in axes else 1 for i in range(x.ndim)])
    dtype = np.result_type(x.dtype, w.dtype, *([np.float32] if x.dtype.kind in "iub" else []))
    scale = np.sum(np.broadcast_to(w, x.shape), axis=axis, dtype=_dtypes.narrow(dtype), keepdims=keep)
    made = np.sum(np.multiply(x, w, dtype=_dtypes.narrow(dtype)), axis=axis, keepdims=keep) / scale
    return (made, np.broadcast_to(scale, made.shape).copy()) if returned else made


def _position(a, axis, out, keepdims, op, name):
    x = as_array(a)
    keep = flag(keepdims)
    if axis is None:
        made = _position(x.reshape(-1), 0, None, False, op, name)
        made = made.reshape((1,) * x.ndim) if keep else made
        return finished(made, out, name)
    axis = axis_of(axis, x.ndim)
    if x.shape[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    node = x._get()
    if node.size == 0:
        return finished(Array(ops.full(kept_shape(x.shape, [axis], keep), 0, INT32)), out, name)
    if node.dtype == BOOL:
        node = ops.cast(node, np.dtype(np.uint8))
    if x.shape[axis] > _LONG:
        return finished(_long_position(Array(node), axis, keep, op), out, name)
    return finished(Array(op(node, axis, keep)), out, name)


_LONG, _BLOCK = 2**22, 2**16


def _long_position(x, axis, keep, op):
    """In blocks: the best of each, then the best block, the first of equal ones."""
    x = np.moveaxis(x, axis, -1)
    n, is_max = x.shape[-1], op is ops.argmax
    dtype = _dtypes.narrow(x.dtype)
    if _dtypes.is_float(dtype):
        worst = -math.inf if is_max else math.inf
    else:
        worst = _dtypes.finite_range(dtype)[0 if is_max else 1]
    blocks = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -n % _BLOCK)], constant_values=worst).reshape(
        *x.shape[:-1], -1, _BLOCK)
    inside = Array(op(blocks._get(), blocks.ndim - 1))
    best = (np.max if is_max else np.min)(blocks, axis=-1)
    block = Array(op(best._get(), best.ndim - 1, True))
    made = block * _BLOCK + np.take_along_axis(inside, block, axis=-1)
    return np.moveaxis(made, -1, axis) if keep else made[..., 0]


@implements(np.argmax)
def argmax(a, axis=None, out=None, *, keepdims=_NONE):
    return _position(a, axis, out, keepdims, ops.argmax, "argmax")


@implements(np.argmin)
def argmin(a, axis=None, out=None, *, keepdims=_NONE):
    return _position(a, axis, out, keepdims, ops.argmin, "argmin")


# Running sums.

def _flat(a, axis):
    x = as_array(a)
    return (x.reshape(-1), 0) if axis is None else (x, axis_of(axis, x.ndim))


@implements(np.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    x, axis = _flat(a, axis)
    is_widened = dtype is None and x.dtype.kind in "iu"
    dtype = sum_dtype(_dtypes.narrow(x.dtype)) if dtype is None else _dtypes.requested(dtype)
    if x.size == 0 or x.ndim == 0:
        return finished(x.astype(dtype).reshape(x.shape or (1,)), out, "cumsum")
    if is_widened:
        _doubt(ops.cast(x._get(), dtype), x.dtype, x.shape[axis], lambda part: ops.cumsum(part, axis), "cumsum")
    if dtype == BOOL:
        return finished(np.cumsum(x, axis=axis, dtype=np.int32) != 0, out, "cumsum")
    return finished(_running(x, axis, dtype, ops.cumsum), out, "cumsum")


def _running(x, axis, dtype, op):
    node = ops.cast(x._get(), dtype)
    return Array(ops.cast(op(ops.cast(node, FLOAT32) if _dtypes.is_small_float(dtype) else node, axis), dtype))


@implements(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    x, axis = _flat(a, axis)
    dtype = sum_dtype(_dtypes.narrow(x.dtype)) if dtype is None else _dtypes.requested(dtype)
    x = x.astype(dtype)
    if dtype == BOOL:
        return finished(np.cumprod(x, axis=axis, dtype=np.int32) != 0, out, "cumprod")
    if x.size == 0 or x.ndim == 0:
        return finished(x.reshape(x.shape or (1,)), out, "cumprod")
    return finished(_running(x, axis, dtype, ops.cumprod), out, "cumprod")


def _cumulative(function):
    def op(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        x = as_array(x)
        if axis is None:
            if x.ndim != 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
            axis = 0
        made = function(x, axis=axis, dtype=dtype)
        if include_initial:
            shape = list(made.shape)
            shape[axis_of(axis, x.ndim)] = 1
            first = np.full(shape, 0 if function is cumsum else 1, made.dtype)
            made = np.concatenate([first, made], axis=axis)
        return finished(made, out, "cumulative")

    return op


implements(np.cumulative_sum)(_cumulative(cumsum))
implements(np.cumulative_prod)(_cumulative(cumprod))


# Without NaN.

def _without_nan(x, fill):
    x = as_array(x)
    if not _dtypes.is_float(_dtypes.narrow(x.dtype)):
        return x, None
    missing = np.isnan(x)
    return np.where(missing, np.asarray(fill, x.dtype), x), missing


def _and(where, missing):
    there = None if missing is None else ~missing
    if where is _NONE or where is True:
        return _NONE if there is None else there
    return where if there is None else np.logical_and(where, there)


@implements(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    return sum_(_without_nan(a, 0)[0], axis, dtype, out, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    return prod(_without_nan(a, 1)[0], axis, dtype, out, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a, axis=None, dtype=None, out=None):
    return cumsum(_without_nan(a, 0)[0], axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    return cumprod(_without_nan(a, 1)[0], axis, dtype, out)


def _nan_extreme(a, axis, out, keepdims, initial, where, op, fill, name):
    x, missing = _without_nan(a, fill)
    if missing is None:
        return op(x, axis, out, keepdims, initial, where)
    made = op(x, axis, None, keepdims, initial, where)
    none = np.all(missing, axis=axis, keepdims=flag(keepdims))
    if initial is _NONE:
        made = np.where(none, np.asarray(math.nan, x.dtype), made)
    return finished(made, out, name)


@implements(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    return _nan_extreme(a, axis, out, keepdims, initial, where, max_, -math.inf, "nanmax")


@implements(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=_NONE, initial=_NONE, where=_NONE):
    return _nan_extreme(a, axis, out, keepdims, initial, where, min_, math.inf, "nanmin")


@implements(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=_NONE, *, where=_NONE):
    x, missing = _without_nan(a, 0)
    return mean(x, axis, dtype, out, keepdims, where=_and(where, missing))


@implements(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NONE, *, where=_NONE, mean=_NONE, correction=_NONE):
    x, missing = _without_nan(a, 0)
    made = var(x, axis, dtype, None, ddof, keepdims, where=_and(where, missing), mean=mean, correction=correction)
    if missing is not None:  # NumPy: NaN when nothing is left to divide by
        count = np.sum(~missing, axis=axis, keepdims=flag(keepdims))
        used = ddof if correction is _NONE else correction
        made = np.where(count <= used, np.asarray(math.nan, made.dtype), made)
    return finished(made, out, "nanvar")


@implements(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NONE, *, where=_NONE, mean=_NONE, correction=_NONE):
    x = as_array(a)
    made = nanvar(x, axis, np.float32, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return finished(np.sqrt(made).astype(_mean_dtype(x, dtype)), out, "nanstd")


@implements(np.nanargmax)
def nanargmax(a, axis=None, out=None, *, keepdims=_NONE):
    return argmax(_without_nan(a, -math.inf)[0], axis, out, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(a, axis=None, out=None, *, keepdims=_NONE):
    return argmin(_without_nan(a, math.inf)[0], axis, out, keepdims=keepdims)


def _largest_so_far(op):
    def accumulate(which, array, axis=0, dtype=None, out=None):
        x = as_array(array)
        x = x if dtype is None else x.astype(dtype)
        axis = axis_of(axis, x.ndim)
        if x.size == 0 or x.dtype == BOOL:
            made = x.copy() if x.size == 0 else Array(op(ops.cast(x._get(), INT32), axis)).astype(bool)
        else:
            made = Array(op(x._get(), axis))
        return finished(made, out, which.__name__)

    return accumulate


METHODS[np.maximum, "accumulate"] = _largest_so_far(ops.cummax)
METHODS[np.minimum, "accumulate"] = _largest_so_far(ops.cummin)
