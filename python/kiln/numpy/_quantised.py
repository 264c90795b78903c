"""Numbers of 8 bits: with one scale for many, or microscaled (MX), 32 along an axis sharing a power of two; and
products of them, summed in float32."""

import ml_dtypes
import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy._array import Array, as_array, node_of
from kiln.numpy._axes import axis_of
from kiln.numpy._functions import _own, _real
from kiln.numpy._rules import ARGUMENT, refuse
from kiln.numpy._trace import active

_MX = tuple(map(np.dtype, (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)))


def _mx_dtype(dtype):
    dtype = np.dtype(dtype)
    if dtype not in _MX:
        refuse(ARGUMENT, f"dtype={dtype.name}", "MX elements are float8_e4m3fn or float8_e5m2", kind=TypeError)
    return dtype.name


@_own
def quantize(x, dtype=ml_dtypes.float8_e4m3, axis=None):
    """(x in an 8-bit float, its scale in float32): x is about elements * scale. The largest of the axis, or of all of
    x, becomes the largest number of the dtype."""
    x = _real(x).astype(np.float32)
    dtype = np.dtype(dtype)
    if not _dtypes.is_float(dtype) or dtype.itemsize != 1:
        refuse(ARGUMENT, f"dtype={dtype.name}", "pass a float of 8 bits", kind=TypeError)
    largest = np.max(np.abs(x), axis=axis, keepdims=axis is not None)
    scale = np.where(largest > 0, largest / float(ml_dtypes.finfo(dtype).max), np.ones(1, np.float32)[0])
    limit = float(ml_dtypes.finfo(dtype).max)
    return np.clip(x / scale, -limit, limit).astype(dtype), scale


@_own
def dequantize(elements, scale, dtype=np.float32):
    """elements * scale."""
    return (as_array(elements).astype(np.float32) * scale).astype(dtype)


@_own
def matmul_f32(x, y):
    """The matrix product of floats of 8 or 16 bits, also of two kinds: summed, and given, in float32."""
    x, y = _real(x), _real(y)
    for array in (x, y):
        if not _dtypes.is_small_float(_dtypes.narrow(array.dtype)):
            refuse(ARGUMENT, f"matmul_f32 of {array.dtype}", "cast it to bfloat16, or use np.matmul", kind=TypeError)
    return Array(active().push("matmul_f32", (node_of(x), node_of(y))))


@_own
def mx_quantize(x, axis=-1, dtype=ml_dtypes.float8_e4m3fn):
    """(elements, scales): of 32 along an axis the largest lies in the last but one power of two of the dtype; scales
    are bytes, 2^(scale - 127)."""
    x = _real(x)
    axis, name = axis_of(axis, x.ndim), _mx_dtype(dtype)
    node = node_of(x)
    return tuple(Array(active().push(op, (node,), axis, name)) for op in ("mx_quantize", "mx_scales"))


@_own
def mx_dequantize(elements, scales, axis=-1, dtype=np.float32):
    """elements * 2^(scale - 127), 32 along the axis by one scale."""
    elements = as_array(elements)
    axis, name = axis_of(axis, elements.ndim), _dtypes.NAME[_dtypes.requested(dtype)]
    return Array(active().push("mx_dequantize", (node_of(elements), node_of(scales)), axis, name))


@_own
def mx_matmul(x, y, dtype=ml_dtypes.float8_e4m3fn):
    """The product of x (..., K) and y (K, N), both microscaled along K, in float32. On trn3, bfloat16 and float16 are
    quantised on the chip and multiplied four times as fast."""
    return Array(active().push("mx_matmul", (node_of(_real(x)), node_of(_real(y))), _mx_dtype(dtype)))
