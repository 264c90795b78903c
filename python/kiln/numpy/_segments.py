"""np.add.reduceat and its like: reductions of segments whose bounds are known."""

import numpy as np

from kiln.numpy._array import as_array, known_of
from kiln.numpy._axes import axis_of
from kiln.numpy._dispatch import METHODS, write_out
from kiln.numpy._rules import DYNAMIC_SHAPE, refuse


def reduceat_method(which, array, indices, axis=0, dtype=None, out=None):
    x = as_array(array)
    axis = axis_of(axis, x.ndim)
    starts = known_of(indices)
    if starts is None:
        refuse(DYNAMIC_SHAPE, f"np.{which.__name__}.reduceat with bounds that are known at run time alone",
               "sum with np.add.at by the number of the segment", kind=TypeError)
    starts, n = [int(i) for i in starts.reshape(-1)], x.shape[axis]
    for i in starts:
        if not 0 <= i < n:
            raise IndexError(f"index {i} out-of-bounds in {which.__name__}.reduceat [0, {n})")
    parts = []
    for first, end in zip(starts, [*starts[1:], n]):
        part = x[(slice(None),) * axis + (slice(first, end if end > first else first + 1),)]
        parts.append(which.reduce(part, axis=axis, dtype=dtype, keepdims=True))
    made = np.concatenate(parts, axis=axis) if parts else x[(slice(None),) * axis + (slice(0, 0),)].copy()
    return made if out is None else write_out(made, out, which.__name__)


METHODS[None, "reduceat"] = reduceat_method
