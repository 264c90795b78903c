"""Routines of the native half, on NumPy arrays: row-major, by address."""

import numpy as np

from kiln._kiln import blas as routines

from ._arrays import LETTERS

ROWS = 101
NO_TRANS, TRANS, CONJ_TRANS = 111, 112, 113
UPLO = {"upper": 121, "lower": 122}
DIAG = {"nonunit": 131, "unit": 132}
SIDE = {"left": 141, "right": 142}
TRANSPOSES = {False: NO_TRANS, True: TRANS, None: NO_TRANS, "N": NO_TRANS, "T": TRANS, "C": CONJ_TRANS}


def transpose(value, name):
    """False, True, or a letter of BLAS."""
    key = value.upper() if isinstance(value, str) else value
    try:
        return TRANSPOSES[key]
    except (KeyError, TypeError):
        raise ValueError(f"{name}: {value!r}, expected False, True, 'N', 'T' or 'C'") from None


def routine(array, name, prefix=""):
    return getattr(routines, prefix + LETTERS[array.dtype] + name)


def call(array, name, *args, prefix=""):
    """Calls the routine for the dtype of an array. Vectors and matrices become addresses here, where they are held."""
    return invoke(routine(array, name, prefix), *args)


def invoke(function, *args):
    plain = []
    for arg in args:
        if isinstance(arg, (Vector, Matrix)):
            plain += arg.args
        else:
            plain.append(arg)
    return function(*plain)


class Vector:
    """A vector in memory: address and increment. Keeps the array alive."""

    def __init__(self, array):
        flat = array.reshape(-1) if array.ndim != 1 else array
        step = flat.strides[0] if flat.size > 1 else flat.itemsize
        if step <= 0 or step % flat.itemsize:
            flat = np.ascontiguousarray(flat)
            step = flat.itemsize
        self.array, self.n, self.inc = flat, flat.size, step // flat.itemsize
        self.address = flat.ctypes.data if flat.size else 0

    @property
    def args(self):
        return self.address, self.inc


class Matrix:
    """A matrix in memory, by rows: address and leading dimension."""

    def __init__(self, array):
        rows, columns = array.strides if array.ndim == 2 else (0, 0)
        size = array.itemsize
        if not (columns == size or array.shape[1] <= 1) or rows % size or rows < size * max(1, array.shape[1]):
            array = np.ascontiguousarray(array)
            rows = array.strides[0]
        self.array = array
        self.ld = max(1, array.shape[1], rows // size if array.shape[0] > 1 else 0)
        self.address = array.ctypes.data if array.size else 0

    @property
    def args(self):
        return self.address, self.ld


def operand(array, trans):
    """(matrix, transpose): one that lies by columns goes as the transpose of its rows."""
    if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous and trans != CONJ_TRANS:
        return Matrix(array.T), NO_TRANS if trans == TRANS else TRANS
    return Matrix(array), trans


def fresh(form, shape):
    return np.empty(shape, form.compute)
