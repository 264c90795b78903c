"""Indices of the old API: slices, numbers, and affine index tiles made of nl.arange and nl.mgrid."""

import numpy as np

from kiln._trace import memory

from .notes import NotRewritten


def part(view, key):
    """The view that a key names. Index arrays broadcast against each other, as NumPy's do."""
    key = key if isinstance(key, tuple) else (key,)
    key = _without_ellipsis(key, len(view.shape))
    if not any(isinstance(k, np.ndarray) for k in key):
        return _by_slices(view, key)
    return _by_tiles(view, key)


def _without_ellipsis(key, rank):
    at = [i for i, k in enumerate(key) if k is Ellipsis]
    used = sum(k is not None and k is not Ellipsis for k in key)
    fill = (slice(None),) * (rank - used)
    if at:
        return key[:at[0]] + fill + key[at[0] + 1:]
    return key + fill


def _by_slices(view, key):
    drops, places, dim = [], [], 0
    for k in key:
        if k is None:
            places.append(dim - len(drops))
            continue
        if isinstance(k, (int, np.integer)):
            view = view.slice(dim, int(k), int(k) + 1)
            drops.append(dim)
        else:
            start, stop, step = k.indices(view.shape[dim])
            if (start, stop, step) != (0, view.shape[dim], 1):
                view = view.slice(dim, start, stop, step)
        dim += 1
    on_chip = memory.is_on_chip(view.buffer)
    for dim in reversed(drops):
        if len(view.shape) > (2 if on_chip else 1) and not (on_chip and dim == 0):
            view = view.squeeze_dim(dim)
    for at in reversed(places):
        view = view.expand_dim(at)
    return view


def _by_tiles(view, key):
    if any(k is None for k in key):
        raise NotRewritten("None among index tiles")
    return _pattern(view, [_as_array(k, n) for k, n in zip(key, view.shape)], view.strides)


def _pattern(view, arrays, strides):
    """The access pattern of index arrays over dimensions of these strides."""
    rank = max(a.ndim for a in arrays)
    arrays = [a.reshape((1,) * (rank - a.ndim) + a.shape) for a in arrays]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    offset, steps = 0, [0] * rank
    for a, stride in zip(arrays, strides):
        offset += int(a.flat[0]) * stride
        for axis in range(rank):
            steps[axis] += _step(a, axis) * stride
    pattern = [[step, int(n)] for step, n in zip(steps, shape)]
    if memory.is_on_chip(view.buffer) and pattern[0][1] == 1:
        pattern[0][0] = view.strides[0]
    return view.ap(pattern=pattern, offset=view.offset + offset)


def part_of_flat(view, shape, key):
    """What a key names in a tile that has more dimensions than a view: numbers, slices and at most one index tile per
    dimension, in order."""
    key = _without_ellipsis(key if isinstance(key, tuple) else (key,), len(shape))
    strides = [view.strides[0]] + [int(np.prod(shape[d + 1:])) for d in range(1, len(shape))]
    if any(isinstance(k, np.ndarray) for k in key):
        return _pattern(view, [_as_array(k, n) for k, n in zip(key, shape)], strides)
    offset, pattern = view.offset, []
    for k, n, stride in zip(key, shape, strides):
        if isinstance(k, (int, np.integer)):
            offset += int(k) * stride
            continue
        start, stop, step = k.indices(n)
        offset += start * stride
        pattern.append([step * stride, len(range(start, stop, step))])
    return view.ap(pattern=pattern, offset=offset)


def _as_array(k, size):
    if isinstance(k, np.ndarray):
        return k
    if isinstance(k, (int, np.integer)):
        return np.array(int(k))
    start, stop, step = k.indices(size)
    if stop - start > 1:
        raise NotRewritten("a slice among index tiles")
    return np.array(start)


def _step(a, axis):
    """How the index grows along an axis; it must do so evenly."""
    if a.shape[axis] == 1:
        return 0
    line = np.moveaxis(a, axis, 0).reshape(a.shape[axis], -1)[:, 0]
    step = int(line[1] - line[0])
    if int(line[-1] - line[0]) != step * (len(line) - 1):
        raise NotRewritten("an index that is not affine")
    return step


def box(mask):
    """How many elements a mask keeps along each axis: those in front, or the index is refused."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.all():
        return None
    sizes = []
    for axis in range(mask.ndim):
        kept = np.moveaxis(mask, axis, 0).reshape(mask.shape[axis], -1).any(axis=1)
        count = int(kept.sum())
        if not kept[:count].all():
            raise NotRewritten("a mask that does not keep the front")
        sizes.append(count if mask.shape[axis] > 1 else None)
    if int(mask.sum()) != int(np.prod([n or 1 for n in sizes])) and mask.any():
        raise NotRewritten("a mask that is no box")
    if not mask.any():
        return [0] * mask.ndim
    return sizes


def trimmed(view, sizes):
    """The front part of a view that a box names; sizes of None or beyond the view leave a dimension as it is."""
    if sizes is None:
        return view
    for dim, n in enumerate(sizes[:len(view.shape)]):
        if n is not None and n < view.shape[dim]:
            view = view.slice(dim, 0, n)
    return view
