"""Lengths, axes and norms as NumPy and torch have them."""

import math
import operator

import numpy as np

from ._refused import Invalid, Refused

NORMS = ("backward", "ortho", "forward")


def whole(value, name):
    """A whole number that a caller gave."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r}, expected a whole number") from None


def one_axis(axis, dim):
    """`axis` of NumPy or `dim` of torch."""
    if dim is not None:
        if axis is not None:
            raise Invalid("dim: it means axis, which is given too")
        axis = dim
    return -1 if axis is None else whole(axis, "dim")


def normal(axis, ndim, name="dim"):
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(f"{name}: {axis} is out of range for {ndim} dimensions")
    return axis % ndim


def listed(values, name):
    """Whole numbers that a caller gave: one, or several."""
    if np.ndim(values) == 0:
        values = (values,)
    return [whole(v, name) for v in values]


def listed_lengths(s):
    """The same of lengths, of which -1 and None are those that are there."""
    s = (s,) if np.ndim(s) == 0 else s
    return [-1 if n is None else whole(n, "s") for n in s]


def length(n, have, name="n"):
    if n is None:
        n = have
    n = whole(n, name)
    if n < 1:
        raise Invalid(f"{name}: Invalid number of FFT data points ({n}), expected at least 1")
    return n


def scale_of(norm, n, inverse):
    """The factor of a transform."""
    if norm is None:
        norm = "backward"
    if norm not in NORMS:
        raise unknown_norm(norm)
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


def unknown_norm(norm):
    """The words of SciPy and NumPy, which programs look for."""
    return Invalid(f'norm: Invalid norm value {norm!r}, should be "backward", "ortho" or "forward"')


def swapped(norm):
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def several(shape, s, axes, dim, may_repeat=False):
    """(lengths, axes) of a transform along several axes; one that repeats is transformed again, as NumPy has it."""
    if dim is not None:
        if axes is not None:
            raise Invalid("dim: it means axes, which are given too")
        axes = dim
    s = None if s is None else listed_lengths(s)
    if axes is None:
        axes = range(len(shape))
        if s is not None:
            if len(s) > len(shape):
                raise Refused(f"s: its shape requires more axes than are present: {len(s)} lengths for {len(shape)}")
            axes = axes[len(shape) - len(s):]
    axes = [normal(a, len(shape)) for a in listed(axes, "dim")]
    if len(set(axes)) != len(axes) and not may_repeat:
        raise Invalid(f"dim: axes repeat: {axes}")
    s = [-1] * len(axes) if s is None else s
    if len(s) != len(axes):
        raise Refused(f"s: {len(s)} lengths for {len(axes)} axes; when given, axes and shape arguments have to be of "
                      "the same length")
    lengths = [shape[a] if n == -1 else n for n, a in zip(s, axes)]
    if min(lengths, default=1) < 1:
        raise Invalid(f"s: invalid number of data points ({lengths}) specified, expected at least 1 of each")
    return lengths, axes
