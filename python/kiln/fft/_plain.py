"""Calls of which nothing is asked but a transform along the last axis of a NumPy array: natively the loops of NumPy's
pocketfft without the arguments around them, where NumPy has them under the names known here, else a plan."""

import numpy as np

from kiln._kiln import blas as _choice
from kiln._kiln import fft as _native
from kiln.blas._backend import note_precision, scope

from . import precision
from ._rows import FORWARD, INVERSE, WHOLE

try:
    from numpy.fft import _pocketfft_umath as _loops
    _LOOPS = {"fft": _loops.fft, "ifft": _loops.ifft, "irfft": _loops.irfft,
              "rfft": (_loops.rfft_n_even, _loops.rfft_n_odd)}
except (ImportError, AttributeError):
    _LOOPS = {}

_COMPLEX = {np.dtype(np.complex64): np.dtype(np.complex64), np.dtype(np.complex128): np.dtype(np.complex128)}
_TO_COMPLEX = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}
_SINGLE = (np.dtype(np.complex64), np.dtype(np.float32))
_TO_REAL = {wide: real for real, wide in _TO_COMPLEX.items()}
# dtypes that a name takes and gives, what kind of transform it is, and whether its exponent is positive
_NAMES = {"fft": (_COMPLEX, WHOLE, False), "ifft": (_COMPLEX, WHOLE, True), "rfft": (_TO_COMPLEX, FORWARD, False),
          "irfft": (_TO_REAL, INVERSE, True)}


def plain(name):
    """The function of that name for one array and a backend: the result, or None where it is not such a call."""
    if name not in _LOOPS:
        return None
    loop, (dtypes, kind, positive) = _LOOPS[name], _NAMES[name]

    def transform(x, backend):
        if type(x) is not np.ndarray:
            return None
        dtype, shape = dtypes.get(x.dtype), x.shape
        if dtype is None or not x.size or precision.get_precision() != "fast":
            return None
        n = shape[-1] if kind != INVERSE else 2 * (shape[-1] - 1)
        if n < 1:
            return None
        native = backend == "native" or (backend is None and _choice.current_backend("FFT") == "native")
        if not native and (x.dtype not in _SINGLE or not x.flags.c_contiguous):
            return None
        scale = 1 / n if positive else 1.0
        out = np.empty((*shape[:-1], n // 2 + 1 if kind == FORWARD else n), dtype)
        note_precision()
        if native:
            (loop[n % 2] if kind == FORWARD else loop)(x, scale, out=out)
            _native.note_transform(n, x.size // shape[-1], kind, positive, scale)
        else:
            with scope(backend):
                _native.transform(n, x.size // shape[-1], kind, positive, scale, 0, x.ctypes.data,
                                  out.ctypes.data)
        return out

    return transform
