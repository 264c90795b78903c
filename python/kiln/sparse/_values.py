"""What formats do with the values they hold, NumPy arrays or torch tensors; on tensors everything is differentiable.

Indices are NumPy arrays of int64 here, whatever the caller's are.
"""

import sys

import numpy as np

from kiln.blas._arrays import to_numpy, torch_of


class ShapeError(ValueError, AssertionError):
    """Arguments whose shapes do not fit; an AssertionError too, since that is what trnsparse raises."""


def require(fits, message):
    if not fits:
        raise ShapeError(message)


def index_array(value, name):
    """Indices of the caller as int64."""
    array = to_numpy(value, name)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"{name}: expected a vector of integers, found {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array, np.int64)


def indices_like(values, indices):
    """Indices of ours as the kind of the values."""
    torch = torch_of(values)
    indices = np.ascontiguousarray(indices, np.int64)
    return indices if torch is None else torch.from_numpy(indices).to(values.device)


def default_torch():
    """The module torch where the caller has loaded it: makers without an array to follow give its tensors then."""
    return sys.modules.get("torch")


def take(values, indices):
    return values[indices_like(values, indices)]


def zeros(values, shape):
    torch = torch_of(values)
    if torch is None:
        return np.zeros(shape, values.dtype)
    return torch.zeros(shape, dtype=values.dtype, device=values.device)


def placed(values, indices, size):
    """An array of `size` rows, zero but for values[i] at indices[i]; what falls on one place is added up."""
    out = zeros(values, (size, *values.shape[1:]))
    if torch_of(values) is None:
        np.add.at(out, indices, values) if len(indices) != len(np.unique(indices)) else out.__setitem__(indices, values)
        return out
    return out.index_add(0, indices_like(values, indices), values)


def largest(values, indices, size, has_zero):
    """The largest of the values of each of `size` groups, and zero where a group has one besides."""
    torch = torch_of(values)
    if torch is None:
        out = np.where(has_zero, 0, -np.inf).astype(values.dtype)
        np.maximum.at(out, indices, values)
        return out
    least = torch.full((size,), -np.inf, dtype=values.dtype, device=values.device)
    least[torch.from_numpy(has_zero).to(values.device)] = 0
    return least.scatter_reduce(0, indices_like(values, indices), values, "amax")


def joined(parts):
    torch = torch_of(parts[0])
    return np.concatenate(parts) if torch is None else torch.cat(list(parts))


def copied(array):
    return array.copy() if torch_of(array) is None else array.clone()


def contiguous(array):
    return np.ascontiguousarray(array) if torch_of(array) is None else array.contiguous()


def permuted(array, axes):
    return array.transpose(axes) if torch_of(array) is None else array.permute(axes)


def shape_of(shape, name="shape"):
    try:
        rows, columns = (int(s) for s in shape)
    except (TypeError, ValueError):
        raise ShapeError(f"{name}: {shape!r}, expected (rows, columns)") from None
    require(rows >= 0 and columns >= 0, f"{name}: {shape!r} has a negative size")
    return rows, columns


def starts_of(ids, count):
    """Where each of `count` groups begins, for ids in ascending order."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(ids, minlength=count), out=starts[1:])
    return starts


def ids_of(starts):
    """The group of each element."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
