"""divide, mod and fmod: the device has no such instruction, so they are steps here, and warn."""

import numpy as np

from kiln._trace.warnings import warn_not_portable
from kiln.nki import isa as nisa
from kiln.nki.language import _elementwise, _movement, _tiles
from kiln.nki.language._tokens import token


def _scratch(x):
    return _tiles.scratch(x.shape, "float32")


def _number(operand):
    """As a float; an int that is none stays one, so that the instruction which gets it says what is wrong."""
    try:
        return float(operand)
    except OverflowError:
        return operand


def divide(x, y, dtype=None):
    """x / y, elementwise, as x * (1 / y). The device has no division: this warns."""
    _elementwise.require_operands("divide", x, y)
    warn_not_portable("nl.divide, which the device does not have", "write nl.multiply(x, nl.reciprocal(y))")
    if not _tiles.is_tile(y):
        y = _number(y)
        with np.errstate(divide="ignore"):
            inverse = float(np.float32(1) / np.float32(y)) if isinstance(y, float) else y
        return _elementwise.binary("multiply", x, inverse, dtype)
    if _tiles.is_tile(x):
        dtype = dtype or _elementwise.joint_dtype("divide", x, y)
    inverse = _scratch(y)
    nisa.reciprocal(inverse, y)
    return _elementwise.binary("multiply", x, inverse, dtype or y.dtype)


def _float32(operand, shape):
    """A number or tile as a float32 tile of the given shape."""
    tile = _tiles.scratch(shape, "float32")
    if not _tiles.is_tile(operand):
        nisa.memset(tile, _number(operand))
    else:
        nisa.tensor_copy(tile, _movement.fitted("mod", operand, tile))
    return tile


def _remainder(x, y):
    """The remainder of x / y with the sign of x, exactly: both are float32 tiles. The quotient is taken off in digits
    of 12 bits, from the largest down; each is rounded to the nearest, so what is left stays within half a divisor."""
    left, divisor, part, large = (_scratch(x) for _ in range(4))
    nisa.tensor_scalar(divisor, y, token("abs"))
    # A quarter of x where it is so large that rounding the quotient up would go beyond float32.
    nisa.tensor_scalar(large, x, token("abs"), op1=token("greater_equal"), operand1=2.0**126)
    nisa.tensor_scalar(part, large, token("multiply"), -0.75, op1=token("add"), operand1=1.0)
    nisa.tensor_scalar(left, x, token("abs"))
    nisa.tensor_tensor(left, left, part, token("multiply"))
    for scales in range(_SCALES - 1, -1, -1):
        _take_digits(left, divisor, scales)
    nisa.scalar_tensor_tensor(part, left, token("less"), 0.0, token("multiply"), _finite(divisor))
    nisa.tensor_tensor(left, left, part, token("add"))
    for _ in range(2):
        _double(left, divisor, large)
    # NaN where x is infinite or y is 0: add |0 * x / y|.
    nisa.reciprocal(part, divisor)
    nisa.scalar_tensor_tensor(part, x, token("multiply"), 0.0, token("multiply"), part)
    nisa.tensor_scalar(part, part, token("abs"))
    nisa.tensor_tensor(left, left, part, token("add"))
    sign = _tiles.scratch(x.shape, "int32")
    nisa.tensor_scalar(sign, x.view("int32"), token("bitwise_and"), -2**31)
    nisa.tensor_tensor(left.view("int32"), left.view("int32"), sign, token("bitwise_or"))
    return left


def _double(left, divisor, where):
    """left = 2 * left modulo the divisor, where `where` is 1 and not 0."""
    part, beyond = _scratch(left), _tiles.scratch(left.shape, "uint8")
    nisa.tensor_tensor(part, left, where, token("multiply"))
    nisa.tensor_tensor(left, left, part, token("add"))
    nisa.tensor_tensor(beyond, left, divisor, token("greater_equal"))
    nisa.tensor_tensor(part, left, divisor, token("subtract"))
    nisa.tensor_copy_predicated(left, part, beyond)


_DIGIT = 12  # bits: such a digit times half of a float32's bits is exact
_SCALE_BITS, _SCALES = 120, 3  # ten digits each, three times: a quotient of two float32 has up to 277 bits


def _finite(x):
    """x, or the largest float32 where it is infinite."""
    finite = _scratch(x)
    nisa.tensor_scalar(finite, x, token("minimum"), float(np.finfo(np.float32).max))
    return finite


def _take_digits(left, y, scales):
    """left -= digit * y for the ten digits of left / y from bit 120 * scales on."""
    scaled, inverse, high, low = (_scratch(y) for _ in range(4))
    nisa.tensor_copy(scaled, y)
    for _ in range(scales):
        nisa.tensor_scalar(scaled, scaled, token("multiply"), 2.0**_SCALE_BITS)
    nisa.reciprocal(inverse, scaled)  # 0 where it is infinite, and so are the digits
    scaled = _finite(scaled)
    nisa.tensor_scalar(high.view("int32"), scaled.view("int32"), token("bitwise_and"), -(2**_DIGIT))
    nisa.tensor_tensor(low, scaled, high, token("subtract"))
    digit, part = _tiles.scratch(y.shape, "int16"), _scratch(y)
    for shift in range(_SCALE_BITS - _DIGIT, -1, -_DIGIT):
        nisa.scalar_tensor_tensor(digit, left, token("multiply"), 2.0**-shift, token("multiply"), inverse)
        for half in (high, low):
            nisa.scalar_tensor_tensor(part, digit, token("multiply"), -(2.0**shift), token("multiply"), half)
            nisa.tensor_tensor(left, left, part, token("add"))


def _towards_divisor(remainder, y):
    """Adds y where the remainder is not 0 and has the other sign."""
    negative, differs, moved = _scratch(y), _tiles.scratch(y.shape, "uint8"), _scratch(y)
    nisa.tensor_scalar(negative, remainder, token("less"), 0.0)
    nisa.scalar_tensor_tensor(negative, y, token("less"), 0.0, token("not_equal"), negative)
    nisa.scalar_tensor_tensor(differs, remainder, token("not_equal"), 0.0, token("multiply"), negative)
    nisa.tensor_tensor(moved, remainder, y, token("add"))
    nisa.tensor_copy_predicated(remainder, moved, differs)


def _modulus(name, sign_of_divisor):
    def function(x, y, dtype=None):
        _elementwise.require_operands(name, x, y)
        warn_not_portable(f"nl.{name}, which the device does not have",
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
