"""Products of a CSR matrix of which nothing else is asked, on NumPy arrays of float32 and float64: little stands
between the caller and the product. All others give None and go the long way."""

import numpy as np

from kiln.blas._backend import scope

from ._native import LETTERS, native
from .formats import CSRMatrix

_SPMM = {dtype: getattr(native, letter + "spmm") for dtype, letter in LETTERS.items()}


def _is_plain(A, B, ndim):
    """Whether A is by rows, both are arrays of one dtype without gaps, and their shapes fit."""
    if type(A) is not CSRMatrix or type(B) is not np.ndarray or type(A.values) is not np.ndarray:
        return False
    values = A.values
    return (values.dtype == B.dtype and B.dtype in _SPMM and B.ndim == ndim and B.shape[0] == A.shape[1]
            and values.shape == A._columns.shape and values.flags.c_contiguous and B.flags.c_contiguous)


class _Addresses:
    """Where the arrays of a matrix lie: asking takes as long as a small product. Kept with the matrix, as long as these
    are its arrays; a copy of the matrix has arrays elsewhere and begins anew."""

    __slots__ = ("arrays", "matrix")

    def __init__(self):
        self.arrays = self.matrix = None

    def __reduce__(self):
        return _Addresses, ()

    def of(self, A):
        arrays, shape = self.arrays, A.shape
        if arrays is None or arrays[0] is not A.values or arrays[1] is not A._columns or arrays[2] is not A._starts or (
                arrays[3] is not shape):
            self.arrays = A.values, A._columns, A._starts, shape
            self.matrix = (*shape, A._starts.ctypes.data, A._columns.ctypes.data, A.values.ctypes.data, len(A.values))
        return self.matrix


def _product(A, B, columns, shape, backend):
    out = np.empty(shape, B.dtype)
    addresses = A.__dict__.get("_addresses")
    if addresses is None:
        addresses = A._addresses = _Addresses()
    matrix = addresses.of(A)
    with scope(backend):
        _SPMM[B.dtype](matrix, columns, 1.0, B.ctypes.data, 0.0, out.ctypes.data)
    return out


def spmm(backend, A, B):
    return _product(A, B, B.shape[1], (A.shape[0], B.shape[1]), backend) if _is_plain(A, B, 2) else None


def spmv(backend, A, x):
    return _product(A, x, 1, A.shape[:1], backend) if _is_plain(A, x, 1) else None
