"""Transforms of powers of 4, of 8, and of 2 under the names that trnfft has for its Stockham algorithms. They are plans
here as all others; lengths that the algorithm of that name has not are refused, as there."""

from ._refused import Refused
from .fft_core import fft_core


def _power_of(x, base, radix):
    n = x.shape[-1]
    power = base
    while power < n:
        power *= base
    if power != n:
        raise Refused(f"x: Stockham radix-{radix} requires N={base}^k; got N={n}")


def stockham_radix4(x, inverse=False):
    """The transform of 4^k numbers along the last axis."""
    _power_of(x, 4, 4)
    return fft_core(x, inverse)


def stockham_radix8(x, inverse=False):
    """The transform of 8^k numbers along the last axis."""
    _power_of(x, 8, 8)
    return fft_core(x, inverse)


def stockham_mixed_radix(x, inverse=False):
    """The transform of 2^k numbers along the last axis."""
    _power_of(x, 2, "mixed")
    return fft_core(x, inverse)
