"""Convolutions by transforms."""

from . import api
from ._call import Data, function
from .helpers import next_fast_len


@function
def fftconvolve(in1, in2, mode="full", axis=-1, *, precision=None):
    """The convolution of two signals along an axis, as scipy.signal.fftconvolve: 'full', 'same' or 'valid'."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode: {mode!r}, expected 'full', 'same' or 'valid'")
    a, b = Data(in1, "in1"), Data(in2, "in2")
    n1, n2 = a.shape[axis], b.shape[axis]
    if n1 == 0 or n2 == 0:
        raise ValueError("in1: there is nothing to convolve")
    full = n1 + n2 - 1
    n = next_fast_len(full)
    options = {"axis": axis, "precision": precision}
    if a.is_complex or b.is_complex:
        y = api.ifft(api.fft(in1, n, **options) * api.fft(in2, n, **options), n, **options)
    else:
        y = api.irfft(api.rfft(in1, n, **options) * api.rfft(in2, n, **options), n, **options)
    first, size = 0, full
    if mode == "same":
        first, size = (full - n1) // 2, n1
    elif mode == "valid":
        first, size = min(n1, n2) - 1, abs(n1 - n2) + 1
    return y[(slice(None),) * (axis % len(a.shape)) + (slice(first, first + size),)]


def convolve(a, v, mode="full", **options):
    """numpy.convolve of vectors, by transforms."""
    if Data(a, "a").shape[-1] < Data(v, "v").shape[-1]:
        a, v = v, a  # as in NumPy: 'same' is as long as the longer one
    return fftconvolve(a, v, mode, **options)
