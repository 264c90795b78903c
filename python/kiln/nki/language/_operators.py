"""Python's operators on tensors: NKI has none, so each names its function; t[...] = value copies."""

import numbers

from kiln import _kiln
from kiln._trace import memory, rules
from kiln._trace.errors import NkiValidationError, broken, refuse
from kiln._trace.warnings import warn_not_portable
from kiln.nki import _removed, isa as nisa
from kiln.nki.language import _tiles

# Method -> how Python writes the operator, and the function to call.
REWRITES = {
    "__add__": ("+", "nl.add(x, y)"), "__sub__": ("-", "nl.subtract(x, y)"), "__mul__": ("*", "nl.multiply(x, y)"),
    "__truediv__": ("/", "nl.multiply(x, nl.reciprocal(y))"),
    "__floordiv__": ("//", "nl.floor(nl.multiply(x, nl.reciprocal(y)))"),
    "__mod__": ("%", "nl.subtract(x, nl.multiply(nl.floor(nl.multiply(x, nl.reciprocal(y))), y))"),
    "__pow__": ("**", "nl.power(x, y)"), "__matmul__": ("@", "nl.matmul(x, y)"),
    "__and__": ("&", "nl.bitwise_and(x, y)"), "__or__": ("|", "nl.bitwise_or(x, y)"),
    "__xor__": ("^", "nl.bitwise_xor(x, y)"), "__lshift__": ("<<", "nl.left_shift(x, y)"),
    "__rshift__": (">>", "nl.right_shift(x, y)"),
    "__lt__": ("<", "nl.less(x, y)"), "__le__": ("<=", "nl.less_equal(x, y)"),
    "__gt__": (">", "nl.greater(x, y)"), "__ge__": (">=", "nl.greater_equal(x, y)"),
    "__eq__": ("==", "nl.equal(x, y)"), "__ne__": ("!=", "nl.not_equal(x, y)"),
    "__neg__": ("-", "nl.negative(x)"), "__abs__": ("abs", "nl.abs(x)"), "__invert__": ("~", "nl.invert(x)"),
}
_NOT_REFLECTED = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__neg__", "__abs__", "__invert__")


class NkiOperatorError(NkiValidationError, TypeError):
    """An operator on a tensor; a TypeError, as Python's own are."""


def _refuse(found, help="", **words):
    raise NkiOperatorError([broken(rules.NO_OPERATORS, found, help, **words)])


def _refuser(name, symbol, rewrite):
    def operator(*operands):
        if isinstance(operands[-1], _kiln.NkiInstruction):
            _refuse("a tensor and an instruction, which returns no tile",
                    "since NKI 0.2.0 instructions write into `dst`: nisa.nc_matmul(dst=psum, ..., accumulate=i > 0)")
        value = _tiles.is_tile(operands[-1]) or isinstance(operands[-1], numbers.Number)
        if name in ("__eq__", "__ne__") and not value:
            return NotImplemented  # kernels ask whether an argument is None or a word
        _refuse(f"`{symbol}` on a tensor", rewrite=rewrite)

    operator.__name__ = name
    return operator


def _no_sum(tensor, value):
    """tensor += value, which summed up matrix products in NKI 0.1.0."""
    if isinstance(value, _kiln.NkiInstruction):
        return NotImplemented
    _refuse("`+=` on a tensor", "write nl.add(x, y), or nisa.tensor_tensor(x, x, y, nl.add) to write into x; sums of "
            "matrix products are nisa.nc_matmul(psum, ..., accumulate=True)")


def _no_value(what, help):
    def method(self, *args, **kwargs):
        error = TypeError(f"{what} of a tensor: it has no value while the kernel is traced; {help}")
        error.help = help
        raise error

    return method


# What Python may ask a tensor for -> what to do instead.
VALUES = {
    "__int__": ("the int", "load it into a register: nisa.register_load(nisa.register_alloc(), tensor)"),
    "__float__": ("the float", "pass a (P, 1) tile where an instruction takes a number"),
    "__iter__": ("iteration", "write `for i in range(t.shape[0]):` and t[i:i + 1]"),
    "__array__": ("the array", "NumPy does not compute with tensors, nki.language does: nl.exp(t) for np.exp(t); "
                  "print(tensor) and nl.device_print show its values"),
}


def assign(tensor, key, value):
    """tensor[key] = value: copies, and warns that the device's compiler may not take it."""
    dst = tensor[key]
    warn_not_portable("an assignment to a part of a tensor, which is not documented",
                      "write nisa.tensor_copy, nisa.dma_copy, nisa.memset or nl.store")
    if not _tiles.is_tile(value):
        return _assign_number(dst, value)
    if _tiles.without_ones(dst.shape) != _tiles.without_ones(value.shape):
        refuse(rules.TILE_LAYOUT, f"an assignment of {value.shape} to {dst.shape}", "slice both to one shape")
    on_chip = [memory.is_on_chip(t.buffer) for t in (dst, value)]
    if all(on_chip):
        return nisa.tensor_copy(dst, value)
    if memory.is_psum(value.buffer):  # DMA does not read PSUM
        staged = _tiles.scratch(value.shape, value.dtype)
        nisa.tensor_copy(staged, value)
        value = staged
    return nisa.dma_copy(dst, value)


def _assign_number(dst, value):
    _tiles.require_number_or_tile("store", value)
    if not memory.is_on_chip(dst.buffer):
        refuse(rules.HBM_AND_SBUF, f"a number is assigned to `{dst.name}` in HBM",
               "fill a tile with nl.full and nl.store it")
    return nisa.memset(dst, value)


def _missing(tensor, name):
    raise _removed.missing(_removed.TENSOR, name, f"tensor.{name}", "a tensor", dir(type(tensor)))


def tensor_members():
    """What tensors have of Python's operators."""
    members = {"__iadd__": _no_sum, "__setitem__": assign, "__getattr__": _missing}
    for name, told in REWRITES.items():
        reflected = [] if name in _NOT_REFLECTED else [f"__r{name[2:]}"]  # 2 + t is __radd__
        members.update((n, _refuser(n, *told)) for n in (name, *reflected))
    members.update((name, _no_value(*told)) for name, told in VALUES.items())
    return members
