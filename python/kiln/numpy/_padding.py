"""np.pad in all of its modes."""

import operator

import numpy as np

from kiln.numpy import _dtypes, _lenses
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, has_array
from kiln.numpy._dispatch import implements
from kiln.numpy._rules import ARGUMENT, refuse

_STATISTICS = {"maximum": "max", "minimum": "min", "mean": "mean", "median": "median"}
_KEYWORDS = {"constant": {"constant_values"}, "edge": set(), "wrap": set(), "empty": set(),
             "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}, "linear_ramp": {"end_values"},
             **dict.fromkeys(_STATISTICS, {"stat_length"})}


def _pairs(value, rank):
    """A width or value for both ends of each axis."""
    if isinstance(value, dict):
        value = [value.get(i, value.get(i - rank, (0, 0))) for i in range(rank)]
        value = [(v, v) if np.ndim(v) == 0 else tuple(v) for v in value]
    if has_array(value):
        made = np.broadcast_to(as_array(value), (rank, 2))
        return [[made[i, end] for end in range(2)] for i in range(rank)]
    return np.broadcast_to(np.asarray(value), (rank, 2)).tolist()


@implements(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    x = as_array(array)
    widths = [[operator.index(w) for w in pair] for pair in _pairs(pad_width, x.ndim)]
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode) or mode not in _KEYWORDS:
        refuse(ARGUMENT, f"np.pad(mode={mode!r})", f"use one of {', '.join(_KEYWORDS)}", kind=ValueError)
    if set(kwargs) - _KEYWORDS[mode]:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(kwargs) - _KEYWORDS[mode]}")
    if mode in ("constant", "empty"):
        return _constant(x, widths, kwargs.get("constant_values", 0))
    for axis, (low, high) in enumerate(widths):
        if (low or high) and x.shape[axis] == 0:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    if mode == "linear_ramp":
        return _ramps(x, widths, _pairs(kwargs.get("end_values", 0), x.ndim))
    if mode in _STATISTICS:
        return _statistics(x, widths, mode, kwargs.get("stat_length"))
    is_odd = kwargs.get("reflect_type", "even") == "odd"
    for axis, (low, high) in enumerate(widths):
        if low or high:
            made = _odd if is_odd and x.shape[axis] > 1 else _mirrored
            x = made(x, axis, low, high, mode)
    return x if any(map(any, widths)) else x.copy()


def _mirrored(x, axis, low, high, mode):
    """Elements along an axis by known indices, as slices of steps 1 and -1 that are joined."""
    parts, start = [], 0
    index = np.pad(np.arange(x.shape[axis]), (low, high), mode=mode).tolist()
    while start < len(index):
        stop, step = start + 1, 0
        while stop < len(index) and index[stop] - index[stop - 1] in ((step,) if step else (1, -1)):
            step = index[stop] - index[stop - 1]
            stop += 1
        first, count = index[start], stop - start
        parts.append(ops.cut(x._get(), axis, first, first + (step or 1) * count, step or 1))
        start = stop
    return Array(ops.concat(parts, axis))


def _odd(x, axis, low, high, mode):
    """Twice the edge without what is mirrored, which mirrored again has more terms: those of the unit vectors."""
    weights = np.pad(np.eye(x.shape[axis]), ((low, high), (0, 0)), mode=mode, reflect_type="odd")
    order = np.argsort(weights == 0, axis=1, kind="stable")
    total = None
    for k in range(np.count_nonzero(weights, axis=1).max()):
        index = order[:, k]
        weight = weights[np.arange(len(index)), index].reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        term = np.take(x, index, axis=axis)
        term = np.where(weight == 0, np.zeros((), x.dtype), term * weight.astype(_dtypes.narrow(x.dtype)))
        total = term if total is None else total + term
    return total


def _constant(x, widths, values):
    values = _pairs(values, x.ndim)
    dtype = _dtypes.narrow(x.dtype)
    flat = [v for pair in values for v in pair]
    if any(isinstance(v, Array) for v in flat):
        return _joined(x, widths, lambda x, axis: [_edge(x, axis, v) for v in values[axis]])
    node = _lenses.bool_to_number(x._get())
    if len(set(flat)) <= 1:
        number = np.asarray(flat[0] if flat else 0).astype(dtype)
        made = ops.pad(node, [w[0] for w in widths], [w[1] for w in widths], float(number))
        return Array(ops.cast(made, dtype))
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, values)):
        for count, number, at_end in ((low, first, False), (high, last, True)):
            if count:
                zero = [0] * x.ndim
                side = list(zero)
                side[axis] = count
                number = float(np.asarray(number).astype(dtype))
                node = ops.pad(node, zero, side, number) if at_end else ops.pad(node, side, zero, number)
    return Array(ops.cast(node, dtype))


def _edge(x, axis, value):
    """A value of the run with one element along an axis."""
    shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    return np.broadcast_to(as_array(value).astype(_dtypes.narrow(x.dtype)), shape)


def _joined(x, widths, ends):
    """Each axis with what `ends` gives for its two ends, repeated, around it."""
    for axis, (low, high) in enumerate(widths):
        if low or high:
            first, last = ends(x, axis)
            x = np.concatenate([np.repeat(first, low, axis), x, np.repeat(last, high, axis)], axis=axis)
    return x


def _statistics(x, widths, mode, lengths):
    lengths = [[None, None]] * x.ndim if lengths is None else _pairs(lengths, x.ndim)
    if any(n is not None and n < 0 for pair in lengths for n in pair):
        raise ValueError("index can't contain negative values")
    function = getattr(np, _STATISTICS[mode])

    def ends(x, axis):
        made = []
        for length, is_last in zip(lengths[axis], (False, True)):
            n = x.shape[axis]
            used = n if length is None else min(operator.index(length), n)
            if used == 0 and mode in ("maximum", "minimum"):
                raise ValueError("stat_length of 0 yields no value for padding")
            part = ops.cut(x._get(), axis, n - used if is_last else 0, n if is_last else used)
            value = function(Array(part), axis=axis, keepdims=True)
            made.append((np.rint(value) if x.dtype.kind in "iu" and mode in ("mean", "median") else value)
                        .astype(x.dtype))
        return made

    return _joined(x, widths, ends)


def _ramps(x, widths, values):
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, values)):
        parts = [x]
        for count, value, is_last in ((low, first, False), (high, last, True)):
            if count:
                at = x.shape[axis] - 1 if is_last else 0
                ramp = _ramp(Array(ops.cut(x._get(), axis, at, at + 1)), axis, count, value, is_last)
                parts = [*parts, ramp] if is_last else [ramp, *parts]
        x = np.concatenate(parts, axis=axis) if len(parts) > 1 else x
    return x if any(map(any, widths)) else x.copy()


def _ramp(edge, axis, count, value, is_last):
    """From a value up to an edge, without it."""
    steps = np.arange(count)[::-1 if is_last else 1].reshape([-1 if i == axis else 1 for i in range(edge.ndim)])
    if edge.dtype.kind in "iu":
        value = as_array(value).astype(np.int32)
        made = value + np.floor_divide(steps.astype(np.int32) * (edge.astype(np.int32) - value), count)
    else:
        value = as_array(value).astype(np.float32)
        made = value + (steps / count).astype(np.float32) * (edge.astype(np.float32) - value)
    return made.astype(edge.dtype)
