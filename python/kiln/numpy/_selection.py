"""NumPy's functions that choose elements: where, clip, take, select, masks."""

import math
import operator

import numpy as np

from kiln.numpy import _dtypes, _indexing, _lenses
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, known_of, node_of
from kiln.numpy._axes import axis_of
from kiln.numpy._dispatch import METHODS, _kind, implements, write_out
from kiln.numpy._rules import ARGUMENT, CASTING, DYNAMIC_SHAPE, refuse


def _together(*values, name="where"):
    """Nodes of the values in their common dtype, Python numbers weak."""
    dtype = _dtypes.common([_kind(v) for v in values], name)
    return [node_of(v, dtype) for v in values], dtype


@implements(np.where)
def where(condition, x=None, y=None, /):
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    c = as_array(condition)
    (a, b), dtype = _together(x, y)
    truth = node_of(c, np.dtype(bool))
    made = ops.where(truth, _lenses.bool_to_number(a), _lenses.bool_to_number(b))
    return Array(ops.cast(made, dtype))


def dynamic(name):
    refuse(DYNAMIC_SHAPE, f"np.{name} of an array that is known at run time alone", kind=ValueError)


def _needs_values(name):
    def op(*args, **kwargs):
        dynamic(name)

    op.refuses = "its shape depends on the values"
    return op


for _name in (
    "nonzero argwhere flatnonzero compress extract unique unique_all unique_counts unique_inverse unique_values "
    "union1d intersect1d setdiff1d setxor1d trim_zeros"
).split():
    implements(getattr(np, _name))(_needs_values(_name))


def nonzero(a):
    dynamic("nonzero")


@implements(np.compress)
def compress(condition, a, axis=None, out=None):
    known = known_of(condition)
    if known is None:
        dynamic("compress")
    x = as_array(a)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis_of(axis, x.ndim))
    made = np.take(x, np.flatnonzero(known), axis=axis)
    return made if out is None else write_out(made, out, "compress")


@implements(np.extract)
def extract(condition, arr):
    known = known_of(condition)
    if known is None:
        dynamic("extract")
    return np.take(as_array(arr).reshape(-1), np.flatnonzero(known))


@implements(np.clip)
def clip(a, a_min=np._NoValue, a_max=np._NoValue, out=None, *, min=np._NoValue, max=np._NoValue, where=np._NoValue,
         dtype=None, casting="same_kind"):
    none = np._NoValue
    if a_min is none and a_max is none:
        a_min, a_max = (None if bound is none else bound for bound in (min, max))
    elif min is not none or max is not none:
        raise ValueError("np.clip takes its bounds as a_min and a_max or as min and max, not both")
    elif a_min is none or a_max is none:
        raise TypeError("np.clip takes a_min and a_max together; either may be None")
    x = as_array(a)
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    if where is not none:
        refuse(ARGUMENT, "np.clip(where=...)", "choose with np.where")
    made = x
    for bound, f in ((a_min, np.maximum), (a_max, np.minimum)):
        if bound is not None and not _bounds_nothing(bound, f, x.dtype):
            made = f(made, bound)
    made = made if made is not x else x.copy()
    return made if out is None else write_out(made, out, "clip", casting)


def _bounds_nothing(bound, f, dtype):
    """Whether a Python integer is beyond all that the dtype holds, on the side where it changes nothing."""
    if type(bound) is not int or dtype.kind not in "iu":
        return False
    least, most = _dtypes.finite_range(_dtypes.narrow(dtype))
    return bound <= least if f == np.maximum else bound >= most


@implements(np.select)
def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    made = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist))):
        if as_array(condition).dtype.kind != "b":
            raise TypeError("invalid entry in condlist: should be boolean ndarray")
        made = np.where(condition, choice, made)
    return made


@implements(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    x = as_array(x)
    if isinstance(condlist, (list, tuple)) and condlist and (np.ndim(condlist[0]) or not x.ndim):
        conditions = [as_array(c) for c in condlist]
    else:
        conditions = [as_array(condlist)]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} "
                         "functions are expected")
    made = np.zeros_like(x)
    if len(funclist) > len(conditions):
        f = funclist[-1]
        made = as_array(f(x, *args, **kw) if callable(f) else np.full_like(x, f)).astype(x.dtype)
    for c, f in zip(conditions, funclist):
        value = f(x, *args, **kw) if callable(f) else f
        made = np.where(c, as_array(value).astype(x.dtype), made)
    return made


@implements(np.choose)
def choose(a, choices, out=None, mode="raise"):
    index = as_array(a)
    if index.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to {np.dtype(np.int64)!r} according to the rule "
                        "'safe'")
    many = [as_array(choices[i]) for i in range(len(choices))]
    index = _bounded(index, len(many), mode)
    (first, *_), dtype = _together(*many, name="choose")
    made = np.broadcast_to(many[0], np.broadcast_shapes(index.shape, *(m.shape for m in many))).astype(dtype)
    for i, m in enumerate(many[1:], 1):
        made = np.where(index == i, m.astype(dtype), made)
    return made if out is None else write_out(made, out, "choose")


def _bounded(index, extent, mode):
    """Indices with mode= honoured."""
    if mode == "clip":
        return np.clip(index, 0, extent - 1)
    if mode == "wrap":
        return np.remainder(index, extent)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return index


@implements(np.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    x = as_array(a)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    index = as_array(indices)
    if index.size == 0 and index._known() is not None:
        index = Array(const=index._known().astype(np.intp))
    if index.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to dtype('int64') according to the rule 'safe'")
    if index.dtype.kind == "b":
        index = index.astype(np.int32)
    index = _bounded(index, x.shape[axis], mode)
    made = x[(slice(None),) * axis + (index,)]
    made = made if made._parent is None else made.copy()
    return made if out is None else write_out(made, out, "take")


def _along(shape, axis, indices):
    """Key for elements along one axis; the others count up."""
    key = []
    for i, n in enumerate(shape):
        if i == axis:
            key.append(indices)
        else:
            key.append(np.arange(n).reshape([-1 if j == i else 1 for j in range(len(shape))]))
    return tuple(key)


def _spread_index(x, indices, axis):
    index = as_array(indices)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return index


@implements(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    x = as_array(arr)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    index = _spread_index(x, indices, axis)
    shape = [x.shape[i] if i != axis else index.shape[i] for i in range(x.ndim)]
    shape = np.broadcast_shapes(index.shape, tuple(n if i != axis else 1 for i, n in enumerate(shape)))
    return x[_along([1 if i != axis and x.shape[i] == 1 else n for i, n in enumerate(shape)], axis, index)]


@implements(np.put_along_axis, view=True)
def put_along_axis(arr, indices, values, axis):
    x = as_array(arr)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    index = _spread_index(x, indices, axis)
    x[_along(x.shape, axis, index)] = values


@implements(np.put, view=True)
def put(a, ind, v, mode="raise"):
    index = _bounded(as_array(ind), a.size, mode).reshape(-1)
    if not index.size:
        return
    values = np.resize(as_array(v), index.shape)
    flat = a.reshape(-1)
    flat[index] = values
    if flat._root is not a._root:
        a[...] = flat.reshape(a.shape)


@implements(np.putmask, view=True)
def putmask(a, mask, values):
    spread = np.resize(as_array(values), a.shape)
    a[...] = np.where(mask, spread.astype(a.dtype), a)


@implements(np.place, view=True)
def place(arr, mask, vals):
    values = as_array(vals)
    if values.size == 1:
        arr[...] = np.where(mask, values.reshape(()).astype(arr.dtype), arr)
        return
    known = known_of(mask)
    if known is None:
        dynamic("place")
    putmask_order = np.flatnonzero(known)
    if putmask_order.size and not values.size:
        raise ValueError("Cannot insert from an empty array!")
    put(arr, putmask_order, np.resize(values, putmask_order.shape))


@implements(np.copyto, view=True)
def copyto(dst, src, casting="same_kind", where=True):
    kind = _kind(src)
    fits = not isinstance(kind, np.dtype) or np.can_cast(kind, dst.dtype, casting) or (
        _dtypes.is_wide(kind) and np.can_cast(_dtypes.narrow(kind), dst.dtype, casting))
    if not fits or (kind is float and dst.dtype.kind in "iub"):
        refuse(CASTING, f"np.copyto: {kind} into {dst.dtype}", kind=TypeError)
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, as_array(src).astype(dst.dtype), dst)


@implements(np.fill_diagonal, view=True)
def fill_diagonal(a, val, wrap=False):
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if wrap and a.ndim == 2:
        refuse(ARGUMENT, "np.fill_diagonal(wrap=True)", "assign with indices")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(a.shape)
    index = np.arange(n)
    values = as_array(val)
    a[(index,) * a.ndim] = values if values.size <= 1 else np.resize(values, (n,))


# Truth of elements.

@implements(np.isclose)
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    x, y = (v if isinstance(v, Array) else as_array(v) for v in (a, b))
    x, y = (v if _dtypes.is_float(_dtypes.narrow(v.dtype)) else v.astype(np.float32) for v in (x, y))
    x, y = (v.astype(np.float32) for v in (x, y))
    finite = np.logical_and(np.isfinite(x), np.isfinite(y))
    near = np.abs(np.where(finite, x - y, 0.0)) <= float(atol) + float(rtol) * np.abs(np.where(finite, y, 0.0))
    made = np.where(finite, near, x == y)
    return made | (np.isnan(x) & np.isnan(y)) if equal_nan else made


@implements(np.allclose)
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return np.all(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    x, y = as_array(a1), as_array(a2)
    if x.shape != y.shape:
        return False
    same = x == y
    return np.all(same | (np.isnan(x) & np.isnan(y)) if equal_nan else same)


@implements(np.array_equiv)
def array_equiv(a1, a2):
    x, y = as_array(a1), as_array(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return np.all(x == y)


def _of_sign(name, compare):
    def op(x, out=None):
        a = as_array(x)
        made = (
            np.logical_and(np.isinf(a), compare(a, 0))
            if _dtypes.is_float(_dtypes.narrow(a.dtype))
            else np.zeros_like(a, dtype=bool)
        )
        return made if out is None else write_out(made, out, name)

    return op


implements(np.isposinf)(_of_sign("isposinf", np.greater))
implements(np.isneginf)(_of_sign("isneginf", np.less))


@implements(np.isreal)
def isreal(x):
    return np.ones_like(as_array(x), dtype=bool)


@implements(np.iscomplex)
def iscomplex(x):
    return np.zeros_like(as_array(x), dtype=bool)


@implements(np.isrealobj)
def isrealobj(x):
    return True


@implements(np.iscomplexobj)
def iscomplexobj(x):
    return False


@implements(np.real_if_close)
def real_if_close(a, tol=100):
    return as_array(a)


@implements(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    x, tests = as_array(element), as_array(test_elements).reshape(-1)
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    if not tests.size:
        made = np.zeros_like(x, dtype=bool)
    else:
        made = np.any(np.expand_dims(x, -1) == tests, axis=-1)
    return ~made if invert else made


@implements(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    a = as_array(x)
    dtype = _dtypes.narrow(a.dtype)
    if not _dtypes.is_float(dtype):
        made = a.copy() if copy else a
    else:
        limits = np.finfo(dtype) if dtype.kind == "f" else _ml_finfo(dtype)
        high = float(limits.max) if posinf is None else posinf
        low = float(limits.min) if neginf is None else neginf
        made = np.where(np.isnan(a), np.asarray(nan, dtype), a)
        made = np.where(a == math.inf, np.asarray(high, dtype), made)
        made = np.where(a == -math.inf, np.asarray(low, dtype), made)
    if not copy and made is not a:
        a[...] = made
        return a
    return made


def _ml_finfo(dtype):
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


@implements(np.result_type)
def result_type(*args):
    return np.result_type(*(np.empty((0,) * a.ndim, a.dtype).dtype if isinstance(a, Array) else a for a in args))


@implements(np.can_cast)
def can_cast(from_, to, casting="safe"):
    return np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to, casting)


@implements(np.common_type)
def common_type(*arrays):
    return np.common_type(*(np.empty(0, a.dtype) if isinstance(a, Array) else a for a in arrays))


@implements(np.min_scalar_type)
def min_scalar_type(a):
    return np.dtype(as_array(a).dtype)


@implements(np.may_share_memory, np.shares_memory, view=True)
def shares_memory(a, b, max_work=None):
    if not isinstance(a, Array) or not isinstance(b, Array):
        return False
    return a._root is b._root


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    modes = mode if isinstance(mode, tuple) else (mode,) * len(dims)
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    parts = list(zip([as_array(i) for i in multi_index], dims, modes))
    total = None
    for index, extent, how in parts if order == "C" else parts[::-1]:
        index = _bounded(index, extent, how).astype(np.int32)
        total = index if total is None else total * extent + index
    return total


@implements(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    rest = as_array(indices).astype(np.int32)
    shape = (operator.index(shape),) if np.ndim(shape) == 0 else tuple(shape)
    made = []
    for n in shape[::-1] if order == "C" else shape:
        quotient = _quotient(rest, n)
        made.append(rest - quotient * n)
        rest = quotient
    return tuple(made[::-1] if order == "C" else made)


def _quotient(x, n):
    """floor(x / n) of integers from 0 on, by comparing: exact for any count of steps that float32 cannot."""
    return np.floor_divide(x, n)


@implements(np.ix_)
def ix_(*args):
    arrays = [as_array(a) for a in args]
    if any(a.ndim != 1 for a in arrays):
        raise ValueError("Cross index must be 1 dimensional")
    if any(a.dtype.kind == "b" for a in arrays):
        dynamic("ix_")
    return tuple(a.reshape([-1 if j == i else 1 for j in range(len(arrays))]) for i, a in enumerate(arrays))


_AT = {np.add: "add", np.subtract: "add", np.multiply: "multiply", np.maximum: "maximum", np.minimum: "minimum"}


def at_method(ufunc, a, indices, b=None):
    """np.add.at and its like: repeated indices count."""
    if not isinstance(a, Array):
        refuse(ARGUMENT, f"np.{ufunc.__name__}.at on an array that is not made in the function",
               "make it with np.zeros inside of the function, or pass it as an argument")
    if ufunc not in _AT:
        refuse(ARGUMENT, f"np.{ufunc.__name__}.at", f"use one of {', '.join(u.__name__ for u in _AT)}")
    values = as_array(b).astype(a.dtype)
    values = np.negative(values) if ufunc == np.subtract else values
    _indexing.combine(a, indices, values, _AT[ufunc])


METHODS[None, "at"] = at_method
