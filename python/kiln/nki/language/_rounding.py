"""floor, ceil and trunc, from the conversion to integers, which rounds to the nearest."""

from kiln.nki import isa as nisa
from kiln.nki.language import _tiles
from kiln.nki.language._tokens import token

_INTEGRAL = 2.0**23  # float32 from here on are integers


def floor_into(dst, x, up=False):
    """dst = the integer below x, or above it; for magnitudes under 2^23. Larger ones are cut: as integers they would be
    computed with in float32."""
    nearest, off = _tiles.scratch(x.shape, "int32"), _tiles.scratch(x.shape, "float32")
    nisa.tensor_scalar(nearest, x, token("minimum"), _INTEGRAL, op1=token("maximum"), operand1=-_INTEGRAL)
    nisa.tensor_tensor(off, nearest, x, token("less" if up else "greater"))
    nisa.tensor_tensor(dst, nearest, off, token("add" if up else "subtract"))


def _rounding(name, rounded):
    """A function that rounds where x has a fraction, copies large x, infinities and NaN, and keeps signs of zeros."""
    def function(x, dtype=None):
        _tiles.require_tile(name, x)
        dst = _tiles.like(x, dtype)
        if not _tiles.is_float(x.dtype):
            nisa.tensor_copy(dst, x)
            return dst
        whole = dst if dst.dtype == x.dtype else _tiles.scratch(x.shape, x.dtype)
        nisa.tensor_copy(whole, x)
        result, has_fraction = _tiles.scratch(x.shape, x.dtype), _tiles.scratch(x.shape, "uint8")
        rounded(result, x)
        nisa.tensor_scalar(has_fraction, x, token("abs"), op1=token("less"), operand1=_INTEGRAL)
        nisa.tensor_copy_predicated(whole, result, has_fraction)
        _take_sign(whole, x)
        if whole is not dst:
            nisa.tensor_copy(dst, whole)
        return dst

    function.__doc__ = f"{name}(x), elementwise."
    return function


def _take_sign(dst, x):
    """Sets the sign bit of dst where that of x is set: no result has the other sign, but zeros may have lost theirs."""
    bits = f"int{8 * x.dtype.itemsize}"
    sign = _tiles.scratch(x.shape, bits)
    nisa.tensor_scalar(sign, x.view(bits), token("bitwise_and"), -(2 ** (8 * x.dtype.itemsize - 1)))
    nisa.tensor_tensor(dst.view(bits), dst.view(bits), sign, token("bitwise_or"))


def _trunc_into(dst, x):
    magnitude, sign = _tiles.scratch(x.shape, "float32"), _tiles.scratch(x.shape, "float32")
    nisa.tensor_scalar(magnitude, x, token("abs"))
    floor_into(magnitude, magnitude)
    nisa.activation(sign, token("sign"), x)
    nisa.tensor_tensor(dst, magnitude, sign, token("multiply"))


FUNCTIONS = {
    "floor": _rounding("floor", floor_into), "trunc": _rounding("trunc", _trunc_into),
    "ceil": _rounding("ceil", lambda dst, x: floor_into(dst, x, up=True)),
}
for _name, _function in FUNCTIONS.items():
    _function.__name__ = _function.__qualname__ = _name
