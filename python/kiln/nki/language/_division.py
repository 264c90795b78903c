"""divide, mod and fmod: the device has no such instruction, so they are steps here, and warn."""

import numpy as np

from kiln.nki import isa as nisa
from kiln.nki.language import _elementwise, _movement, _rules, _tiles
from kiln.nki.language._rounding import floor_into
from kiln.nki.language._tokens import token


def _scratch(x):
    return _tiles.scratch(x.shape, "float32")


def divide(x, y, dtype=None):
    """x / y, elementwise, as x * (1 / y). The device has no division: this warns."""
    _elementwise.require_operands("divide", x, y)
    _rules.warn_not_portable("nl.divide, which the device does not have", "write nl.multiply(x, nl.reciprocal(y))")
    if not _tiles.is_tile(y):
        with np.errstate(divide="ignore"):
            return _elementwise.binary("multiply", x, float(np.float32(1) / np.float32(y)), dtype)
    if _tiles.is_tile(x):
        dtype = dtype or _elementwise.joint_dtype("divide", x, y)
    inverse = _scratch(y)
    nisa.reciprocal(inverse, y)
    return _elementwise.binary("multiply", x, inverse, dtype or y.dtype)


def _float32(operand, shape):
    """A number or tile as a float32 tile of the given shape."""
    tile = _tiles.scratch(shape, "float32")
    if not _tiles.is_tile(operand):
        nisa.memset(tile, float(operand))
    else:
        nisa.tensor_copy(tile, _movement.fitted("mod", operand, tile))
    return tile


def _remainder(x, y):
    """The remainder of x / y with the sign of x, and y, both float32 tiles: |x| - floor(|x| / |y|) * |y|, corrected."""
    left, below, part = _scratch(x), _scratch(x), _scratch(x)
    nisa.tensor_scalar(left, x, token("abs"))
    nisa.tensor_scalar(below, y, token("abs"))
    nisa.reciprocal(part, below)
    nisa.tensor_tensor(part, left, part, token("multiply"))
    floor_into(part, part)
    nisa.tensor_tensor(part, part, below, token("multiply"))
    nisa.tensor_tensor(left, left, part, token("subtract"))
    # The quotient was rounded: it may be one too large or too small.
    nisa.scalar_tensor_tensor(part, left, token("less"), 0.0, token("multiply"), below)
    nisa.tensor_tensor(left, left, part, token("add"))
    nisa.tensor_tensor(part, left, below, token("greater_equal"))
    nisa.tensor_tensor(part, part, below, token("multiply"))
    nisa.tensor_tensor(left, left, part, token("subtract"))
    nisa.activation(part, token("sign"), x)
    nisa.tensor_tensor(left, left, part, token("multiply"))
    return left


def _towards_divisor(remainder, y):
    """Adds y where the remainder is not 0 and has the other sign."""
    differs, part = _scratch(y), _scratch(y)
    nisa.tensor_scalar(differs, remainder, token("less"), 0.0)
    nisa.scalar_tensor_tensor(differs, y, token("less"), 0.0, token("not_equal"), differs)
    nisa.scalar_tensor_tensor(differs, remainder, token("not_equal"), 0.0, token("multiply"), differs)
    nisa.tensor_tensor(part, differs, y, token("multiply"))
    nisa.tensor_tensor(remainder, remainder, part, token("add"))


def _modulus(name, sign_of_divisor):
    def function(x, y, dtype=None):
        _elementwise.require_operands(name, x, y)
        _rules.warn_not_portable(f"nl.{name}, which the device does not have",
                                 "write nl.subtract(x, nl.multiply(nl.floor(nl.multiply(x, nl.reciprocal(y))), y))")
        tiles = [t for t in (x, y) if _tiles.is_tile(t)]
        shape = _elementwise.joint_shape(name, *tiles) if len(tiles) == 2 else tiles[0].shape
        dst = _tiles.new(shape, dtype or _elementwise.joint_dtype(name, tiles[0], tiles[-1]))
        x, y = _float32(x, shape), _float32(y, shape)
        result = _remainder(x, y)
        if sign_of_divisor:
            _towards_divisor(result, y)
        nisa.tensor_copy(dst, result)
        return dst

    sign = "y" if sign_of_divisor else "x"
    function.__doc__ = f"The remainder of x / y with the sign of {sign}. The device has none: this warns."
    return function


FUNCTIONS = {"divide": divide, "mod": _modulus("mod", True), "fmod": _modulus("fmod", False)}
for _name, _function in FUNCTIONS.items():
    _function.__name__ = _function.__qualname__ = _name
