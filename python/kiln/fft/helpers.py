"""Frequencies and orders of numbers, as in numpy.fft and torch.fft; nothing is computed on a device."""

import numpy as np

from kiln.blas._arrays import torch_of

from ._axes import length, listed, whole
from .complex import ComplexTensor


def fftfreq(n, d=1.0, *, xp=None, device=None):
    """Frequencies of the numbers of a transform of n samples that are d apart: an array of NumPy, which is the only
    `xp`, in memory, which is the only `device`."""
    return _numpy_alone(xp).fft.fftfreq(length(n, None), d, device=device)


def rfftfreq(n, d=1.0, *, xp=None, device=None):
    return _numpy_alone(xp).fft.rfftfreq(length(n, None), d, device=device)


def _numpy_alone(xp):
    if xp is not None and not getattr(xp, "__name__", "").endswith("numpy"):
        raise ValueError(f"xp: {xp!r}, expected numpy")
    return np


def _shifted(x, axes, dim, sign):
    axes = dim if axes is None else axes
    if isinstance(x, ComplexTensor):
        return ComplexTensor(_shifted(x.real, axes, None, sign), _shifted(x.imag, axes, None, sign))
    torch = torch_of(x)
    array = x if torch is not None else np.asarray(x)
    axes = tuple(range(array.ndim) if axes is None else listed(axes, "axes"))
    steps = [sign * (array.shape[a] // 2) if sign > 0 else -(array.shape[a] // 2) for a in axes]
    return torch.roll(array, steps, axes) if torch is not None else np.roll(array, steps, axes)


def fftshift(x, axes=None, *, dim=None):
    """The number of frequency zero in the middle."""
    return _shifted(x, axes, dim, 1)


def ifftshift(x, axes=None, *, dim=None):
    """The inverse of fftshift."""
    return _shifted(x, axes, dim, -1)


def next_fast_len(target, real=False):
    """The shortest length from `target` on whose prime factors are at most 11, those of real transforms at most 5, as
    scipy.fft has it. Such lengths are products of a device's factors."""
    n = _positive(target)
    return min(m << (-(-n // m) - 1).bit_length() for m in _odd_products(2 * n, real))


def prev_fast_len(target, real=False):
    """The longest such length up to `target`."""
    n = _positive(target)
    return max(m << ((n // m).bit_length() - 1) for m in _odd_products(n, real))


def _positive(target):
    n = whole(target, "target")
    if n < 1:
        raise ValueError(f"target: {n}, expected at least 1")
    return n


def _odd_products(most, real):
    """All products of 3 and 5, or of 3, 5, 7 and 11, up to a number."""
    found = [1]
    for prime in (3, 5) if real else (3, 5, 7, 11):
        for m in found:  # it grows while it is walked
            if m * prime <= most:
                found.append(m * prime)
    return found
