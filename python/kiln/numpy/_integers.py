"""Integers as such: common divisors and multiples, and bits in bytes."""

import operator

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array
from kiln.numpy._axes import axis_of
from kiln.numpy._control import for_loop
from kiln.numpy._dispatch import implements
from kiln.numpy._ufuncs import ufunc

_STEPS = {1: 14, 2: 25, 4: 48}  # of Euclid's algorithm, by bytes: neighbours of Fibonacci's numbers take the most


def _magnitudes(x, y):
    """Both without signs, as unsigned numbers: the smallest integer has a magnitude that is no integer of its dtype."""
    x, y = ops.broadcast_to(x, np.broadcast_shapes(x.shape, y.shape)), y
    y = ops.broadcast_to(y, x.shape)
    return [ops.bitcast(ops.absolute(n), np.dtype(f"u{n.dtype}")) if n.dtype.kind == "i" else n for n in (x, y)]


def _divisor(a, b):
    def step(i, pair):
        a, b = pair
        rest = np.remainder(a, np.where(b == 0, np.ones_like(b), b))
        return np.where(b == 0, a, b), np.where(b == 0, b, rest)

    return for_loop(_STEPS[a.dtype.itemsize], step, (Array(a), Array(b)))[0]


@ufunc(np.gcd)
def gcd(x, y):
    a, b = _magnitudes(x, y)
    return ops.bitcast(a if 0 in a.shape else _divisor(a, b)._get(), x.dtype)


@ufunc(np.lcm)
def lcm(x, y):
    a, b = _magnitudes(x, y)
    if 0 in a.shape:
        return ops.bitcast(a, x.dtype)
    common = _divisor(a, b)
    made = Array(a) // np.where(common == 0, np.ones_like(common), common) * Array(b)
    return ops.bitcast(made._get(), x.dtype)


def _places(bitorder):
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    places = np.arange(8, dtype=np.uint8)
    return places if bitorder == "little" else places[::-1]


@implements(np.packbits)
def packbits(a, axis=None, bitorder="big"):
    x = as_array(a)
    if x.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis_of(axis, x.ndim))
    bits = np.moveaxis(x != 0, axis, -1).astype(np.int32)
    bits = np.pad(bits, [(0, 0)] * (x.ndim - 1) + [(0, -bits.shape[-1] % 8)])
    weights = np.left_shift(1, _places(bitorder).astype(np.int32))
    packed = np.sum(bits.reshape(*bits.shape[:-1], bits.shape[-1] // 8, 8) * weights, axis=-1)
    return np.moveaxis(packed, -1, axis).astype(np.uint8)


@implements(np.unpackbits)
def unpackbits(a, axis=None, count=None, bitorder="big"):
    x = as_array(a)
    if _dtypes.narrow(x.dtype) != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis_of(axis, x.ndim))
    lines = np.moveaxis(x, axis, -1)
    bits = np.bitwise_and(np.right_shift(lines[..., None], _places(bitorder)), np.uint8(1))
    bits = bits.reshape(*lines.shape[:-1], lines.shape[-1] * 8)
    if count is not None:
        count, n = operator.index(count), bits.shape[-1]
        if count < -n:
            raise ValueError(f"-count {count} larger than number of elements {n}")
        bits = bits[..., :count] if count <= n else np.pad(bits, [(0, 0)] * (x.ndim - 1) + [(0, count - n)])
    return np.moveaxis(bits, -1, axis)
