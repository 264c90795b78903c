"""np.matmul, np.vecdot and the like, whose operands have core dimensions: axis=, axes= and keepdims= of them."""

import operator
import re

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array

_ONE = re.compile(r"\(([^)]*)\)")


def _cores(which):
    """How many core dimensions each operand has: inputs, then outputs."""
    return [len([n for n in part.split(",") if n.strip()]) for part in _ONE.findall(which.signature)]


def _tuples(which, axes, axis):
    """The core axes of each operand as tuples; None where they are the last."""
    cores = _cores(which)
    inputs = which.nin
    if axis is not None:
        if cores[:inputs] != [1] * inputs or any(cores[inputs:]):
            raise TypeError(f"{which.__name__}: axis can only be used with a single shared core dimension, not with "
                            f"the signature {which.signature}")
        return [(operator.index(axis),)] * inputs + [None] * which.nout
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    if len(axes) != len(cores) and not (len(axes) == inputs and not any(cores[inputs:])):
        raise ValueError("axes should be a list with an entry for all inputs and outputs; entries for outputs can only "
                         "be omitted if none of them has core axes.")
    made = [tuple(map(operator.index, a)) if isinstance(a, (tuple, list)) else (operator.index(a),) for a in axes]
    for given, core in zip(made, cores):
        if len(given) != core:
            raise np.exceptions.AxisError(f"{which.__name__}: an entry of axes has {len(given)} axes, not {core}")
    return made + [None] * (len(cores) - len(made))


def moved(which, inputs, axes, axis, keepdims):
    """(the inputs with core dimensions last, a function that brings results to where they belong)."""
    if axes is not None and axis is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    places = None if axes is None and axis is None else _tuples(which, axes, axis)
    if keepdims and _cores(which) != [1] * which.nin + [0] * which.nout:
        raise TypeError(f"{which.__name__} does not support keepdims: its signature {which.signature} requires that "
                        "all inputs have one core dimension, and no output any")
    if places is not None:
        inputs = [x if p is None else np.moveaxis(x, p, tuple(range(-len(p), 0))) for x, p in zip(inputs, places)]

    def placed(result):
        if keepdims:
            return np.expand_dims(result, -1 if axis is None else places[0][0])
        last = places[which.nin] if places is not None else None
        return result if not last else np.moveaxis(result, tuple(range(-len(last), 0)), last)

    return inputs, placed


def product(which, ours, inputs, kinds, dtype):
    """The product itself, of inputs whose core dimensions are the last."""
    from kiln.numpy._dispatch import _input

    loop = _dtypes.loop(which, kinds, dtype)
    return Array(ops.cast(ours(*(_input(x, t) for x, t in zip(inputs, loop))), loop[-1]))
