"""Ops on nodes of the program that is being traced: those of the tensor IR, and what is often made of them. A Python
number beside a node takes its dtype."""

import math

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy._dtypes import BOOL, FLOAT32, INT32
from kiln.numpy._trace import Node, active
from kiln.numpy._triangles import triangle_of


def constant(array, dtype=None):
    """A node with these elements."""
    array = np.asarray(array)
    triangle = triangle_of(array) if dtype is None else None
    if triangle is not None:
        return triangle_mask(array.shape, *triangle)
    return active().constant(array.astype(dtype or _dtypes.narrow(array.dtype), copy=False))


def triangle_mask(shape, k, lower):
    """Where column <= row + k in a matrix, or where it is not so."""
    columns, rows = (active().ramp(shape, axis) for axis in (1, 0))
    end = add(rows, float(k)) if k else rows
    return less_equal(columns, end) if lower else greater(columns, end)


def full(shape, number, dtype):
    return broadcast_to(constant(np.asarray(number, dtype)), tuple(shape))


def _operands(operands):
    for x in operands:
        if type(x) is not Node:
            break
    else:
        return operands
    beside = next(x for x in operands if isinstance(x, Node))
    return [x if isinstance(x, Node) else constant(np.asarray(x, _dtypes.weak(x, beside.dtype))) for x in operands]


def _elementwise(names):
    """A function for each of these ops."""
    def made(name):
        def op(*operands):
            return active().push(name, _operands(operands))

        op.__name__ = name
        return op

    return map(made, names.split())


negative, absolute, sign, square, relu, _floor, _ceil, _trunc = _elementwise(
    "negative abs sign square relu floor ceil trunc")
_rint, reciprocal, exp, exp2, expm1, log, log2, log10 = _elementwise("rint reciprocal exp exp2 expm1 log log2 log10")
log1p, sqrt, rsqrt, sin, cos, tan, arctan, sinh = _elementwise("log1p sqrt rsqrt sin cos tan arctan sinh")
cosh, tanh, erf, sigmoid, silu, gelu, gelu_tanh, softplus = _elementwise(
    "cosh tanh erf sigmoid silu gelu gelu_tanh softplus")
mish, invert, logical_not, isnan, isinf, isfinite, arcsin, arccos = _elementwise(
    "mish invert logical_not isnan isinf isfinite arcsin arccos")
arcsinh, arccosh, arctanh, cbrt, sinc, deg2rad, rad2deg, signbit = _elementwise(
    "arcsinh arccosh arctanh cbrt sinc deg2rad rad2deg signbit")
add, subtract, multiply, _divide, floor_divide, remainder, power, _maximum = _elementwise(
    "add subtract multiply divide floor_divide remainder power maximum")
_minimum, *_compared, logical_and = _elementwise(
    "minimum equal not_equal greater greater_equal less less_equal logical_and")
logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift, fmod = _elementwise(
    "logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift fmod")
arctan2, hypot, logaddexp, logaddexp2, copysign, heaviside, fmax, fmin = _elementwise(
    "arctan2 hypot logaddexp logaddexp2 copysign heaviside fmax fmin")


# The chip multiplies by the reciprocal, which is off by a bit now and then: 49 / 49 is less than 1. Where that bit
# decides (steps, integers, comparisons with a number), the quotient is made better first.

def divide(x, y):
    x, y = _operands((x, y))
    made = _divide(x, y)
    number = _number_of(y)
    if made.dtype == FLOAT32 and (number is None or abs(math.frexp(number)[0]) != 0.5):  # by 2^n it is exact
        active().quotients[made.value] = x, y
    return made


def _number_of(x):
    """The element of a constant that has one; None of others."""
    return x.trace.single.get(x.value)


def settled(x):
    """A value with the last bit of its quotient right, if it is one."""
    pair = active().quotients.get(x.value) if isinstance(x, Node) and x.trace is active() else None
    if pair is None:
        return x
    a, b = (cast(n, FLOAT32) for n in pair)
    high, b_high = _masked(x), _masked(b)
    low, b_low = subtract(x, high), subtract(b, b_high)
    rest = a
    for p, q in ((high, b_high), (high, b_low), (low, b_high), (low, b_low)):
        rest = subtract(rest, multiply(p, q))
    better = add(x, multiply(rest, reciprocal(b)))
    return where(isfinite(better), better, x)


# Quotients up to this lie near a multiple of 1/2 that has so few bits that its products with halves of a divisor are
# exact.
_NEAR = 1024.0
_TO_HALVES = 1.5 * 2.0 ** 22  # added and taken away, it leaves multiples of 1/2
_LARGEST = float(np.finfo(np.float32).max)
_FEW = 16  # elements of a dividend with one divisor, from which on it pays to make much of that


def _settled_near(a, b):
    """A quotient that only rounding to integers up to _NEAR will see: what is left beside the nearest multiple of 1/2
    says on which side of it the quotient lies. That is none for a divisor of zero, or one that is infinite, and small
    enough to be multiplied with it."""
    inverse = reciprocal(b)
    finite, b_finite = (_between(n, -_LARGEST, _LARGEST) for n in (inverse, b))
    most = add(_minimum(multiply(absolute(inverse), 2.0 ** 127), _NEAR), _TO_HALVES)
    least = subtract(2 * _TO_HALVES, most)
    shifted = _between(add(multiply(a, finite), _TO_HALVES), least, most)
    near, high = subtract(shifted, _TO_HALVES), _masked(b_finite)
    rest = subtract(subtract(a, multiply(near, high)), multiply(near, subtract(b_finite, high)))
    return add(multiply(rest, inverse), near)


def _rounded_near(quotient):
    return _rint(_settled_near(*(cast(n, FLOAT32) for n in quotient)))


def _between(x, low, high):
    return _minimum(_maximum(x, low), high)


def rint(x):
    made = _rint(settled(x))
    pair = active().quotients.get(x.value) if x.trace is active() else None
    if pair and math.prod(pair[1].shape) * _FEW <= math.prod(x.shape):
        active().limits[made.value] = _Limits(pair)
    return made


class _Limits:
    """Numbers that a value lies between, if it is one; dividend and divisor of a quotient that was rounded."""

    def __init__(self, quotient=None, low=-math.inf, high=math.inf):
        self.quotient, self.low, self.high = quotient, low, high


def _limiting(op, side):
    """The larger or the smaller one: where both sides are numbers then, a quotient that was rounded need not have been
    right beyond them."""
    def limit(x, y):
        x, y = _operands((x, y))
        made, (number, other) = op(x, y), (_number_of(y), x)
        if number is None:
            number, other = _number_of(x), y
        if number is None or made.dtype != other.dtype or made.shape != other.shape or math.isnan(number):
            return made
        now = _limits(other)
        now = _Limits(now.quotient, *_narrowed(now, side, float(number)))
        active().limits[made.value] = now
        if now.quotient is None or not -_NEAR < now.low <= now.high < _NEAR:
            return made
        made = _between(_rounded_near(now.quotient), now.low, now.high)
        active().limits[made.value] = _Limits(None, now.low, now.high)
        return made

    return limit


def _narrowed(limits, side, number):
    return (max(limits.low, number), limits.high) if side == "low" else (limits.low, min(limits.high, number))


def _limits(x):
    return active().limits.get(x.value, _Limits()) if x.trace is active() else _Limits()


maximum, minimum = _limiting(_maximum, "low"), _limiting(_minimum, "high")


def _is_within(x, dtype):
    """Whether a float is known to be no more than integers of a dtype hold."""
    limits = _limits(x)
    least, most = _dtypes.finite_range(dtype)
    return least <= limits.low <= limits.high <= most


def _step(op):
    return lambda x: op(settled(x))


def _comparison(op):
    """With a number: what was made of the quotient itself has to stay equal to it."""
    def compare(x, y):
        x, y = _operands((x, y))
        return op(settled(x) if _number_of(y) is not None else x, settled(y) if _number_of(x) is not None else y)

    return compare


floor, ceil, trunc = map(_step, (_floor, _ceil, _trunc))
equal, not_equal, greater, greater_equal, less, less_equal = map(_comparison, _compared)


def cast(x, dtype):
    """As NumPy casts: floats towards zero, integers wrap, anything but zero is true."""
    if x.dtype == dtype:
        return x
    if dtype.kind in "iu":
        known = _limits(x)
        is_short = dtype.itemsize == 1 and known.quotient and known.low == -math.inf and known.high == math.inf
        x = _rounded_near(known.quotient) if is_short else settled(x)  # beyond _NEAR nothing is defined
    if dtype == BOOL:
        return not_equal(x, 0)
    if _dtypes.is_float(x.dtype) and dtype.kind in "iu" and dtype != INT32 and not _is_within(x, dtype):
        return _wrapped(x, dtype)  # through int32: what is too large wraps
    return active().push("cast", (x,), _dtypes.NAME[dtype])


def _wrapped(x, dtype):
    to = _dtypes.NAME[dtype]
    by_int32 = active().push("cast", (active().push("cast", (x,), "int32"),), to)
    if dtype != _dtypes.UINT32:
        return by_int32
    return where(less(x, 0.0), by_int32, active().push("cast", (x,), to))


def bitcast(x, dtype):
    return x if x.dtype == dtype else active().push("bitcast", (x,), _dtypes.NAME[dtype])


def where(condition, x, y):
    """The dtype is that of the operands, which have the same."""
    x, y = _operands((x, y)) if isinstance(x, Node) or isinstance(y, Node) else (x, y)
    return active().push("where", (condition, x, y))


# Shapes.

def reshape(x, shape):
    shape = tuple(shape)
    return x if shape == x.shape else active().push("reshape", (x,), list(shape))


def transpose(x, perm):
    perm = list(perm)
    return x if perm == sorted(perm) else active().push("transpose", (x,), perm)


def broadcast_to(x, shape):
    shape = tuple(shape)
    return x if shape == x.shape else active().push("broadcast_to", (x,), list(shape))


def expand_dims(x, axis):
    return reshape(x, x.shape[:axis] + (1,) + x.shape[axis:])


def slices(x, starts, sizes, steps):
    """Every step-th element; steps may be negative."""
    if sizes == list(x.shape) and all(s == 1 for s in steps):
        return x
    backward = [i for i, s in enumerate(steps) if s < 0 and sizes[i] > 0]
    for i in backward:  # as a forward slice that is turned around
        starts[i] += steps[i] * (sizes[i] - 1)
    forward = [max(1, abs(s)) for s in steps]
    starts = [0 if n == 0 else s for s, n in zip(starts, sizes)]
    out = active().push("slice", (x,), starts, sizes, forward)
    backward = [i for i in backward if sizes[i] > 1]
    return flip(out, backward) if backward else out


def flip(x, axes):
    n = len(x.shape)
    starts = [x.shape[i] - 1 if i in axes and x.shape[i] else 0 for i in range(n)]
    return active().push("slice", (x,), starts, list(x.shape), [-1 if i in axes else 1 for i in range(n)])


def cut(x, axis, start, stop, step=1):
    """A slice along one axis."""
    starts, sizes, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], sizes[axis], steps[axis] = start, len(range(start, stop, step)), step
    return slices(x, starts, sizes, steps)


def concat(nodes, axis):
    some = [n for n in nodes if n.shape[axis] > 0] or nodes[:1]
    return some[0] if len(some) == 1 else active().push("concat", some, axis)


def pad(x, low, high, number=0):
    if not any(low) and not any(high):
        return x
    return active().push("pad", (x,), list(low), list(high), float(number))


def iota(shape, axis, dtype=INT32):
    ramp = np.arange(shape[axis], dtype=dtype).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return broadcast_to(constant(ramp), shape)


# Reductions.

def _reduce(name):
    def op(x, axes, keepdims=False, *more):
        return active().push(name, (x,), list(axes), keepdims, *more)

    op.__name__ = name
    return op


sums, prods, maxima, minima, anys, alls, means, variances = map(
    _reduce, ("sum", "prod", "max", "min", "any", "all", "mean", "variance"))


def argmax(x, axis, keepdims=False):
    return active().push("argmax", (x,), [axis], keepdims)


def argmin(x, axis, keepdims=False):
    return active().push("argmin", (x,), [axis], keepdims)


def _along(name):
    def op(x, axis, *more):
        return active().push(name, (x,), axis, *more)

    op.__name__ = name
    return op


cumsum, cumprod, cummax, cummin, sort, argsort, top_k, top_k_indices = map(
    _along, ("cumsum", "cumprod", "cummax", "cummin", "sort", "argsort", "top_k", "top_k_indices"))


def matmul(x, y):
    return active().push("matmul", (x, y))


# Runtime indices.

def take(x, index, axis, mode="raise"):
    return active().push("take", (x, index), axis, mode)


def gather_nd(x, indices):
    return active().push("gather_nd", (x, *indices))


def scatter_nd(x, updates, indices, mode="set"):
    return active().push("scatter_nd", (x, updates, *indices), mode)


def scatter(x, index, updates, axis, mode="set"):
    return active().push("scatter", (x, index, updates), axis, mode)


def take_along_axis(x, index, axis):
    return active().push("take_along_axis", (x, index), axis)


def searchsorted(x, values, right):
    return active().push("searchsorted", (x, values), right)


def bincount(nodes, length):
    return active().push("bincount", nodes, length)


def dynamic_slice(x, start, axis, size):
    return active().push("dynamic_slice", (x, start), axis, size)


def update_slice(x, part, start, axis):
    return active().push("update_slice", (x, part, start), axis)


# What the tensor IR does not have as one op.

def floating(function):
    """A function on float32, for operands of any float: smaller ones are widened and rounded once at the end."""
    def op(*operands):
        nodes = _operands(operands)
        dtype = nodes[0].dtype
        return cast(function(*(cast(n, FLOAT32) for n in nodes)), dtype)

    return op


INTS = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: INT32}  # by the bytes of a float


def _masked(x):
    """x with the first 12 bits of its mantissa alone."""
    return bitcast(bitwise_and(bitcast(x, INT32), constant(-4096, INT32)), FLOAT32)


def nextafter(x, y):
    """By the bits as an integer, which count up away from zero."""
    ints = INTS[x.dtype.itemsize]
    bits = bitcast(x, ints)
    up = greater(y, x)
    away = equal(up, greater(x, 0.0))
    moved = add(bits, where(away, constant(1, ints), constant(-1, ints)))
    tiny = bitcast(where(up, constant(1, ints), constant(np.iinfo(ints).min + 1, ints)), x.dtype)
    moved = where(equal(x, 0.0), tiny, bitcast(moved, x.dtype))
    return where(logical_or(isnan(x), isnan(y)), add(x, y), where(equal(x, y), y, moved))


@floating
def exponent(x):
    """The power of two below |x|, as an integer in float32; x is finite and not zero."""
    a = absolute(x)
    small = less(a, 2.0 ** -126)
    bits = bitcast(where(small, multiply(a, 2.0 ** 24), a), INT32)
    e = cast(right_shift(bits, 23), FLOAT32)
    return subtract(e, where(small, full((), 127 + 24, FLOAT32), full((), 127, FLOAT32)))


def scaled(x, n):
    """x * 2^n for integers n in float32, in three steps, so that no factor overflows."""
    n = maximum(minimum(n, 400.0), -400.0)
    third = trunc(divide(n, 3.0))
    for part in (third, third, subtract(n, multiply(2.0, third))):
        x = multiply(x, _power_of_two(part))
    return x


def _power_of_two(n):
    """2^n, n an integer between -140 and 140, exactly, in two factors."""
    half = floor(multiply(n, 0.5))
    out = None
    for part in (half, subtract(n, half)):
        factor = bitcast(left_shift(cast(add(part, 127.0), INT32), 23), FLOAT32)
        out = factor if out is None else multiply(out, factor)
    return out


def bitwise_count(x):
    """The bits of |x| that are set."""
    a = absolute(x) if x.dtype.kind == "i" else x
    total = None
    for i in range(8 * x.dtype.itemsize):
        bit = bitwise_and(right_shift(a, i) if i else a, 1)
        total = bit if total is None else add(total, bit)
    return cast(total, np.dtype(np.uint8))
