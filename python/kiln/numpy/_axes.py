"""Axes as NumPy's functions take them."""

import operator

import numpy as np


def axis_of(axis, ndim):
    """The axis counted from 0."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def axes_of(axis, ndim):
    """The axes of axis=, sorted."""
    if axis is None:
        return list(range(ndim))
    axes = [axis_of(a, ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return sorted(axes)
