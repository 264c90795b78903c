"""Lengths, axes and norms as NumPy and torch have them."""

import math
import operator

from ._refused import Refused

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
            raise ValueError("dim: it means axis, which is given too")
        axis = dim
    return -1 if axis is None else whole(axis, "dim")


def normal(axis, ndim, name="dim"):
    if not -ndim <= axis < ndim:
        raise IndexError(f"{name}: {axis} is out of range for {ndim} dimensions")
    return axis % ndim


def length(n, have, name="n"):
    if n is None:
        n = have
    n = whole(n, name)
    if n < 1:
        raise ValueError(f"{name}: invalid number of data points ({n}), expected at least 1")
    return n


def scale_of(norm, n, inverse):
    """The factor of a transform."""
    if norm is None:
        norm = "backward"
    if norm not in NORMS:
        raise ValueError(f"norm: {norm!r}, expected one of {', '.join(repr(w) for w in NORMS)}")
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


def swapped(norm):
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def several(shape, s, axes, dim, default=None):
    """(lengths, axes) of a transform along several axes."""
    if dim is not None:
        if axes is not None:
            raise ValueError("dim: it means axes, which are given too")
        axes = dim
    if axes is None:
        axes = default
    if axes is None:
        axes = range(len(shape)) if s is None else range(len(shape) - len(s), len(shape))
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    axes = [normal(whole(a, "dim"), len(shape)) for a in axes]
    if len(set(axes)) != len(axes):
        raise ValueError(f"dim: axes repeat: {axes}")
    if s is None:
        s = [shape[a] for a in axes]
    s = (s,) if isinstance(s, int) else tuple(s)
    if len(s) != len(axes):
        raise Refused(f"s: {len(s)} lengths for {len(axes)} axes")
    return [length(None if n == -1 else n, shape[a], "s") for n, a in zip(s, axes)], axes
