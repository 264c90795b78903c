"""Operations of the native half, on NumPy arrays by their addresses. Each returns a new array."""

import numpy as np

from kiln._kiln import sparse as native
from kiln.blas._arrays import Form

LETTERS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}


def form_of(value, name):
    """What results look like: those of this array."""
    form = Form(value, name)
    if form.is_complex:
        raise TypeError(f"{name}: elements are {form.dtype}; sparse operations are for real ones")
    return form


def call(operation, dtype):
    return getattr(native, LETTERS[dtype] + operation)


class Held:
    """Arrays in C order without gaps, held as long as their addresses are in use."""

    def __init__(self):
        self.arrays = []

    def __call__(self, array, dtype=None):
        array = np.ascontiguousarray(array, dtype)
        self.arrays.append(array)
        return array.ctypes.data


def csr(held, shape, starts, columns, values):
    return (*shape, held(starts, np.int64), held(columns, np.int64), 0 if values is None else held(values),
            len(columns))


def bsr(held, shape, block_size, starts, columns, blocks):
    return (*shape, block_size, held(starts, np.int64), held(columns, np.int64), 0 if blocks is None else held(blocks),
            len(columns))


def spmm(shape, starts, columns, values, b, alpha=1.0, c=None, beta=0.0):
    held = Held()
    out = np.empty((shape[0], b.shape[1]), b.dtype) if c is None else np.array(c, b.dtype, order="C")
    call("spmm", b.dtype)(csr(held, shape, starts, columns, values), b.shape[1], alpha, held(b), beta, held(out))
    return out


def bsr_spmm(shape, block_size, starts, columns, blocks, b):
    held, out = Held(), np.empty((shape[0], b.shape[1]), b.dtype)
    call("bsr_spmm", b.dtype)(bsr(held, shape, block_size, starts, columns, blocks), b.shape[1], held(b), held(out))
    return out


def sddmm(shape, starts, columns, x, y):
    held, out = Held(), np.empty(len(columns), x.dtype)
    call("sddmm", x.dtype)(csr(held, shape, starts, columns, None), x.shape[1], held(x), held(y), held(out))
    return out


def bsr_sddmm(shape, block_size, starts, columns, x, y):
    held, out = Held(), np.zeros((len(columns), block_size, block_size), x.dtype)
    call("bsr_sddmm", x.dtype)(bsr(held, shape, block_size, starts, columns, None), x.shape[1], held(x), held(y),
                               held(out))
    return out


def screened_spmm(a, row_bound, column_bound, limit, b, trans_a=False):
    held = Held()
    rows, columns = len(row_bound), len(column_bound)
    out = np.empty((rows, b.shape[1]), b.dtype)
    call("screened_spmm", b.dtype)(rows, columns, b.shape[1], trans_a, held(a), held(row_bound), held(column_bound),
                                   limit, held(b), held(out))
    return out


def spgemm(a_shape, a, b_shape, b):
    """a and b are (starts, columns, values); gives the same of the product."""
    held = Held()
    left, right = csr(held, a_shape, *a), csr(held, b_shape, *b)
    starts, columns = (np.array(v, np.int64) for v in native.spgemm_places(left, right))
    values = np.empty(len(columns), a[2].dtype)
    places = csr(held, (a_shape[0], b_shape[1]), starts, columns, None)
    call("spgemm", a[2].dtype)(left, right, places, held(values))
    return starts, columns, values
