"""Calls that are over soon, on NumPy arrays: natively the loops of NumPy's pocketfft. Of a transform along the last
axis of which nothing else is asked, also the call of a plan. All others give None and go the long way."""

import math

import numpy as np

from kiln._kiln import blas as _choice
from kiln._kiln import fft as _native
from kiln.blas._backend import note_precision, scope

from . import precision
from ._loops import LOOPS, SINGLE, call
from ._rows import FORWARD, INVERSE, WHOLE

_COMPLEX = {np.dtype(np.complex64): np.dtype(np.complex64), np.dtype(np.complex128): np.dtype(np.complex128)}
_TO_COMPLEX = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}
_TO_REAL = {wide: real for real, wide in _TO_COMPLEX.items()}
_ANY = {**_COMPLEX, **_TO_COMPLEX}
# dtypes that a name takes and gives, what kind of transform it is, and whether its exponent is positive
_NAMES = {"fft": (_COMPLEX, WHOLE, False), "ifft": (_COMPLEX, WHOLE, True), "rfft": (_TO_COMPLEX, FORWARD, False),
          "irfft": (_TO_REAL, INVERSE, True)}
_HERMITIAN = {"hfft": "irfft", "ihfft": "rfft"}  # with conjugates before or behind it, and the other norm
ARGUMENTS = frozenset(("n", "axis", "norm", "dim"))


def _is_native(backend):
    return backend == "native" or (backend is None and _choice.current_backend("FFT") == "native")


def _scale(norm, n, positive):
    """The factor of a transform; None for a word that is none."""
    if norm is None or norm == "backward":
        return 1 / n if positive else 1.0
    if norm == "forward":
        return 1.0 if positive else 1 / n
    return 1 / math.sqrt(n) if norm == "ortho" else None


def plain(name):
    """The function of that name for one array and a backend, or None."""
    if not LOOPS:
        return None
    if name in _NAMES:
        return _along_last(name)
    if name in _HERMITIAN:
        told = with_arguments(name)
        return lambda x, backend: told(x, backend)
    return _several(name) if name.rstrip("2n") in _NAMES else None


def _along_last(name):
    dtypes, kind, positive = _NAMES[name]
    told = with_arguments(name)

    def transform(x, backend):
        if type(x) is not np.ndarray:
            return None
        dtype, shape = dtypes.get(x.dtype), x.shape
        if dtype is None or not x.size or precision.get_precision() != "fast":
            return told(x, backend) if kind == WHOLE and x.dtype in _TO_COMPLEX else None
        n = shape[-1] if kind != INVERSE else 2 * (shape[-1] - 1)
        if n < 1:
            return None
        native = _is_native(backend)
        if not native and (x.dtype not in SINGLE or not x.flags.c_contiguous or not x.flags.aligned):
            return None
        scale = 1 / n if positive else 1.0
        out = np.empty((*shape[:-1], n // 2 + 1 if kind == FORWARD else n), dtype)
        note_precision()
        if native:
            call(name, n, x, scale, out)
            _native.note_transform(n, x.size // shape[-1], kind, positive, scale)
        else:
            with scope(backend):
                _native.transform(n, x.size // shape[-1], kind, positive, scale, 0, x.ctypes.data,
                                  out.ctypes.data)
        return out

    return transform


def with_arguments(name):
    """The same, natively, with a length, an axis and a norm; None where there is no such function."""
    base = _HERMITIAN.get(name, name)
    if base not in LOOPS:
        return None
    dtypes, kind, positive = _NAMES[base]
    dtypes = _ANY if kind == WHOLE else dtypes
    of_norm = positive != (name in _HERMITIAN)

    def transform(x, backend, n=None, axis=None, norm=None, dim=None):
        if type(x) is not np.ndarray or not x.size or precision.get_precision() != "fast" or not _is_native(backend):
            return None
        dtype, shape = dtypes.get(x.dtype), x.shape
        axis = -1 if axis is None and dim is None else dim if axis is None else axis
        if dtype is None or type(axis) is not int or not -len(shape) <= axis < len(shape):
            return None
        have = shape[axis]
        n = (2 * (have - 1) if kind == INVERSE else have) if n is None else n
        scale = _scale(norm, n, of_norm) if type(n) is int and n > 0 else None
        if scale is None or (axis is not dim and dim is not None):
            return None
        axis %= len(shape)
        out = np.empty((*shape[:axis], n // 2 + 1 if kind == FORWARD else n, *shape[axis + 1:]), dtype)
        given = np.conjugate(x) if name == "hfft" else x
        note_precision()
        call(base, n, given, scale, out, axis)
        _native.note_transform(n, x.size // have, kind, positive, scale)
        return np.conjugate(out, out=out) if name == "ihfft" else out

    return transform


def _several(name):
    """Transforms along the last two axes, or along all of them, natively."""
    base = name.rstrip("2n")
    dtypes, kind, positive = _NAMES[base]
    dtypes = _ANY if kind == WHOLE else dtypes
    others = "ifft" if positive else "fft"

    def transform(x, backend):
        if type(x) is not np.ndarray or not x.size or precision.get_precision() != "fast" or not _is_native(backend):
            return None
        dtype, shape = dtypes.get(x.dtype), x.shape
        if dtype is None or len(shape) < 2:
            return None
        n = 2 * (shape[-1] - 1) if kind == INVERSE else shape[-1]
        if n < 1:
            return None
        last = len(shape) - 1
        rest = range(last - 1 if name[-1] == "2" else 0, last)
        out = np.empty((*shape[:-1], n // 2 + 1 if kind == FORWARD else n), dtype)
        note_precision()

        def along(name, given, axis, length, to):
            scale = 1 / length if positive else 1.0
            call(name, length, given, scale, to, axis)
            _native.note_transform(length, x.size // shape[axis], kind if axis == last else WHOLE, positive, scale)
            return to

        if kind == INVERSE:
            between = np.empty(shape, x.dtype)
            for axis in rest:
                x = along(others, x, axis, shape[axis], between)
            return along(base, x, last, n, out)
        y = along(base, x, last, n, out)
        for axis in reversed(rest):
            along(others, y, axis, shape[axis], y)
        return y

    return transform
