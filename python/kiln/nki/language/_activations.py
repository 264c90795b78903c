"""Elementwise functions of one operand."""

from kiln import _kiln
from kiln._trace import version
from kiln.nki import isa as nisa
from kiln.nki.language import _tiles
from kiln.nki.language._tokens import token

# Functions that are one activation of the scalar engine: all but those that other engines or several instructions do
# better, and prelu, which takes a parameter.
OTHERWISE = ("abs", "copy", "prelu", "reciprocal", "rsqrt", "sin")
ACTIVATIONS = [name for name in _kiln.activations() if name not in OTHERWISE]


def _activation(name):
    def function(x, dtype=None):
        _tiles.require_tile(name, x)
        dst = _tiles.like(x, dtype)
        nisa.activation(dst, token(name), x)
        return dst

    function.__doc__ = f"The activation nl.{name} of x, elementwise, on the scalar engine."
    return function


def absolute(x, dtype=None):
    """|x|, elementwise."""
    _tiles.require_tile("abs", x)
    dst = _tiles.like(x, dtype)
    nisa.tensor_scalar(dst, x, token("abs"))
    return dst


def negative(x, dtype=None):
    """-x, elementwise."""
    _tiles.require_tile("negative", x)
    dst = _tiles.like(x, dtype)
    nisa.tensor_scalar(dst, x, token("multiply"), -1.0 if _tiles.is_float(x.dtype) else -1)
    return dst


def invert(x, dtype=None):
    """~x of integers: every bit flipped."""
    _tiles.require_tile("invert", x)
    dst = _tiles.like(x, dtype)
    nisa.tensor_scalar(dst, x, token("bitwise_xor"), -1)
    return dst


def logical_not(x, dtype=None):
    """x XOR 1: for 0 and 1 only; of other values take nl.equal(x, 0)."""
    _tiles.require_tile("logical_not", x)
    dst = _tiles.like(x, dtype)
    if _tiles.is_float(x.dtype) or dst.dtype.itemsize != x.dtype.itemsize or _tiles.is_float(dst.dtype):
        nisa.tensor_scalar(dst, x, token("logical_xor"), 1.0)
    else:
        nisa.tensor_scalar(dst, x, token("bitwise_xor"), 1)
    return dst


def reciprocal(x, dtype=None):
    """1 / x, elementwise, on the vector engine."""
    _tiles.require_tile("reciprocal", x)
    dst = _tiles.like(x, dtype)
    nisa.reciprocal(dst, x)
    return dst


def rsqrt(x, dtype=None):
    """1 / sqrt(x), elementwise, on gpsimd; x is in SBUF. Before NKI 0.5.0 an activation."""
    _tiles.require_tile("rsqrt", x)
    dst = _tiles.like(x, dtype)
    if not version.at_least("0.5.0"):
        nisa.activation(dst, token("rsqrt"), x)
        return dst
    nisa.tensor_scalar(dst, x, token("rsqrt"), 0.0)
    return dst


FUNCTIONS = {name: _activation(name) for name in ACTIVATIONS}
FUNCTIONS.update(abs=absolute, negative=negative, invert=invert, logical_not=logical_not, reciprocal=reciprocal,
                 rsqrt=rsqrt)
for _name, _function in FUNCTIONS.items():
    _function.__name__ = _function.__qualname__ = _name
