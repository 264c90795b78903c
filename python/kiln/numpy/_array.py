"""Array: what stands for an array while a function is traced. It is a whole, or a view of one that aliases as in NumPy;
its elements are known while tracing, or at run time alone."""

import functools
import math
import operator

import numpy as np

from kiln.numpy import _dtypes, _lenses
from kiln.numpy import _ops as ops
from kiln.numpy._axes import axis_of
from kiln.numpy._masked import Masked
from kiln.numpy._rules import BRANCH, CONCRETE, OUTSIDE, RESULT, refuse
from kiln.numpy._trace import active

_REMEDY_INDEX = (
    "a table that is indexed at run time has to be an argument or np.asarray(table) inside of the function; "
    "a slice with such bounds is kiln.numpy.dynamic_slice(x, start, size, axis), a loop with so many passes "
    "kiln.fori_loop(0, n, body, state)"
)
_REMEDY_HOST = (
    "np.float32(x) is written x.astype(np.float32), a list of arrays np.stack(list); a table that is indexed at run "
    "time has to be an argument or np.asarray(table) inside of the function; other functions take arrays of the host "
    "alone: stay with those of docs/numpy.md"
)


class Array:
    """An array of the function that is traced."""

    __slots__ = ("__weakref__", "_const", "_dtype", "_is_cell", "_lens", "_node", "_parent", "_root", "_seen",
                 "_shape", "_strides", "_trace", "_version")
    __array_priority__ = 1000
    __hash__ = None

    def __init__(self, node=None, const=None):
        self._node, self._const = node, const
        self._parent = self._lens = self._strides = self._seen = None
        self._root, self._version, self._trace = self, 0, active()
        self._is_cell = False  # without dimensions: an array that can be written, not a number
        self._dtype, self._shape = (node.dtype, node.shape) if const is None else (const.dtype, const.shape)
        if const is not None and not const.flags.c_contiguous:
            self._strides = tuple([n // const.itemsize for n in const.strides])

    # What it holds.

    def _view(self, lens, shape, dtype=None):
        if not self._shape and not self._is_cell:  # a number: what is made of it is an array of its own
            self = self._cell()
        out = Array.__new__(Array)
        out._parent, out._lens, out._root, out._shape = self, lens, self._root, tuple(shape)
        out._node, out._version, out._dtype, out._strides, out._seen = None, -1, dtype or self._dtype, None, None
        out._is_cell, out._trace = True, self._trace
        known = self._known()
        out._const = None if known is None or type(lens) is _lenses.At else lens.host(known)
        return out

    def _cell(self):
        """The same value as an array that can be written."""
        known = self._known()
        out = Array(const=np.array(known)) if known is not None else Array(self._get())
        out._is_cell = True
        return out

    def _known(self):
        """The elements, where tracing knows them; None otherwise."""
        return self._const if self._root._const is not None else None

    def _get(self):
        """The node of its value now."""
        root = self._root
        if self is root:
            if self._node is None:
                return ops.constant(self._const)  # a constant is written in place: its node is not kept
            return self._node
        if root._const is not None:  # not kept: a constant is written in place
            return ops.constant(self._const) if self._const is not None else self._lens.get(self._parent._get())
        if self._version != root._version:
            node = self._lens.get(self._parent._get())
            if root._trace is not active():  # read in a body: of no use outside of it
                return node
            self._node, self._version = node, root._version
        return self._node

    def _set(self, node):
        """Replaces the value; shape and dtype are the same."""
        self._require_here()
        if self is self._root:
            self._node, self._const = node, None
            self._version += 1
            return
        parent = self._parent
        if parent._known() is not None:
            self._root._loosen()
        parent._set(self._lens.put(parent._get(), node))
        self._node, self._version = node, self._root._version

    def _require_here(self):
        """It is written where it was made: what a body writes to is state."""
        if self._root._trace is not active():
            refuse(OUTSIDE, f"an assignment to an array {self.dtype.name}{list(self.shape)} from outside of the body",
                   kind=ValueError)

    def _loosen(self):
        """Its elements are not known from now on."""
        self._require_here()
        self._node = ops.constant(self._const)
        self._const = None
        self._version += 1

    def _shadow(self):
        """An array of the host with these strides, whose elements are never touched."""
        if self._parent is None:
            return _shadow_of(self._shape, self._strides)
        if self._seen is None:
            self._seen = self._lens.host(self._parent._shadow())
        return self._seen

    def _is_plain(self):
        """Whether its axes surely lie in C order."""
        while self._parent is not None:
            if not self._lens.keeps_order:
                return False
            self = self._parent
        return self._strides is None

    # What users ask of an array.

    def _reshaped_in_place(self, shape):
        refuse(RESULT, f"x.shape = {shape}", "write x = x.reshape(shape)", kind=AttributeError)

    shape = property(operator.attrgetter("_shape"), _reshaped_in_place)

    @property
    def __class__(self):
        """For isinstance(x, np.ndarray), which holds of what NumPy makes an array of, and not a number."""
        return np.ndarray if self.shape or self._is_cell else Array

    def __round__(self, digits=None):
        return np.rint(self).astype(np.int32) if digits is None else np.round(self, digits)

    @property
    def dtype(self):
        d = self._dtype
        return d if d in _dtypes.NAME or self._known() is not None else _dtypes.narrow(d)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.size * self.itemsize

    @property
    def strides(self):
        return tuple(n * self.itemsize for n in self._shadow().strides)

    @property
    def flags(self):
        return self._shadow().flags

    def __getattr__(self, name):
        if not name.startswith("_") and hasattr(np.ndarray, name):
            refuse(CONCRETE, f"x.{name}", kind=AttributeError)
        raise AttributeError(f"an array of a traced function has no attribute '{name}'")

    @property
    def T(self):
        return self.transpose()

    @property
    def mT(self):
        return np.matrix_transpose(self)

    @property
    def real(self):
        return self

    @property
    def imag(self):
        return np.zeros_like(self)

    @property
    def base(self):
        return None if self._parent is None else self._root

    @property
    def flat(self):
        return Flat(self)

    @flat.setter
    def flat(self, value):
        self[...] = np.resize(as_array(value), self.shape)

    @property
    def device(self):
        return "cpu"

    @property
    def at(self):
        refuse(CONCRETE, "x.at[...]", "assign to the array itself: x[index] = value", kind=AttributeError)

    def to_device(self, device, stream=None):
        return self

    def __array_namespace__(self, api_version=None):
        return np

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __repr__(self):
        known = self._known()
        if known is not None:
            return repr(known)
        return f"<traced {self.dtype}{list(self.shape)}>"

    def _concrete(self, what, rule=CONCRETE, help=""):
        known = self._known()
        if known is None:
            refuse(
                rule,
                f"{what} of an array {self.dtype.name}{list(self.shape)} that is known at run time alone",
                help,
                kind=TypeError,
            )
        return known

    def __bool__(self):
        return bool(self._concrete("the truth", BRANCH))

    def __int__(self):
        return int(self._concrete("int()"))

    def __float__(self):
        return float(self._concrete("float()"))

    def __complex__(self):
        return complex(self._concrete("complex()"))

    def __index__(self):
        return operator.index(self._concrete("a Python index, range or shape", help=_REMEDY_INDEX))

    def __array__(self, dtype=None, copy=None):
        return np.array(self._concrete("an array or number of the host", help=_REMEDY_HOST), dtype=dtype)

    def item(self, *args):
        return self._concrete("item()").item(*args)

    def tolist(self):
        return self._concrete("tolist()").tolist()

    def __contains__(self, x):
        return bool((self == x).any())

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __format__(self, spec):
        return format(self.item(), spec) if spec else repr(self)

    # Protocols.

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from kiln.numpy import _dispatch

        return _dispatch.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        from kiln.numpy import _dispatch

        return _dispatch.function(func, args, kwargs)

    def __getitem__(self, key):
        from kiln.numpy import _indexing

        return _indexing.read(self, key)

    def __setitem__(self, key, value):
        from kiln.numpy import _indexing

        _indexing.write(self, key, value)

    # Views.

    def transpose(self, *axes):
        perm = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes or None
        perm = list(range(self.ndim))[::-1] if perm is None else [axis_of(a, self.ndim) for a in perm]
        if len(perm) != self.ndim:
            raise ValueError("axes don't match array")
        if len(set(perm)) != self.ndim:
            raise ValueError("repeated axis in transpose")
        return self._view(_lenses.Transpose(perm), [self.shape[i] for i in perm])

    def reshape(self, *shape, order="C", copy=None):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        if isinstance(shape, (int, np.integer, Array)):
            shape = (shape,)
        if order not in ("C", "F", "A"):
            raise ValueError("order must be one of 'C', 'F', or 'A'")
        if order == "A":
            order = "F" if self._shadow().flags.fnc else "C"
        shape = filled(shape, self.size)
        if order == "F" and max(self.ndim, len(shape)) > 1:
            return self.transpose().reshape(shape[::-1]).transpose()
        source = self
        if self._parent is not None or self._strides is not None:
            try:
                np.reshape(self._shadow(), shape, copy=False)
            except ValueError:
                if copy is False:
                    raise ValueError("Unable to avoid creating a copy while reshaping.") from None
                copy = True
        if copy:
            source = self.copy()
        return source._view(_lenses.Reshape(self.shape, shape), shape)

    def view(self, dtype=None, type=None):
        if type is not None or (
            dtype is not None and isinstance(dtype, builtin_type) and issubclass(dtype, np.ndarray)
        ):
            refuse(CONCRETE, "view() as another class", "leave it out", kind=TypeError)
        if dtype is None:
            return self._view(_lenses.Reshape(self.shape, self.shape), self.shape)
        dtype = _dtypes.requested(dtype)
        mine = _dtypes.narrow(self.dtype)
        if dtype.itemsize != mine.itemsize:
            refuse(CONCRETE, f"view({dtype}) of {mine}", "view as a dtype of the same size", kind=ValueError)
        known = self._known()
        if known is not None and known.dtype.itemsize != dtype.itemsize:
            self._root._loosen()
        return self._view(_lenses.Bitcast(mine, dtype), self.shape, dtype)

    def sort(self, axis=-1, kind=None, order=None, *, stable=None):
        self[...] = np.sort(self, axis=axis, kind=kind, order=order, stable=stable)

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        self[...] = np.partition(self, kth, axis=axis, kind=kind, order=order)

    def compress(self, condition, axis=None, out=None):
        return np.compress(condition, self, axis=axis, out=out)

    def fill(self, value):
        self[...] = value

    def put(self, indices, values, mode="raise"):
        np.put(self, indices, values, mode)

    def resize(self, *args, **kwargs):
        refuse(RESULT, "x.resize() in place", "write np.resize(x, shape), or np.pad", kind=ValueError)

    def copy(self, order="C"):
        return np.copy(self, order=order)

    def flatten(self, order="C"):
        return self.ravel(order).copy()

    def ravel(self, order="C"):
        return np.ravel(self, order=order)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        made = np.astype(self, dtype, copy=copy) if casting == "unsafe" else cast_as(self, dtype, casting)
        if order == "K":
            return made
        from kiln.numpy import _layouts

        return _layouts.as_order(made, order)

    def dot(self, b, out=None):
        return np.dot(self, b, out=out)

    def tobytes(self, order="C"):
        return self._concrete("tobytes()").tobytes(order)


builtin_type = type


@functools.lru_cache(4096)
def _shadow_of(shape, strides):
    if strides is None:
        strides, step = [], 1
        for n in reversed(shape):
            strides.insert(0, step)
            step *= max(n, 1)
    return np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), shape, strides)


def cast_as(array, dtype, casting):
    if not np.can_cast(array.dtype, np.dtype(dtype), casting):
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to {np.dtype(dtype)!r} according to the rule "
                        f"'{casting}'")
    return np.astype(array, dtype)


def filled(shape, size):
    """A shape as ints, with -1 filled in."""
    shape = tuple(operator.index(n) for n in shape)
    if shape.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    rest = 1
    for n in shape:
        rest *= n if n != -1 else 1
    if -1 in shape:
        if rest == 0 or size % rest:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        shape = tuple(size // rest if n == -1 else n for n in shape)
    elif rest != size or any(n < 0 for n in shape):
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    return shape


def known_of(x):
    """The elements of a value, where tracing knows them; None otherwise."""
    return x._known() if isinstance(x, Array) else np.asarray(x)


def node_of(x, dtype=None):
    """The node of an Array or of anything that NumPy makes an array of, in a dtype."""
    if isinstance(x, Array):
        if dtype is not None:
            known = x._known()
            if known is not None:
                return ops.constant(host_cast(known, dtype))
            return ops.cast(x._get(), dtype)
        return x._get()
    if isinstance(x, Masked):
        x.refuse("an array is needed here")
    if isinstance(x, (list, tuple)) and has_array(x):
        return node_of(stacked(x), dtype)
    known = np.asarray(x)
    return ops.constant(known if dtype is None else host_cast(known, dtype))


def host_cast(array, dtype):
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def has_array(x):
    if isinstance(x, Array):
        return True
    return isinstance(x, (list, tuple)) and any(map(has_array, x))


def stacked(x):
    """Nested lists with Arrays among them, as one Array."""
    if isinstance(x, (list, tuple)):
        if not has_array(x):
            return Array(const=np.asarray(x)) if np.asarray(x).dtype != object else refuse(
                RESULT, "an array of objects", "make it of numbers", kind=TypeError)
        return np.stack([stacked(item) for item in x])
    return x if isinstance(x, Array) else Array(const=np.asarray(x))


def as_array(x):
    """An Array of anything."""
    return x if isinstance(x, Array) else stacked(x)


class Flat:
    """x.flat: the elements in C order, written through whatever the strides are."""

    __slots__ = ("_array",)

    def __init__(self, array):
        self._array = array

    def __getitem__(self, key):
        return self._array.copy().reshape(-1)[key]

    def __setitem__(self, key, value):
        whole = self._array.copy().reshape(-1)
        whole[key] = value
        self._array[...] = whole.reshape(self._array.shape)

    def __iter__(self):
        return iter(self._array.copy().reshape(-1))

    def __len__(self):
        return self._array.size

    def copy(self):
        return self._array.copy().reshape(-1)


def _operator(ufunc, reflected=False):
    if ufunc.nin == 1:
        return lambda self: ufunc(self)
    if reflected:
        return lambda self, other: ufunc(other, self)
    return lambda self, other: ufunc(self, other)


def _in_place(ufunc):
    def op(self, other):
        if not self.shape and not self._is_cell:
            return ufunc(self, other)
        return ufunc(self, other, out=(self,))

    return op


def _masked_in_place(ufunc):
    return lambda self, other: ufunc(self, other)


_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _ufunc in _BINARY.items():
    for _class in (Array, Masked):
        setattr(_class, f"__{_name}__", _operator(_ufunc))
        setattr(_class, f"__r{_name}__", _operator(_ufunc, True))
    setattr(Array, f"__i{_name}__", _in_place(_ufunc))
    setattr(Masked, f"__i{_name}__", _masked_in_place(_ufunc))
for _name, _ufunc in {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
                      "ne": np.not_equal, "neg": np.negative, "pos": np.positive, "abs": np.absolute,
                      "invert": np.invert}.items():
    for _class in (Array, Masked):
        setattr(_class, f"__{_name}__", _operator(_ufunc))


def _pow(self, other):
    """As NumPy's operator: some exponents are functions of their own."""
    quick = {-1: np.reciprocal, 0.5: np.sqrt, 1: np.positive, 2: np.square}
    if type(other) in (int, float) and other in quick and _dtypes.is_float(self.dtype):
        return quick[other](self)
    return np.power(self, other)


Array.__pow__ = _pow
Array.__divmod__ = lambda self, other: np.divmod(self, other)
Array.__rdivmod__ = lambda self, other: np.divmod(other, self)


def _method(name):
    def method(self, *args, **kwargs):
        return getattr(np, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in ("all any argmax argmin argpartition argsort choose conj conjugate cumprod cumsum diagonal max mean "
              "min nonzero prod ptp repeat round searchsorted squeeze std sum swapaxes take trace var").split():
    setattr(Array, _name, _method(_name))


def _clip(self, min=None, max=None, out=None, **kwargs):
    return np.clip(self, min, max, out=out, **kwargs)


Array.clip = _clip
