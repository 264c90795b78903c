"""Elementwise functions of two operands: tensor_tensor, or tensor_scalar with a number or a column."""

from kiln._trace import rules
from kiln._trace.errors import refuse
from kiln.nki import isa as nisa
from kiln.nki.language import _tiles
from kiln.nki.language._tokens import token

BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")

# Functions that are one ALU operator.
OPERATORS = {
    "add": "x + y", "subtract": "x - y", "multiply": "x * y",
    "maximum": "the larger of x and y", "minimum": "the smaller of x and y",
    "power": "x to the power y, on gpsimd; both are tiles in SBUF",
    "abs_max": "the one with the larger magnitude, y when they tie",
    "abs_min": "the one with the smaller magnitude, y when they tie",
    "equal": "1 where x == y, else 0", "not_equal": "1 where x != y, else 0",
    "less": "1 where x < y, else 0", "less_equal": "1 where x <= y, else 0",
    "greater": "1 where x > y, else 0", "greater_equal": "1 where x >= y, else 0",
    "bitwise_and": "x & y on raw bits", "bitwise_or": "x | y on raw bits", "bitwise_xor": "x ^ y on raw bits",
    "left_shift": "x << y", "right_shift": "x >> y with zero fill",
    "logical_and": "1 where x and y, else 0", "logical_or": "1 where x or y, else 0",
    "logical_xor": "1 where exactly one of x and y is true, else 0",
}


def binary(name, x, y, dtype=None):
    """A new SBUF tile with the operator applied to tiles, numbers or columns."""
    require_operands(name, x, y)
    op = token(name)
    if not _tiles.is_tile(y):
        dst = _tiles.like(x, dtype)
        nisa.tensor_scalar(dst, x, op, y)
    elif not _tiles.is_tile(x):
        dst = _tiles.like(y, dtype)
        nisa.tensor_scalar(dst, y, op, x, reverse0=True)
    else:
        dst = _tiles.new(joint_shape(name, x, y), dtype or joint_dtype(name, x, y))
        _with_tile(dst, name, x, y)
    return dst


def _with_tile(dst, name, x, y):
    op = token(name)
    if x.shape == y.shape:
        nisa.tensor_tensor(dst, x, y, op)
        return
    swapped = x.shape != dst.shape
    data, column = (y, x) if swapped else (x, y)
    if name in BITS or (column.dtype == "float32" and name != "power"):
        nisa.tensor_scalar(dst, data, op, column, reverse0=swapped)
        return
    # tensor_scalar takes float32 columns only, and knows no exact integers with them.
    wide = _tiles.spread(column, _tiles.free_size(dst))
    nisa.tensor_tensor(dst, *((wide, data) if swapped else (data, wide)), op)


def require_operands(name, x, y):
    for operand in (x, y):
        _tiles.require_number_or_tile(name, operand)
    if not _tiles.is_tile(x) and not _tiles.is_tile(y):
        refuse(rules.TILE, f"nl.{name} of two numbers",
               "compute with Python's operators while the kernel is traced")
    if name == "power" and not (_tiles.is_tile(x) and _tiles.is_tile(y)):
        refuse(rules.TILE, "nl.power with a number",
               "fill a tile: nl.full(x.shape, 2.0, x.dtype); or nisa.tensor_scalar(op0=nl.power), or nl.square")


def joint_shape(name, x, y):
    if x.shape == y.shape:
        return x.shape
    for wide, narrow in ((x, y), (y, x)):
        if narrow.shape[0] == wide.shape[0] and _tiles.is_column(narrow):
            return wide.shape
    rank = max(len(x.shape), len(y.shape))
    shape = tuple(max(t.shape[i] if i < len(t.shape) else 1 for t in (x, y)) for i in range(rank))
    refuse(rules.EQUAL_SHAPES, f"nl.{name} of {x.shape} and {y.shape}",
           f"expand one of them with nl.broadcast_to(tile, {shape})")


def joint_dtype(name, x, y):
    if x.dtype != y.dtype:
        refuse(rules.ONE_DTYPE, f"nl.{name} of {x.dtype} and {y.dtype}", dtype=x.dtype)
    return x.dtype


def _make(name, formula):
    def function(x, y, dtype=None):
        return binary(name, x, y, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula}, elementwise. x or y may be a number or a (P, 1) tile."
    return function


FUNCTIONS = {name: _make(name, formula) for name, formula in OPERATORS.items()}
