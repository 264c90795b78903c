"""Reductions over the last free dimensions."""

import operator

from kiln._trace import rules, views
from kiln._trace.errors import refuse
from kiln.nki import isa as nisa
from kiln.nki.language import _tiles
from kiln.nki.language._tokens import token

# Functions that are one tensor_reduce.
OPERATORS = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "multiply"}


def suffix(function, x, axis):
    """How many of the last dimensions axis names."""
    _tiles.require_tile(function, x)
    rank = len(x.shape)
    axes = sorted(a + rank if a < 0 else a for a in _numbers(function, axis))
    if not axes or axes[0] < 1 or axes != list(range(rank - len(axes), rank)):
        last = list(range(1, rank))
        refuse(rules.REDUCED_AXES, f"nl.{function} of {x.shape} over axis {axis}",
               f"pass {rank - 1} or a suffix of {last}; over partitions multiply with ones: nl.matmul")
    return len(axes)


def _numbers(function, axis):
    try:
        return [operator.index(a) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]
    except TypeError:
        refuse(rules.REDUCED_AXES, f"nl.{function} over axis {axis!r}")


def reduced_shape(shape, count, keepdims):
    """The shape without its last dimensions, or with 1 in their place. Tiles keep two dimensions."""
    kept = tuple(shape[:len(shape) - count])
    if keepdims:
        return kept + (1,) * count
    return kept if len(kept) > 1 else kept + (1,)


def group_size(shape, count):
    size = 1
    for n in shape[len(shape) - count:]:
        size *= n
    return size


def reduce_into(dst, op, x, count, negate=False):
    nisa.tensor_reduce(dst, token(op), x, axis=list(range(len(x.shape) - count, len(x.shape))), negate=negate)


def stretched(stat, shape):
    """A reduced tile that kept its dimensions, seen in the full shape again."""
    for dim in range(1, len(shape)):
        if stat.shape[dim] != shape[dim]:
            stat = views.broadcast(stat, dim, shape[dim])
    return stat


def _reduction(name, op):
    def function(x, axis, dtype=None, keepdims=False):
        count = suffix(name, x, axis)
        dst = _tiles.new(reduced_shape(x.shape, count, keepdims), dtype or x.dtype)
        reduce_into(dst, op, x, count)
        return dst

    function.__doc__ = f"Reduces the last dimensions of x, which axis names, with {op}."
    return function


def mean(x, axis, dtype=None, keepdims=False):
    """The mean over the last dimensions of x; sums in float32."""
    count = suffix("mean", x, axis)
    dst = _tiles.new(reduced_shape(x.shape, count, keepdims), dtype or x.dtype)
    total = _tiles.scratch(dst.shape, "float32")
    reduce_into(total, "add", x, count)
    nisa.tensor_scalar(dst, total, token("multiply"), 1.0 / group_size(x.shape, count))
    return dst


def var(x, axis, dtype=None, keepdims=False):
    """The population variance over the last dimensions of x, which stay as 1 whatever keepdims says."""
    count = suffix("var", x, axis)
    shape = reduced_shape(x.shape, count, True)
    scale = 1.0 / group_size(x.shape, count)
    dst = _tiles.new(shape, dtype or x.dtype)
    stat, centred = _tiles.scratch(shape, "float32"), _tiles.scratch(x.shape, "float32")
    reduce_into(stat, "add", x, count)
    nisa.tensor_scalar(stat, stat, token("multiply"), scale)
    nisa.tensor_tensor(centred, x, stretched(stat, x.shape), token("subtract"))
    nisa.tensor_tensor(centred, centred, centred, token("multiply"))
    reduce_into(stat, "add", centred, count)
    nisa.tensor_scalar(dst, stat, token("multiply"), scale)
    return dst


def all_true(x, axis, dtype=None):
    """1 where every element over the last dimensions of x is true, else 0."""
    count = suffix("all", x, axis)
    dst = _tiles.new(reduced_shape(x.shape, count, False), dtype or x.dtype)
    if group_size(x.shape, count) == 1:  # a reduction of one element would hand it on as it is
        nisa.tensor_scalar(dst, x, token("not_equal"), 0.0)
    else:
        reduce_into(dst, "logical_and", x, count)
    return dst


FUNCTIONS = {name: _reduction(name, op) for name, op in OPERATORS.items()}
FUNCTIONS.update(mean=mean, var=var, all=all_true)
for _name, _function in FUNCTIONS.items():
    _function.__name__ = _function.__qualname__ = _name
