"""neuronxcc.nki.language: tensors, indices, loops and functions of tiles."""

import numpy as np

from kiln._trace import memory
from kiln.nki import isa as nisa
from kiln.nki import language as nl
from kiln.nki._tile_size import tile_size  # noqa: F401

from . import isa, operators
from .indexing import box, trimmed
from .notes import NotRewritten
from .operators import elementwise, fitted, to_partitions
from .values import Blocks, Pending, Value, move, new_tile, on_sbuf, plain_dtype, settle

sbuf, psum, hbm, shared_hbm, private_hbm = memory.sbuf, memory.psum, nl.hbm, nl.shared_hbm, nl.private_hbm
DTYPES = ("float32", "bfloat16", "float16", "int32", "uint32", "int16", "uint16", "int8", "uint8", "tfloat32",
          "float8_e4m3", "float8_e5m2")
globals().update({name: getattr(nl, name) for name in DTYPES})
bool_ = np.bool_


class ParDim(int):
    """The size of the partition dimension, which need not be the first."""


def par_dim(n):
    return ParDim(n)


class ModAlloc:
    """A place whose tiles take turns: tile i lies where tile i modulo n does."""

    def __init__(self, turns):
        self.turns = turns


def ndarray(shape, dtype, buffer=None, name="", fill=None, **_):
    settle()
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    turns = buffer.turns if isinstance(buffer, ModAlloc) else None
    buffer = sbuf if buffer is None or turns else buffer
    dtype = plain_dtype(dtype)
    first = next((i for i, n in enumerate(shape) if isinstance(n, ParDim)), 0)
    plain = tuple(int(n) for n in shape)
    if memory.is_hbm(buffer):
        return new_tile(plain, dtype, shared_hbm)
    if first:
        return Blocks(plain, first, dtype, buffer, fill, turns)
    return new_tile(plain if len(plain) > 1 else (*plain, 1), dtype, buffer, fill)


def zeros(shape, dtype, buffer=None, name="", **_):
    return ndarray(shape, dtype, buffer, name, fill=0.0 if operators.is_float(plain_dtype(dtype)) else 0)


def full(shape, fill_value, dtype, buffer=None, name="", **_):
    return ndarray(shape, dtype, buffer, name, fill=fill_value)


def ones(shape, dtype, buffer=None, name="", **_):
    return full(shape, 1.0, dtype, buffer)


def zeros_like(x, dtype=None, buffer=None, **_):
    return zeros(x.shape, dtype or x.dtype, buffer)


def empty_like(x, dtype=None, buffer=None, **_):
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer)


def shared_constant(array, dtype=None):
    settle()
    return Value(nl.shared_constant(np.asarray(array)))


def arange(*args):
    return np.arange(*args)


class _Grid(tuple):
    """Index tiles of a grid, in order or as .p, .x, .y, .z, .w."""

    p, x, y, z, w = (property(lambda self, i=i: self[i]) for i in range(5))


class _MakeGrid:
    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        sizes = [np.arange(k.start or 0, k.stop, k.step or 1) for k in key]
        return _Grid(s.reshape((1,) * i + (-1,) + (1,) * (len(key) - 1 - i)) for i, s in enumerate(sizes))


mgrid = _MakeGrid()


def ds(start, size):
    return slice(int(start), int(start) + int(size))


def affine_range(*args, **_):
    return nl.affine_range(*args)


def sequential_range(*args, **_):
    return range(*args)


static_range = sequential_range


def program_id(axis=0):
    return nl.program_id(axis)


def load(src, *, mask=None, dtype=None, **_):
    view, sizes = src.view, box(mask)
    shape = tuple(view.shape) if len(view.shape) > 1 else (view.shape[0], 1)

    def emit(dst):
        if not (sizes and 0 in sizes):
            target = trimmed(dst, sizes)
            nisa.dma_copy(target, fitted(trimmed(view, sizes), target.shape)).leave_open()

    return Pending(shape, src.dtype if dtype is None else dtype, emit)


def store(dst, value=None, *, mask=None, **_):
    if not isinstance(value, Value):
        raise NotRewritten("a number stored")
    source, sizes = value.view, box(mask)
    settle()
    if sizes and 0 in sizes:
        return
    target = dst.target
    if len(source.shape) == len(target.shape):
        target, source = trimmed(target, sizes), trimmed(source, sizes)
    elif sizes is not None:
        raise NotRewritten("a masked store of another rank")
    move(target, on_sbuf(source)).leave_open()


def load_transpose2d(src, *, mask=None, dtype=None, **_):
    view = src.view
    made = Pending((view.shape[1], view.shape[0]), src.dtype, lambda dst: nisa.dma_transpose(dst, view))
    if dtype is None or str(plain_dtype(dtype)) == str(src.dtype):
        return made
    return copy(made, dtype=dtype)


def copy(x, *, mask=None, dtype=None, **_):
    """A copy: the old documents name no engine."""
    return isa.tensor_copy(x, mask=mask, dtype=dtype)


def transpose(x, *, dtype=None, mask=None, **_):
    return isa.nc_transpose(x)


def matmul(x, y, *, transpose_x=False, mask=None, **_):
    """x @ y: unless x comes transposed, the tensor engine transposes it and a copy brings it back to SBUF."""
    if not transpose_x:
        turned = isa.nc_transpose(x)
        x = copy(turned, dtype=x.dtype)
    return isa.nc_matmul(x, y, mask=mask)


def broadcast_to(x, shape, **_):
    shape = tuple(int(n) for n in shape)
    settle()
    if shape[0] != x.shape[0]:
        x = to_partitions(x, shape[0])
    return Value(operators.broadcast_free(x.view, shape))


def expand_dims(x, axis):
    settle()
    return Value(x.view.expand_dim(axis))


def loop_reduce(x, op, loop_indices, *, mask=None, dtype=None, **_):
    """Reduces over loops: the first pass copies, later ones combine with what is there."""
    first = all(int(i) == 0 for i in loop_indices)
    if first:
        return copy(x, mask=mask, dtype=dtype)
    view, sizes = x.view, box(mask)

    def emit(dst):
        nisa.tensor_tensor(trimmed(dst, sizes), trimmed(dst, sizes), trimmed(view, sizes), operators.token(op))

    return Pending(x.shape, x.dtype, emit)


class _Operator:
    """nl.add: an operation in a call of nisa, a function elsewhere."""

    def __init__(self, name):
        self.old_name = self.__name__ = name

    def __call__(self, x, y, *, dtype=None, mask=None, **_):
        return elementwise(self.old_name, x, y, dtype, mask)


for _name in ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "equal", "not_equal",
              "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "power"):
    globals()[_name] = _Operator(_name)


class _Function:
    """nl.exp: an activation function in a call of nisa, a function elsewhere."""

    def __init__(self, name):
        self.old_name = self.__name__ = name

    def __call__(self, x, *, dtype=None, mask=None, **_):
        return isa.activation(self, x, dtype=dtype, mask=mask)


for _name in ("exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "gelu", "silu", "relu", "square", "abs", "sin",
              "gelu_apprx_tanh", "erf", "softplus"):
    globals()[_name] = _Function(_name)


class _Reduction:
    """nl.max: an operation in a call of nisa, a reduction elsewhere."""

    def __init__(self, name):
        self.old_name = self.__name__ = name

    def __call__(self, x, axis, *, dtype=None, mask=None, keepdims=False, **_):
        return isa.tensor_reduce(self, x, axis, dtype=dtype, mask=mask, keepdims=keepdims)


for _name in ("max", "min", "sum", "prod"):
    globals()[_name] = _Reduction(_name)


def negative(x, **options):
    return multiply(x, -1.0, **options)  # noqa: F821


def reciprocal(x, *, dtype=None, mask=None, **_):
    return isa.reciprocal(x, dtype=dtype, mask=mask)


def mean(x, axis, *, keepdims=False, **_):
    total = isa.tensor_reduce("add", x, axis, keepdims=keepdims)
    axes = axis if isinstance(axis, (tuple, list)) else [axis]
    return elementwise("multiply", total, 1.0 / int(np.prod([x.shape[a] for a in axes])))


def divide(x, y, **_):
    return x / y

