"""Operators of the old API, which name an instruction's operation and are functions of tiles at once, and Python's
operators on tiles."""

import numpy as np

from kiln._trace import memory, views
from kiln.nki import isa as nisa
from kiln.nki import language as nl

from .indexing import box, trimmed
from .notes import NOTES, NotRewritten
from .values import Pending, Value, fitted

# NumPy's functions and older names, as operations.
SAME = {"max": "maximum", "min": "minimum", "sum": "add", "prod": "multiply", "mul": "multiply", "sub": "subtract"}


def token(op):
    """The operation of Kiln behind an operator of the old API, a NumPy function or a name."""
    name = op if isinstance(op, str) else getattr(op, "old_name", None) or op.__name__
    name = SAME.get(name, name)
    return getattr(nl, {"absolute": "abs", "amax": "maximum"}.get(name, name))


def is_float(dtype):
    return "float" in str(dtype)


def joint_dtype(x, y):
    """The wider of two dtypes."""
    a, b = x.dtype, y.dtype
    if str(a) == str(b):
        return a
    return next(d for d in (a, b) if str(d) == "float32") if "float32" in (str(a), str(b)) else a


def broadcast_free(view, shape):
    """A view stretched along free dimensions of size 1."""
    for dim in range(1, len(shape)):
        if view.shape[dim] == 1 and shape[dim] != 1:
            view = views.broadcast(view, dim, shape[dim])
    return view


def to_partitions(value, count):
    """A row in every partition, by a product with ones, as the old documents say of broadcast_to."""
    if value.shape[0] == count:
        return value
    if value.shape[0] != 1:
        raise NotRewritten(f"an operation on {value.shape[0]} and {count} partitions")
    NOTES["rows spread over partitions"] += 1
    return Value(nl.broadcast_to(value.view, (count, *value.shape[1:])))


def elementwise(name, x, y, dtype=None, mask=None):
    """The result of an operator on tiles and numbers, which broadcast."""
    if not isinstance(x, Value) or not isinstance(y, Value):
        return _with_number(name, x, y, dtype, mask)
    partitions = max(x.shape[0], y.shape[0])
    x, y = to_partitions(x, partitions), to_partitions(y, partitions)
    rank = max(len(x.shape), len(y.shape))
    a, b = _ranked(x.view, rank), _ranked(y.view, rank)
    shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    sizes = box(mask)
    columns = [_is_column(v) and not _is_column_shape(shape) for v in (a, b)]

    def emit(dst):
        p, q, d = trimmed(a, sizes), trimmed(b, sizes), trimmed(dst, sizes)
        if sizes and 0 in sizes:
            return
        if columns[1] and str(b.dtype) == "float32":
            nisa.tensor_scalar(d, p, token(name), _column(q))
        elif columns[0] and str(a.dtype) == "float32":
            nisa.tensor_scalar(d, q, token(name), _column(p), reverse0=True)
        else:
            wide = trimmed_shape(shape, sizes)
            nisa.tensor_tensor(d, broadcast_free(p, wide), broadcast_free(q, wide), token(name))

    return Pending(shape, dtype or joint_dtype(x, y), emit, places=(memory.sbuf, memory.psum))


def trimmed_shape(shape, sizes):
    if sizes is None:
        return tuple(shape)
    sizes = list(sizes) + [None] * len(shape)
    return tuple(n if s is None else min(n, s) for n, s in zip(shape, sizes))


def _ranked(view, rank):
    return fitted(view, tuple(view.shape) + (1,) * (rank - len(view.shape)))


def _is_column(view):
    return int(np.prod(view.shape)) == view.shape[0]


def _is_column_shape(shape):
    return int(np.prod(shape)) == shape[0]


def _column(view):
    return fitted(view, (view.shape[0], 1))


def _with_number(name, x, y, dtype, mask):
    swapped = not isinstance(x, Value)
    data, number = (y, float(x)) if swapped else (x, float(y))
    view, sizes = data.view, box(mask)

    def emit(dst):
        if sizes and 0 in sizes:
            return
        nisa.tensor_scalar(trimmed(dst, sizes), trimmed(view, sizes), token(name), number, reverse0=swapped)

    return Pending(data.shape, dtype or data.dtype, emit, places=(memory.sbuf, memory.psum))


def _method(name, swapped=False):
    def method(self, other):
        return elementwise(name, other, self) if swapped else elementwise(name, self, other)
    return method


for _name, _op in {"add": "add", "sub": "subtract", "mul": "multiply"}.items():
    setattr(Value, f"__{_name}__", _method(_op))
    setattr(Value, f"__r{_name}__", _method(_op, swapped=True))


def _divide(self, other):
    from . import language
    if isinstance(other, Value):
        return elementwise("multiply", self, language.reciprocal(other))
    return elementwise("multiply", self, 1.0 / other)


def _divide_number(self, number):
    from . import language
    inverse = language.reciprocal(self)
    return inverse if number == 1 else elementwise("multiply", inverse, number)


Value.__truediv__ = _divide
Value.__rtruediv__ = _divide_number
Value.__neg__ = lambda self: elementwise("multiply", self, -1.0)
