"""Frequencies and orders of numbers, as in numpy.fft and torch.fft; nothing is computed on a device."""

import numpy as np

from kiln.blas._arrays import torch_of

from ._axes import length, whole
from .complex import ComplexTensor


def fftfreq(n, d=1.0):
    """Frequencies of the numbers of a transform of n samples that are d apart."""
    return np.fft.fftfreq(length(n, None), d)


def rfftfreq(n, d=1.0):
    return np.fft.rfftfreq(length(n, None), d)


def _shifted(x, axes, dim, sign):
    axes = dim if axes is None else axes
    if isinstance(x, ComplexTensor):
        return ComplexTensor(_shifted(x.real, axes, None, sign), _shifted(x.imag, axes, None, sign))
    torch = torch_of(x)
    array = x if torch is not None else np.asarray(x)
    axes = range(array.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    axes = tuple(axes)
    steps = [sign * (array.shape[a] // 2) if sign > 0 else -(array.shape[a] // 2) for a in axes]
    return torch.roll(array, steps, axes) if torch is not None else np.roll(array, steps, axes)


def fftshift(x, axes=None, *, dim=None):
    """The number of frequency zero in the middle."""
    return _shifted(x, axes, dim, 1)


def ifftshift(x, axes=None, *, dim=None):
    """The inverse of fftshift."""
    return _shifted(x, axes, dim, -1)


def next_fast_len(target, real=False):
    """The shortest length from `target` on that has factors up to 128 only, two or three of them."""
    n = whole(target, "target")
    if n < 1:
        raise ValueError(f"target: {n}, expected at least 1")
    while not _has_factors(n):
        n += 1
    return n


def _has_factors(n):
    for f in range(2, 128):
        while n % f == 0:
            n //= f
    return n == 1
