"""Views: how a part of an array is read from it (`get`), written back into it (`put`), and seen on an array of the host
(`host`). All are pure: `put` returns the whole array anew. Who keeps the order shows C order as such."""

import numpy as np

from kiln.numpy import _ops as ops
from kiln.numpy._rules import READ_ONLY, refuse


class Reshape:
    __slots__ = ("before", "shape")
    keeps_order = True

    def __init__(self, before, shape):
        self.before, self.shape = before, shape

    def get(self, node):
        return ops.reshape(node, self.shape)

    def put(self, node, part):
        return ops.reshape(part, self.before)

    def host(self, array):
        return array.reshape(self.shape)


class Transpose:
    __slots__ = ("perm",)
    keeps_order = False

    def __init__(self, perm):
        self.perm = list(perm)

    def get(self, node):
        return ops.transpose(node, self.perm)

    def put(self, node, part):
        return ops.transpose(part, list(np.argsort(self.perm)))

    def host(self, array):
        return array.transpose(self.perm)


class Slices:
    """A range of each dimension, then the dimensions that a key leaves or inserts."""

    __slots__ = ("key", "shape", "sizes", "starts", "steps")
    keeps_order = True

    def __init__(self, key, starts, sizes, steps, shape):
        self.key, self.starts, self.sizes, self.steps, self.shape = key, starts, sizes, steps, shape

    def get(self, node):
        return ops.reshape(ops.slices(node, list(self.starts), list(self.sizes), list(self.steps)), self.shape)

    def put(self, node, part):
        return assign(node, list(self.starts), list(self.sizes), list(self.steps), ops.reshape(part, self.sizes))

    def host(self, array):
        return array[(*self.key, ...)]  # a view, also of one element


class At:
    """One index along an axis, that is known at run time alone, from 0 on."""

    __slots__ = ("axis", "index")
    keeps_order = True

    def __init__(self, axis, index):
        self.axis, self.index = axis, index

    def get(self, node):
        return ops.reshape(ops.dynamic_slice(node, self.index, self.axis, 1), self._without(node.shape))

    def put(self, node, part):
        part = ops.reshape(part, (*node.shape[:self.axis], 1, *node.shape[self.axis + 1:]))
        return ops.update_slice(node, part, self.index, self.axis)

    def host(self, array):
        """Of shape and strides alone: which elements they are, the host does not know."""
        return array[(slice(None),) * self.axis + (0,)] if array.shape[self.axis] else np.empty(
            self._without(array.shape), array.dtype)

    def _without(self, shape):
        return (*shape[:self.axis], *shape[self.axis + 1:])


class Bitcast:
    __slots__ = ("after", "before")
    keeps_order = True

    def __init__(self, before, after):
        self.before, self.after = before, after

    def get(self, node):
        return ops.bitcast(node, self.after)

    def put(self, node, part):
        return ops.bitcast(part, self.before)

    def host(self, array):
        return array.view(self.after)


class ReadOnly:
    """What is computed from the array on every read."""

    __slots__ = ("get", "host")
    keeps_order = False

    def __init__(self, get, host):
        self.get, self.host = get, host

    def put(self, node, part):
        refuse(READ_ONLY, "an assignment to a view that NumPy makes read-only", kind=ValueError)


def assign(base, starts, sizes, steps, part):
    """`base` with the elements of a slice replaced."""
    if 0 in sizes:
        return base
    backward = [i for i, s in enumerate(steps) if s < 0]
    for i in backward:
        starts[i], steps[i] = starts[i] + steps[i] * (sizes[i] - 1), -steps[i]
    part = ops.flip(part, backward) if backward else part
    return _assign(base, starts, sizes, steps, part, 0)


def _assign(base, starts, sizes, steps, part, axis):
    while axis < base.ndim and sizes[axis] == base.shape[axis]:
        axis += 1
    if axis == base.ndim:
        return part
    first, count, step, extent = starts[axis], sizes[axis], steps[axis], base.shape[axis]
    if count == 1:
        step = 1
    inner = ops.cut(base, axis, first, first + (count - 1) * step + 1, step)
    part = _assign(inner, starts, sizes, steps, part, axis + 1)
    if step == 1:
        return ops.concat([ops.cut(base, axis, 0, first), part, ops.cut(base, axis, first + count, extent)], axis)
    return _interleave(base, part, axis, first, count, step)


def _interleave(base, part, axis, first, count, step):
    """Every step-th element along an axis replaced: the part, spread out, where a mask says so."""
    extent, before, after = base.shape[axis], base.shape[:axis], base.shape[axis + 1:]
    number = bool_to_number(part)
    spread = ops.reshape(number, (*before, count, 1, *after))
    high = [0] * (base.ndim + 1)
    high[axis + 1] = step - 1
    spread = ops.reshape(ops.pad(spread, [0] * len(high), high), (*before, count * step, *after))
    spread = ops.cut(spread, axis, 0, min(count * step, extent - first))
    low, high = [0] * base.ndim, [0] * base.ndim
    low[axis], high[axis] = first, extent - first - spread.shape[axis]
    spread = ops.pad(spread, low, high)
    mask = np.zeros(extent, bool)
    mask[first:first + (count - 1) * step + 1:step] = True
    mask = ops.constant(mask.reshape([-1 if i == axis else 1 for i in range(base.ndim)]))
    return ops.cast(ops.where(mask, spread, bool_to_number(base)), base.dtype)


def bool_to_number(node):
    return ops.cast(node, np.dtype(np.uint8)) if node.dtype.kind == "b" else node
