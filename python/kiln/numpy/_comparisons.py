"""Comparisons of integers whose common dtype the chip lacks: NumPy compares them exactly, and so are they here."""

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, node_of
from kiln.numpy._dtypes import UINT32

COMPARED = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}


def exact(which, inputs, kinds):
    """The comparison; None where the ordinary way is exact."""
    if any(k is int for k in kinds):
        return _with_number(which, inputs, kinds)
    if UINT32 in kinds and any(isinstance(k, np.dtype) and k.kind == "i" and not _dtypes.is_wide(k) for k in kinds):
        return _of_signs(which, inputs, kinds)
    return None


def _with_number(which, inputs, kinds):
    """Beside a Python integer that the dtype cannot hold."""
    at = 0 if kinds[0] is int else 1
    other = kinds[1 - at]
    if not isinstance(other, np.dtype) or other.kind not in "iu":
        return None
    low, high = _dtypes.finite_range(_dtypes.narrow(other))
    if low <= inputs[at] <= high:
        return None
    sample = which(*(np.zeros((), np.int64) if i != at else np.array(float(inputs[at])) for i in range(2)))
    return np.full_like(inputs[1 - at], bool(sample), dtype=bool)


def _of_signs(which, inputs, kinds):
    """Signed beside uint32: what is negative is less than all, the rest is compared without signs."""
    at = 0 if kinds[0].kind == "i" else 1
    signed = node_of(inputs[at], _dtypes.INT32)
    other = node_of(inputs[1 - at], UINT32)
    op = getattr(ops, which.__name__)
    pair = (ops.cast(signed, UINT32), other) if at == 0 else (other, ops.cast(signed, UINT32))
    below = which(-1, 0) if at == 0 else which(0, -1)
    negative = ops.less(signed, 0)
    made = op(*pair)
    if below:
        return Array(ops.logical_or(made, negative))
    return Array(ops.logical_and(made, ops.logical_not(negative)))
