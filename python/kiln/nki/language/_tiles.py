"""What the functions of nki.language share: operands, results and the views that broadcast."""

import numpy as np

from kiln import _kiln
from kiln._trace import memory, rules, views
from kiln._trace.errors import refuse

Tile = _kiln.NkiTensor


def is_tile(value):
    return isinstance(value, Tile)


def help_for(value, otherwise):
    """The remedy for what stands where a tile should: a call of nki.isa is told what it returns."""
    if isinstance(value, _kiln.NkiInstruction):
        return "a call of nki.isa returns no tile: pass the tile that it writes, its dst"
    return otherwise


def require_tile(function, value):
    """Refuses what is no tile in SBUF or PSUM."""
    if not is_tile(value):
        refuse(rules.TILE, f"an operand of nl.{function} is a {type(value).__name__}",
               help_for(value, "pass a tile, e.g. from nl.load"))
    if not memory.is_on_chip(value.buffer):
        refuse(rules.TILE, f"`{value.name}`, an operand of nl.{function}, is in {value.buffer.name}")


def require_number_or_tile(function, value):
    if isinstance(value, Tile):
        return require_tile(function, value)
    if not hasattr(value, "__float__") or getattr(value, "shape", ()) != ():
        refuse(rules.TILE, f"an operand of nl.{function} is a {type(value).__name__}",
               help_for(value, "pass a tile or a Python number"))


def new(shape, dtype, buffer=memory.sbuf, name=""):
    """A tensor, named after the variable that the user's call is assigned to."""
    return _kiln.new_tensor(shape, dtype, buffer, name)


def scratch(shape, dtype, buffer=memory.sbuf):
    """A tile that the user does not see."""
    return _kiln.new_tensor(shape, dtype, buffer, "scratch")


def like(x, dtype=None):
    """A new SBUF tile of x's shape, of x's dtype unless another is asked for."""
    return new(x.shape, dtype or x.dtype)


def dtype_name(dtype):
    """The name of a dtype of NKI or NumPy."""
    return str(dtype) if isinstance(dtype, str) else np.dtype(dtype).name


def is_float(dtype):
    return "float" in dtype


def is_int32(dtype):
    return dtype in ("int32", "uint32")


def is_column(x):
    """Whether x has one element per partition."""
    return views.size(x) == x.shape[0]


def spread(column, count):
    """A column seen as `count` equal elements per partition."""
    return views.broadcast(column.reshape((column.shape[0], 1)), 1, count)


def free_size(x):
    return views.size(x) // x.shape[0]


def without_ones(shape):
    return tuple(n for n in shape if n != 1)
