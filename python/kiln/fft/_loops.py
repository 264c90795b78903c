"""The loops of NumPy's pocketfft, without what its functions do around them, where NumPy has them under the names known
here; and what float32 leaves to do."""

import functools
import math

import numpy as np

from kiln._kiln import fft as _native

try:
    from numpy.fft import _pocketfft_umath as _loops
    LOOPS = {"fft": _loops.fft, "ifft": _loops.ifft, "irfft": _loops.irfft,
             "rfft": (_loops.rfft_n_even, _loops.rfft_n_odd)}
except (ImportError, AttributeError):
    LOOPS = {}

SINGLE = (np.dtype(np.complex64), np.dtype(np.float32))
_SHORTEST = 1024  # for shorter rows a look would take longer than a tenth of the transform
_LONG_SUM = 50  # prime factors of which pocketfft's errors in float32 may be near 1e-6 of the largest number


def loop_of(name, n):
    return LOOPS[name][n % 2] if name == "rfft" else LOOPS[name]


def call(name, n, x, scale, out, axis=-1, in_single=False):
    """NumPy's loops are those of the factor's type: float32 for float32 arrays, but where it is 1 and a Python number,
    as in numpy.fft, they compute in float64 and round once; `in_single`: there, too, they compute in float32."""
    single = x.dtype in SINGLE and (in_single or scale != 1.0)
    axes = [(axis,), (), (axis,)]
    loop_of(name, n)(x, np.float32(scale) if single else scale, out=out, axes=axes)
    if single and n > _SHORTEST and _has_long_sums(n):
        _refine(name, n, np.moveaxis(x, axis, -1), scale, np.moveaxis(out, axis, -1))
    return out


@functools.lru_cache(maxsize=4096)
def _has_long_sums(n):
    """Whether pocketfft computes a transform of n numbers by a convolution, or by sums of as many as a large prime."""
    largest, left, p = 1, n, 2
    while p * p <= left:
        while left % p == 0:
            largest, left = p, left // p
        p += 1
    return max(largest, left) >= _LONG_SUM


def _given(array):
    """(address, numbers of a row, floats of each)"""
    return array.ctypes.data, array.shape[-1], array.dtype.itemsize // 4


def _refine(name, n, x, scale, out):
    """Long sums in float32 have errors of the size of all results together. Rows for which these may be too large for
    the largest one, as of pulses, tones and chirps, are computed again in float64."""
    x = x[..., :n // 2 + 1 if name == "irfft" else n]
    if out.ndim == 1:
        x, out = x[None], out[None]
    numbers, results = np.ascontiguousarray(x), np.ascontiguousarray(out)
    found = _native.inexact_by_long_sums(math.prod(out.shape[:-1]), _given(numbers), _given(results))
    if not found:
        return
    rows = np.unravel_index(found, out.shape[:-1])
    wide = np.asarray(x[rows], np.float64 if name == "rfft" else np.complex128)
    again = np.empty((*wide.shape[:-1], out.shape[-1]), np.float64 if name == "irfft" else np.complex128)
    loop_of(name, n)(wide, scale, out=again)
    out[rows] = again
