"""The loops of NumPy's pocketfft, without what its functions do around them, where NumPy has them under the names known
here; and what float32 leaves to do."""

import functools

import numpy as np

try:
    from numpy.fft import _pocketfft_umath as _loops
    LOOPS = {"fft": _loops.fft, "ifft": _loops.ifft, "irfft": _loops.irfft,
             "rfft": (_loops.rfft_n_even, _loops.rfft_n_odd)}
except (ImportError, AttributeError):
    LOOPS = {}

SINGLE = (np.dtype(np.complex64), np.dtype(np.float32))
_SHORTEST = 1024  # up to it convolutions in float32 are exact enough for all rows
# The largest square of a row over their mean, up to which errors of 1.3e-6 of that one's root may be too large.
_FLAT = 2.0


def loop_of(name, n):
    return LOOPS[name][n % 2] if name == "rfft" else LOOPS[name]


def call(name, n, x, scale, out, axis=-1, in_single=False):
    """NumPy's loops are those of the factor's type: float32 for float32 arrays, but where it is 1 and a Python number,
    as in numpy.fft, they compute in float64 and round once; `in_single`: there, too, they compute in float32."""
    single = x.dtype in SINGLE and (in_single or scale != 1.0)
    axes = [(axis,), (), (axis,)]
    loop_of(name, n)(x, np.float32(scale) if single else scale, out=out, axes=axes)
    if single and n > _SHORTEST and _is_convolution(n):
        _refine(name, n, np.moveaxis(x, axis, -1), scale, np.moveaxis(out, axis, -1))
    return out


@functools.lru_cache(maxsize=4096)
def _is_convolution(n):
    """Whether pocketfft may compute a transform of n numbers by a convolution: it has a prime factor above its root."""
    largest, left, p = 1, n, 2
    while p * p <= left:
        while left % p == 0:
            largest, left = p, left // p
        p += 1
    return max(largest, left) ** 2 > n


def _refine(name, n, x, scale, out):
    """Convolutions in float32 have errors of the size of all results together. Rows in which none stands out, those of
    pulses and chirps, are computed again in float64."""
    squares = out.real ** 2 + out.imag ** 2 if out.dtype.kind == "c" else out ** 2
    is_flat = squares.max(-1) < _FLAT * squares.mean(-1)  # NaN is not
    if not is_flat.any():
        return
    rows = np.asarray(x[is_flat], np.float64 if name == "rfft" else np.complex128)
    again = np.empty((*rows.shape[:-1], out.shape[-1]), np.float64 if name == "irfft" else np.complex128)
    loop_of(name, n)(rows, scale, out=again)
    out[is_flat] = again
