"""Making tensors: empty, filled, constant."""

from kiln import _kiln
from kiln._trace import arrays, env, memory, rules, traced_kernel, views
from kiln._trace.errors import refuse
from kiln._trace.warnings import warn_not_portable
from kiln.nki import isa as nisa
from kiln.nki.language import _tiles

import numpy as np

__all__ = ["empty_like", "full", "ndarray", "ones", "shared_constant", "shared_identity_matrix", "tensor", "zeros",
           "zeros_like"]

_STAGING_BYTES = 8192  # per partition, of the tile that fills HBM


def _take_name(name):
    taken = traced_kernel.running("nl.ndarray").names
    if name in taken:
        warn_not_portable(f"the name `{name}` is in use", "give every tensor a name of its own, or none")
    taken.add(name)


class ndarray(metaclass=_kiln.NdarrayType):
    """An uninitialised tensor. Also the type that annotations name."""

    def __new__(cls, shape, dtype, buffer=memory.sbuf, name="", address=None, **kwargs):
        if kwargs:
            raise TypeError(f"nl.ndarray() got an unexpected keyword argument {next(iter(kwargs))!r}")
        made = _kiln.new_tensor(shape, dtype, buffer, name, address)
        if name:
            _take_name(name)
        return made


tensor = ndarray


def full(shape, fill_value, dtype, buffer=memory.sbuf, name=""):
    """A tensor filled with one number; tensors in HBM are filled by DMA from a tile in SBUF."""
    result = ndarray(shape, dtype, buffer, name)
    value = _value_for(result.dtype, fill_value)
    if memory.is_on_chip(result.buffer):
        nisa.memset(result, value)
    else:
        fill_hbm(result, lambda tile: nisa.memset(tile, value))
    return result


def zeros(shape, dtype, buffer=memory.sbuf, name=""):
    """A tensor filled with 0."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape, dtype, buffer=memory.sbuf, name=""):
    """A tensor filled with 1."""
    return full(shape, 1, dtype, buffer, name)


def zeros_like(x, dtype=None, buffer=None, name=""):
    """Zeros in x's shape and dtype, in SBUF unless another buffer is named."""
    _require_tensor("zeros_like", x)
    return full(x.shape, 0, dtype or x.dtype, buffer or memory.sbuf, name)


def empty_like(x, dtype=None, buffer=None, name=""):
    """An uninitialised tensor in x's shape, dtype and buffer."""
    _require_tensor("empty_like", x)
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def _require_tensor(function, x):
    if not isinstance(x, _tiles.Tile):
        refuse(rules.ARGUMENT_KIND, f"nl.{function} of a {type(x).__name__}",
               "pass a tensor, or nl.zeros(shape, dtype)")


def _value_for(dtype, value):
    """Integer tensors take integers: 2.0 means 2 there."""
    if isinstance(value, _tiles.Tile):
        refuse(rules.ARGUMENT_KIND, "fill_value is a tensor", "pass a number, or copy the tile with nl.broadcast_to")
    if not _tiles.is_float(dtype) and not isinstance(value, int) and float(value).is_integer():
        return int(value)
    return value


def fill_hbm(dst, fill, again=False):
    """Has `fill` write a tile in SBUF, once or again for every copy, and copies it all over dst."""
    flat = dst.reshape((views.size(dst),))
    tile = _tiles.scratch(staging_shape(dst), dst.dtype)
    for first, part in pieces(views.size(dst), tile):
        if again or first == 0:
            fill(tile)
        nisa.dma_copy(flat[first:first + views.size(part)], part)


def staging_shape(dst):
    """The shape of the tile through which a tensor in HBM is filled."""
    partitions = env.chip().partitions
    columns = min(-(-views.size(dst) // partitions), _STAGING_BYTES // dst.dtype.itemsize)
    return min(partitions, -(-views.size(dst) // columns)), columns


def pieces(size, tile):
    """(first element, part of the tile) of the copies that cover `size` elements: whole rows, then a part of one."""
    rows, columns = tile.shape
    first = 0
    while size - first >= columns:
        part = tile[0:min(rows, (size - first) // columns)]
        yield first, part
        first += views.size(part)
    if first < size:
        yield first, tile[0:1, 0:size - first]


def shared_constant(constant):
    """A NumPy array, or the .npy file at a path, as a tensor in shared HBM. Kernels read it, never write it."""
    kernel = traced_kernel.running("nl.shared_constant")
    if isinstance(constant, str) or hasattr(constant, "__fspath__"):
        constant = _array_of_file(constant)
    if not isinstance(constant, np.ndarray):
        refuse(rules.ARGUMENT_KIND, f"nl.shared_constant of a {type(constant).__name__}",
               "pass a NumPy array or the path of a .npy file")
    arrays.require_unmasked(constant, "the argument of nl.shared_constant")
    tensor = kernel.constant(constant)
    if kernel.note_constant(tensor) not in (None, tensor.name):
        refuse(rules.SAME_CONSTANT, "core 1 gives it other data than core 0")
    return tensor


def _array_of_file(path):
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        refuse(rules.ARGUMENT_KIND, f"nl.shared_constant of the file {path}: {error}",
               "pass the path of a file that np.save wrote")


def shared_identity_matrix(n, dtype="uint8", dst=None):
    """The n x n identity in SBUF, loaded from a constant into dst or a new tile."""
    if dst is None:
        dst = _tiles.new((n, n), dtype)
    elif dst.shape != (n, n):
        refuse(rules.TILE_LAYOUT, f"dst of nl.shared_identity_matrix({n}) has shape {dst.shape}",
               f"pass a ({n}, {n}) tile")
    nisa.dma_copy(dst, shared_constant(np.eye(n, dtype=arrays.numpy_dtype(dst.dtype))))
    return dst
