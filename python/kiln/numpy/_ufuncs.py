"""NumPy's ufuncs as functions of nodes, in the dtypes of their loops."""

import math

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy import _ops as ops
from kiln.numpy._dispatch import UFUNCS
from kiln.numpy._dtypes import FLOAT32, INT32
from kiln.numpy._trace import active

_SAME_NAME = (
    "negative sign square floor ceil trunc rint exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan arctan sinh "
    "cosh tanh invert logical_not isnan isinf isfinite add subtract multiply maximum "
    "minimum equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor right_shift arctan2 arcsin arccos arcsinh arccosh "
    "arctanh cbrt logaddexp logaddexp2 hypot heaviside fmax fmin nextafter copysign signbit bitwise_count "
    "absolute divide deg2rad rad2deg"
).split()
for _name in _SAME_NAME:
    UFUNCS[getattr(np, _name)] = getattr(ops, _name)


def ufunc(which):
    def mark(function):
        UFUNCS[which] = function
        return function

    return mark


@ufunc(np.positive)
@ufunc(np.conjugate)
def positive(x):
    return x


@ufunc(np.fabs)
def fabs(x):
    return ops.absolute(x)


@ufunc(np.reciprocal)
def reciprocal(x):
    if _dtypes.is_float(x.dtype):
        return ops.reciprocal(x)
    one = ops.cast(ops.equal(ops.absolute(x), 1), x.dtype)
    made = ops.multiply(one, x)
    if x.dtype != np.int32:
        return made
    # 1 / 0 as an integer: NumPy's answer is the machine's, and only at 32 bits is it not 0.
    return ops.where(ops.equal(x, 0), np.iinfo(np.int32).min, made)


@ufunc(np.left_shift)
def left_shift(x, y):
    return _shift(ops.left_shift, x, y, 0)


@ufunc(np.right_shift)
def right_shift(x, y):
    return _shift(ops.right_shift, x, y, None)


def _shift(op, x, y, beyond):
    """By as many bits as there are, or more: nothing is left but the sign."""
    bits = 8 * x.dtype.itemsize
    inside = ops.minimum(y, bits - 1)
    made = op(x, inside)
    if x.dtype.kind == "i" and beyond is None:
        return made
    return ops.where(ops.less(y, bits), made, 0)


UFUNCS[np.radians], UFUNCS[np.degrees] = ops.deg2rad, ops.rad2deg


@ufunc(np.power)
@ufunc(np.float_power)
def power(x, y):
    return ops.power(x, y)


def known_power(x, n):
    """x to a Python integer from 0 on, by products."""
    total = None
    while n:
        if n & 1:
            total = x if total is None else ops.multiply(total, x)
        n >>= 1
        x = ops.multiply(x, x) if n else x
    return total


floor_divide = UFUNCS[np.floor_divide] = ops.floor_divide
remainder = UFUNCS[np.remainder] = ops.remainder
UFUNCS[np.fmod] = ops.fmod


@ufunc(np.divmod)
def divmod_(x, y):
    return floor_divide(x, y), remainder(x, y)


@ufunc(np.modf)
def modf(x):
    whole = ops.trunc(x)
    rest = ops.where(ops.isinf(x), ops.full((), 0, x.dtype), ops.subtract(x, ops.where(ops.isinf(x), 0.0, whole)))
    return ops.copysign(rest, x), whole


@ufunc(np.frexp)
def frexp(x):
    dtype, x = x.dtype, ops.cast(x, FLOAT32)
    plain = ops.logical_and(ops.isfinite(x), ops.not_equal(x, 0.0))
    inside = ops.where(plain, x, 1.0)
    e = ops.add(ops.exponent(inside), 1.0)
    mantissa = ops.where(plain, ops.scaled(inside, ops.negative(e)), x)
    return ops.cast(mantissa, dtype), ops.cast(ops.where(plain, e, 0.0), INT32)


@ufunc(np.ldexp)
def ldexp(x, n):
    dtype = x.dtype
    return ops.cast(ops.scaled(ops.cast(x, FLOAT32), ops.cast(n, FLOAT32)), dtype)


@ufunc(np.spacing)
def spacing(x):
    """To the next number away from zero; of float16 to the next one above, as NumPy has it."""
    infinity = ops.full(x.shape, math.inf, x.dtype)
    made = ops.subtract(ops.nextafter(x, infinity if x.dtype == np.float16 else ops.copysign(infinity, x)), x)
    return ops.where(ops.isinf(x), math.nan, made)


@ufunc(np.matmul)
def matmul(x, y):
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    if x.dtype.kind == "b":
        return ops.not_equal(matmul(ops.cast(x, INT32), ops.cast(y, INT32)), 0)
    if 0 in x.shape or 0 in y.shape:
        return ops.sums(_products(x, y), [-1 % _products(x, y).ndim], False)
    uniform = active().uniform
    if x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        return ops.matmul(x, y)  # which says what is wrong
    if y.value in uniform and y.trace is active():
        return _of_uniform(x, uniform[y.value], x.ndim - 1, x, y)
    if x.value in uniform and x.trace is active():
        return _of_uniform(y, uniform[x.value], max(y.ndim - 2, 0), x, y)
    return ops.matmul(x, y)


def _of_uniform(node, number, axis, x, y):
    """A product with a matrix of equal elements: the sums, times the element."""
    dtype = x.dtype
    wide = ops.cast(node, FLOAT32) if _dtypes.is_float(dtype) else node
    sums = ops.multiply(ops.cast(ops.sums(wide, [axis], True), wide.dtype), ops.constant(number, wide.dtype))
    if x.ndim == 1 and y.ndim == 1:
        return ops.cast(ops.reshape(sums, ()), dtype)
    shape = list(np.broadcast_shapes(x.shape[:-2], y.shape[:-2])) if x.ndim > 1 and y.ndim > 1 else list(
        x.shape[:-2] if x.ndim > 1 else y.shape[:-2])
    rows, columns = ([x.shape[-2]] if x.ndim > 1 else []), ([y.shape[-1]] if y.ndim > 1 else [])
    if node is x and x.ndim > 1 and y.ndim == 1:
        sums = ops.reshape(sums, sums.shape[:-1])
    elif node is y and y.ndim > 1 and x.ndim == 1:
        sums = ops.reshape(sums, (*sums.shape[:-2], sums.shape[-1]))
    return ops.cast(ops.broadcast_to(sums, [*shape, *rows, *columns]), dtype)


def _products(x, y):
    """All products that a matmul sums along the last axis."""
    vector_x, vector_y = x.ndim == 1, y.ndim == 1
    x = ops.reshape(x, (1, *x.shape)) if vector_x else x
    y = ops.reshape(y, (*y.shape, 1)) if vector_y else y
    turned = ops.transpose(y, [*range(y.ndim - 2), y.ndim - 1, y.ndim - 2])
    pairs = ops.multiply(ops.reshape(x, (*x.shape[:-1], 1, x.shape[-1])),
                         ops.reshape(turned, (*turned.shape[:-2], 1, *turned.shape[-2:])))
    shape = list(pairs.shape)
    if vector_y:
        del shape[-2]
    if vector_x:
        del shape[-2 if vector_y else -3]
    return ops.reshape(pairs, shape)


@ufunc(np.vecdot)
def vecdot(x, y):
    return ops.reshape(matmul(ops.reshape(x, (*x.shape[:-1], 1, x.shape[-1])), ops.reshape(y, (*y.shape, 1))),
                       np.broadcast_shapes(x.shape[:-1], y.shape[:-1]))


@ufunc(np.matvec)
def matvec(x, y):
    made = matmul(x, ops.reshape(y, (*y.shape, 1)))
    return ops.reshape(made, made.shape[:-1])


@ufunc(np.vecmat)
def vecmat(x, y):
    made = matmul(ops.reshape(x, (*x.shape[:-1], 1, x.shape[-1])), y)
    return ops.reshape(made, (*made.shape[:-2], made.shape[-1]))
