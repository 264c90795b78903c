"""Order: sorting, quantiles, searching."""

import math

import numpy as np

from kiln.numpy import _dtypes, _lenses
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, known_of, node_of
from kiln.numpy._axes import axes_of, axis_of
from kiln.numpy._dispatch import _kind, implements, write_out
from kiln.numpy._rules import ARGUMENT, refuse

def _line(a, axis):
    x = as_array(a)
    if axis is None:
        return x.reshape(-1), 0
    return x, axis_of(axis, x.ndim)


def _number(x):
    return _lenses.bool_to_number(x._get())


def _plain_kind(kind, order, name):
    if order is not None:
        refuse(ARGUMENT, f"np.{name}(order=...)", "it is for structured arrays")
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable", "introselect"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")


@implements(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    _plain_kind(kind, order, "sort")
    x, axis = _line(a, axis)
    return x.copy() if x.size == 0 else Array(ops.cast(ops.sort(_number(x), axis, False), _dtypes.narrow(x.dtype)))


@implements(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Equal elements stay in order, whatever the kind."""
    _plain_kind(kind, order, "argsort")
    x, axis = _line(a, axis)
    return np.zeros_like(x, dtype=np.int32) if x.size == 0 else Array(ops.argsort(_number(x), axis, False))


@implements(np.lexsort)
def lexsort(keys, axis=-1):
    keys = [as_array(k) for k in keys]
    order = None
    for key in keys:
        key = np.moveaxis(key, axis, -1)
        order = argsort(key) if order is None else np.take_along_axis(
            order, argsort(np.take_along_axis(key, order, axis=-1)), axis=-1)
    return np.moveaxis(order, -1, axis)


def _require_places(a, kth, axis):
    """Places of a partition are in the array; it is sorted as a whole, so that they need not be known."""
    known, n = known_of(kth), as_array(a).size if axis is None else as_array(a).shape[axis]
    if known is None:
        return
    if known.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    for k in known.reshape(-1):
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")


@implements(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    made = sort(a, axis, order=order)
    _require_places(a, kth, axis)
    return made


@implements(np.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    made = argsort(a, axis, order=order)
    _require_places(a, kth, axis)
    return made


@implements(np.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    x, value = as_array(a), as_array(v)
    if x.ndim != 1:
        raise ValueError("object too deep for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be one of 'left' or 'right' (got {side!r})")
    if sorter is not None:
        x = np.take(x, sorter)
    dtype = _dtypes.common([_kind(x), _kind(v)], "searchsorted")
    if value.size == 0 or x.size == 0:
        return np.zeros_like(value, dtype=np.int32)
    return Array(ops.searchsorted(node_of(x, dtype), node_of(value, dtype), side == "right"))


# Quantiles.

_EVEN = ("linear", "lower", "higher", "midpoint", "nearest")  # places from the first element to the last
_PLOTTED = {"hazen": (0.5, 0.5), "weibull": (0, 0), "median_unbiased": (1 / 3, 1 / 3),
            "normal_unbiased": (3 / 8, 3 / 8), "interpolated_inverted_cdf": (0, 1)}
_STEPS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
_ONE = ("lower", "higher", "nearest")  # which are an element
_DISCRETE = (*_ONE, "inverted_cdf", "closest_observation")  # which give elements, of integers too
_METHODS = (*_EVEN, *_PLOTTED, *_STEPS)


def _place(fraction, n, method):
    """(the element below, the one above, how far between them; None: the one below) of a fraction of n elements in
    order."""
    if method in _PLOTTED:
        first, last = _PLOTTED[method]
        place = min(n * fraction + first + fraction * (1 - first - last) - 1, n - 1)
        if place < 0:
            return 0, 0, 0.0
    elif method in _STEPS:
        return _step(fraction, n, method)
    else:
        place = fraction * (n - 1)
    low, high = math.floor(place), math.ceil(place)
    if method in _ONE:
        return {"lower": low, "higher": high, "nearest": round(place)}[method], None, None
    if method == "median":
        return low, high, None if low == high else 0.5
    return low, min(low + 1, n - 1), 0.5 if method == "midpoint" and low != high else place - low


def _step(fraction, n, method):
    def element(at):
        return min(max(int(at), 0), n - 1)

    if method == "closest_observation":
        place = n * fraction - 1.5
        is_even = place == math.floor(place) and math.floor(place) % 2 == 1
        at = element(math.floor(place) if is_even else math.floor(place) + 1)
        return at, None, None
    place = n * fraction - 1
    is_whole = place == math.floor(place)
    at = element(place if is_whole else math.floor(place) + 1)
    if method == "averaged_inverted_cdf":
        return element(math.floor(place)), element(math.floor(place) + 1), 0.5 if is_whole else 1.0
    return at, None, None


def _quantile(a, q, axis, out, overwrite_input, method, keepdims, weights, name):
    if weights is not None or method not in (*_METHODS, "median"):
        refuse(
            ARGUMENT, f"np.{name}(method={method!r}, weights=...)", f"use one of {', '.join(_METHODS)} without weights"
        )
    x = as_array(a)
    known = q._known() if isinstance(q, Array) else np.asarray(q, np.float64)
    if known is None:
        refuse(ARGUMENT, f"np.{name} of fractions that are known at run time alone", "pass them as Python numbers")
    if np.any(known < 0) or np.any(known > 1):
        raise ValueError("Quantiles must be in the range [0, 1]")
    axes = axes_of(axis, x.ndim)
    if method == "linear" and (q if hasattr(q, "dtype") else np.asarray(q)).dtype.kind in "iub":
        method = "lower"  # 0 and 1 are elements themselves
    is_float = _dtypes.is_float(_dtypes.narrow(x.dtype))
    x = x if is_float or method in _DISCRETE else x.astype(np.float32)
    kept = [i for i in range(x.ndim) if i not in axes]
    flat = x.transpose([*kept, *axes]).reshape([x.shape[i] for i in kept] + [-1])
    n = flat.shape[-1]
    if n == 0:
        raise IndexError("quantile of an empty array")
    made = _at_fractions(np.sort(flat, axis=-1), flat, known.reshape(-1), n, method)
    shape = [1 if i in axes else m for i, m in enumerate(x.shape)] if keepdims else [x.shape[i] for i in kept]
    made = [m.reshape(shape) for m in made]
    made = made[0] if known.ndim == 0 else np.stack(made).reshape([*known.shape, *shape])
    return made if out is None else write_out(made, out, name)


def _between(a, b, weight):
    """As NumPy interpolates, which shows where they are infinite."""
    apart = b - a
    if isinstance(weight, Array):
        return np.where(weight >= 0.5, b - apart * (1 - weight), a + apart * weight)
    return b - apart * (1 - weight) if weight >= 0.5 else a + apart * weight


def _at_fractions(ordered, flat, fractions, n, method):
    of_integers = flat.dtype.kind in "iub"
    missing = None if of_integers else np.any(np.isnan(flat), axis=-1)
    made = []
    for f in fractions:
        low, high, weight = _place(float(f), n, method)
        a, b = ordered[..., low], None if high is None else ordered[..., high]
        value = a if weight is None else a * 0.5 + b * 0.5 if method == "median" else _between(a, b, weight)
        made.append(value if of_integers else
                    np.where(missing, np.asarray(math.nan, _dtypes.narrow(flat.dtype)), value))
    return made


@implements(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return _quantile(a, q, axis, out, overwrite_input, method, keepdims, weights, "quantile")


@implements(np.percentile)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    q = q / 100 if isinstance(q, Array) else np.asarray(q, np.float64) / 100
    return _quantile(a, q, axis, out, overwrite_input, method, keepdims, weights, "percentile")


@implements(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The mean of the two in the middle."""
    return _quantile(a, 0.5, axis, out, overwrite_input, "median", keepdims, None, "median")


class _Present:
    """The elements of axes that are not NaN, in order; how many there are is known at run time alone."""

    def __init__(self, a, axis, keepdims):
        x = as_array(a)
        x = x if _dtypes.is_float(_dtypes.narrow(x.dtype)) else x.astype(np.float32)
        axes = axes_of(axis, x.ndim)
        kept = [i for i in range(x.ndim) if i not in axes]
        flat = x.transpose([*kept, *axes]).reshape([x.shape[i] for i in kept] + [-1])
        self.count = np.sum(~np.isnan(flat), axis=-1, keepdims=True)
        self.ordered = np.sort(flat, axis=-1)
        self._places = np.arange(flat.shape[-1], dtype=np.int32)
        self._shape = [1 if i in axes else n for i, n in enumerate(x.shape)] if keepdims is True else \
            [x.shape[i] for i in kept]

    def at(self, place):
        """The elements at a place of each row, which is there."""
        return np.sum(np.where(self._places == place, self.ordered, np.asarray(0, self.ordered.dtype)), axis=-1)

    def shaped(self, value):
        """A value of each row, NaN where there is no element, with the dimensions of the result."""
        missing = np.asarray(math.nan, self.ordered.dtype)
        return np.where(self.count[..., 0] == 0, missing, value).reshape(self._shape)


@implements(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=np._NoValue):
    rows = _Present(a, axis, keepdims)
    low, high = rows.at(np.right_shift(np.maximum(rows.count - 1, 0), 1)), rows.at(np.right_shift(rows.count, 1))
    made = rows.shaped((low + high) * 0.5)
    return made if out is None else write_out(made, out, "nanmedian")


def _nan_quantile(a, q, axis, out, method, keepdims, weights, name):
    known = q._known() if isinstance(q, Array) else np.asarray(q, np.float64)
    if weights is not None or method != "linear" or known is None:
        refuse(ARGUMENT, f"np.{name} with a method other than linear, weights, or fractions of the run",
               "pass fractions as Python numbers, and leave the rest out")
    if np.any(known < 0) or np.any(known > 1):
        raise ValueError("Quantiles must be in the range [0, 1]")
    rows, made = _Present(a, axis, keepdims), []
    for fraction in known.reshape(-1):
        place = np.maximum(rows.count - 1, 0) * np.float32(fraction)
        low = np.floor(place).astype(np.int32)
        below, above = rows.at(low), rows.at(np.minimum(low + 1, np.maximum(rows.count - 1, 0)))
        part = (place - np.floor(place))[..., 0]
        made.append(rows.shaped(_between(below, above, part).astype(rows.ordered.dtype)))
    made = made[0] if known.ndim == 0 else np.stack(made).reshape([*known.shape, *made[0].shape])
    return made if out is None else write_out(made, out, name)


@implements(np.nanquantile)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=np._NoValue, *,
                weights=None):
    return _nan_quantile(a, q, axis, out, method, keepdims, weights, "nanquantile")


@implements(np.nanpercentile)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=np._NoValue, *,
                  weights=None):
    q = q / 100 if isinstance(q, Array) else np.asarray(q, np.float64) / 100
    return _nan_quantile(a, q, axis, out, method, keepdims, weights, "nanpercentile")
