"""What formats do with the values they hold, NumPy arrays or torch tensors; on tensors everything is differentiable.

Indices are NumPy arrays of int64 here, whatever the caller's are.
"""

import operator
import sys

import numpy as np

from kiln.blas._arrays import to_numpy, torch_of


class ShapeError(ValueError, AssertionError):
    """Arguments whose shapes do not fit; an AssertionError too, since that is what trnsparse raises."""


def require(fits, message):
    if not fits:
        raise ShapeError(message)


def array_of(value, name):
    """What the caller gives as a dense operand: an array or tensor as it is, a list as an array."""
    if hasattr(value, "tocsr"):
        raise TypeError(f"{name}: {type(value).__name__}, expected a dense array; from_scipy takes matrices of SciPy")
    return value if hasattr(value, "shape") else to_numpy(value, name)


def values_array(value, name, ndim):
    """Elements of a matrix, which may be a list too."""
    value = array_of(value, name)
    require(len(value.shape) == ndim, f"{name}: {len(value.shape)} dimensions, expected {ndim}")
    return value


def index_array(value, name, ndim=1):
    """Indices of the caller as int64."""
    array = to_numpy(value, name)
    if array.ndim != ndim or (array.size and array.dtype.kind not in "iu"):
        expected = "a vector" if ndim == 1 else "rows"
        raise TypeError(f"{name}: expected {expected} of integers, found {array.dtype} of shape {array.shape}")
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


def extremes(values, indices, size, has_zero, of):
    """The largest ("max") or smallest ("min") of the values of each of `size` groups, and zero where a group has one
    besides. Every group has a value or zero."""
    torch = torch_of(values)
    groups = np.concatenate([indices, np.flatnonzero(has_zero)])
    values = joined([values, zeros(values, (len(groups) - len(indices),))])
    if torch is None:
        first = np.zeros(size, np.int64)
        first[groups] = np.arange(len(groups))
        out = values[first]
        with np.errstate(invalid="ignore"):  # a NaN stays one
            {"max": np.maximum, "min": np.minimum}[of].at(out, groups, values)
        return out
    return zeros(values, (size,)).scatter_reduce(0, indices_like(values, groups), values, "a" + of, include_self=False)


def divided(values, factor):
    """values / factor in the dtype of the values; NaN and infinities as IEEE has them."""
    if torch_of(values) is not None:
        return values / factor
    with np.errstate(divide="ignore", invalid="ignore"):
        return values / (np.asarray(factor) if values.dtype.kind in "biu" else np.asarray(factor, values.dtype))


def widened(values):
    """Short integers and truth values as int64, as sums of them are."""
    if torch_of(values) is None:
        short = values.dtype.kind == "b" or values.dtype.kind in "iu" and values.dtype.itemsize < 8
        return values.astype(np.uint64 if values.dtype.kind == "u" else np.int64) if short else values
    return values if values.is_floating_point() or values.is_complex() else values.long()


def joined(parts):
    torch = torch_of(parts[0])
    return np.concatenate(parts) if torch is None else torch.cat(list(parts))


def copied(array):
    return array.copy() if torch_of(array) is None else array.clone()


def contiguous(array):
    return np.ascontiguousarray(array) if torch_of(array) is None else array.contiguous()


def permuted(array, axes):
    return array.transpose(axes) if torch_of(array) is None else array.permute(axes)


def size_of(value, name):
    """A number of rows, columns, queries."""
    try:
        size = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r}, expected a number of them") from None
    require(size >= 0, f"{name}: {size} is negative")
    return size


def shape_of(shape, name="shape"):
    try:
        rows, columns = (operator.index(s) for s in shape)
    except (TypeError, ValueError):
        raise ShapeError(f"{name}: {shape!r}, expected (rows, columns)") from None
    require(rows >= 0 and columns >= 0, f"{name}: {shape!r} has a negative size")
    require(rows * columns < 2 ** 63, f"{name}: {shape!r}, expected fewer than 2^63 elements, stored or not")
    return rows, columns


def starts_of(ids, count):
    """Where each of `count` groups begins, for ids in ascending order."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(ids, minlength=count), out=starts[1:])
    return starts


def ids_of(starts):
    """The group of each element."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))
