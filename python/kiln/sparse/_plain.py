"""Products of a CSR matrix of which nothing else is asked, on NumPy arrays of float32 and float64: little stands
between the caller and the product. All others give None and go the long way."""

import numpy as np

from kiln.blas._backend import scope

from ._native import LETTERS, native
from .formats import CSRMatrix

_SPMM = {dtype: getattr(native, letter + "plain_spmm") for dtype, letter in LETTERS.items()}


class _Addresses:
    """Where the arrays of a matrix lie: asking takes as long as a small product. Kept with the matrix, as long as these
    are its arrays; a copy of the matrix has arrays elsewhere and begins anew."""

    __slots__ = ("arrays", "dtype", "matrix", "product")

    def __init__(self):
        self.arrays = self.dtype = self.matrix = self.product = None

    def __reduce__(self):
        return _Addresses, ()

    def of(self, A):
        """Of a matrix whose values are an array in the order of its indices; else None."""
        values, arrays = A.values, self.arrays
        if arrays is None or arrays[0] is not values or arrays[1] is not A._columns or arrays[2] is not A._starts or (
                arrays[3] is not A.shape or self.dtype is not values.dtype):
            self.arrays = values, A._columns, A._starts, A.shape
            self.dtype, self.matrix, self.product = values.dtype, None, None
            if type(values) is np.ndarray and values.dtype in _SPMM and values.flags.c_contiguous:
                self.product = _SPMM[values.dtype]
                self.matrix = (*A.shape, A._starts.ctypes.data, A._columns.ctypes.data, values.ctypes.data, len(values))
        return self.matrix


def _product(backend, A, B, ndim):
    if type(A) is not CSRMatrix or type(B) is not np.ndarray:
        return None
    addresses = A.__dict__.get("_addresses")
    if addresses is None:
        addresses = A._addresses = _Addresses()
    matrix, shape = addresses.of(A), B.shape
    if matrix is None or B.dtype != addresses.dtype or len(shape) != ndim or shape[0] != matrix[1] or (
            not B.flags.c_contiguous):
        return None
    out = np.empty((matrix[0], *shape[1:]), addresses.dtype)
    with scope(backend):
        addresses.product(matrix, shape[1] if ndim == 2 else 1, B, out)
    return out


def spmm(backend, A, B):
    return _product(backend, A, B, 2)


def spmv(backend, A, x):
    return _product(backend, A, x, 1)
