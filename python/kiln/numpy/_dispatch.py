"""Calls of NumPy on Arrays: which function of ours answers, with constants folded, and `out` and `where` honoured."""

import threading

import numpy as np

from kiln.numpy import _comparisons, _dtypes, _generalized, _layouts
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, host_cast, node_of
from kiln.numpy._axes import axes_of, axis_of
from kiln.numpy._masked import Masked
from kiln.numpy._rules import ARGUMENT, CASTING, MISSING, PRECISION, UNDEFINED, refuse
from kiln.numpy._trace import active

UFUNCS = {}  # ufunc -> function of nodes in the dtypes of its loop
METHODS = {}  # (ufunc, "reduce" and so on) -> function of Arrays
FUNCTIONS = {}  # function of NumPy -> ours
_views = set()  # functions whose result may alias an argument, or that write to one: never folded
on_host = threading.local()


def implements(*functions, view=False):
    """Decorator: our function for these of NumPy."""
    def mark(ours):
        for f in functions:
            FUNCTIONS[f] = ours
            if view:
                _views.add(f)
        return ours

    return mark


class Host:
    """NumPy's own functions are called in here."""

    def __enter__(self):
        on_host.depth = getattr(on_host, "depth", 0) + 1

    def __exit__(self, *_):
        on_host.depth -= 1


def _arrays_in(x, out):
    if isinstance(x, Array):
        out.append(x)
    elif isinstance(x, (list, tuple)):
        for item in x:
            _arrays_in(item, out)
    elif isinstance(x, dict):
        for item in x.values():
            _arrays_in(item, out)
    elif isinstance(x, Masked):
        x.refuse("a function of x[mask]")
    elif isinstance(x, slice):
        _arrays_in((x.start, x.stop, x.step), out)


def _on_host(x):
    if isinstance(x, Array):
        known = x._known()
        return np.empty(x.shape, x.dtype) if known is None else known
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(_on_host, x))
    if isinstance(x, (list, tuple)):
        return type(x)(map(_on_host, x))
    if isinstance(x, dict):
        return {k: _on_host(v) for k, v in x.items()}
    return x


def wrapped(x):
    """A result of NumPy's own function."""
    if isinstance(x, np.ndarray):
        return x if x.dtype.kind in "OSUMmc" else Array(const=x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(wrapped, x))
    if isinstance(x, (list, tuple)):
        return type(x)(map(wrapped, x))
    return x


def all_known(arrays):
    """Whether NumPy itself can answer: elements are known, or there are none."""
    return all(a._known() is not None or not a.size for a in arrays)


def function(func, args, kwargs):
    """What __array_function__ answers."""
    ours = FUNCTIONS.get(func)
    if func not in _views:
        arrays = []
        _arrays_in(args, arrays)
        _arrays_in(kwargs, arrays)
        if all_known(arrays) and kwargs.get("out") is None:
            with Host():
                return wrapped(func(*_on_host(args), **_on_host(kwargs)))
    if ours is None:
        from kiln.numpy import _support

        name = f"{func.__module__}.{func.__name__}".replace("numpy.", "np.", 1)
        refuse(MISSING, f"{name} of an array that is known at run time alone: {_support.reason(func)}")
    try:
        made = ours(*args, **kwargs)
    except TypeError as error:
        if "unexpected keyword argument" in str(error) and error.__traceback__.tb_next is None:
            refuse(ARGUMENT, f"np.{func.__name__}: {error}")
        raise
    if func in _views:
        return made
    must_ask = func in _layouts.ALWAYS or kwargs.get("order") == "F" or (
        len(args) > 1 and "F" in [x for x in args if type(x) is str])
    return _layouts.settled(made, [*arrays, *args], (func, args, kwargs), must_ask)


# Ufuncs.

_OPTIONS = {"out", "where", "dtype", "casting", "order", "subok", "signature", "sig"}


def ufunc(which, method, inputs, kwargs):
    """What __array_ufunc__ answers."""
    if any(isinstance(x, Masked) for x in inputs):
        return NotImplemented
    if method != "__call__":
        return _method(which, method, inputs, kwargs)
    if not kwargs:
        return call(which, inputs)
    return _with_options(which, inputs, **kwargs)


_OF_SCIPY = {"erf": ops.erf, "expit": ops.sigmoid}  # ufuncs of scipy.special, by name


def _known_inputs(inputs):
    for x in inputs:
        if isinstance(x, Array) and x._root._const is None:
            return False
    return True


def call(which, inputs, dtype=None, order="K"):
    """A ufunc of inputs; a tuple of Arrays when it gives several."""
    if _known_inputs(inputs):
        with Host():
            kwargs = {} if dtype is None else {"dtype": dtype}
            return wrapped(which(*map(_on_host, inputs), order=order, **kwargs))
    made = _called(which, inputs, dtype)
    if order == "K" and (_layouts.are_plain(inputs) or which == np.matmul and made.ndim == 2):
        return made
    is_plain = which.signature is None and which.nout == 1 and which.nin < 3 and not any(
        type(x) in (list, tuple) for x in inputs)
    if order == "K" and is_plain:
        return _layouts.elementwise(made, inputs)
    return _layouts.settled(made, inputs, (which, inputs, {"order": order}), True)


def _called(which, inputs, dtype):
    if which.signature is not None:
        return _product(which, inputs, dtype)
    ours = UFUNCS.get(which) or _OF_SCIPY.get(which.__name__)
    if ours is None:
        from kiln.numpy import _support

        refuse(MISSING, f"np.{which.__name__}: {_support.reason(which)}")
    kinds = tuple([_kind(x) for x in inputs])
    if which in _comparisons.COMPARED:
        made = _comparisons.exact(which, inputs, kinds)
        if made is not None:
            return made
    if which == np.power and dtype is None:
        made = _power_of_number(inputs, kinds)
        if made is not None:
            return made
    if which == np.spacing and not _dtypes.is_float(_dtypes.narrow(kinds[0])):
        refuse(PRECISION, f"np.spacing of {kinds[0]}", kind=TypeError)
    loop = _dtypes.loop(which, kinds, dtype)
    nodes = [_input(x, t) for x, t in zip(inputs, loop)]
    made = ours(*nodes)
    if which.nout == 1:
        return Array(ops.cast(made, loop[-1]))
    return tuple(Array(ops.cast(m, t)) for m, t in zip(made, loop[which.nin:]))


def _kind(x):
    """The dtype of an input, or Python's type of a number, which is weak."""
    t = type(x)
    if t is Array:
        return x.dtype
    if t is int or t is float or t is bool:
        return np.dtype(bool) if t is bool else t
    if t is complex:
        return _dtypes.narrow(np.dtype(np.complex128))
    if hasattr(x, "dtype"):
        return np.dtype(x.dtype)
    return np.asarray(x).dtype if not isinstance(x, (list, tuple)) else _dtype_of_list(x)


def _dtype_of_list(x):
    from kiln.numpy._array import stacked

    return stacked(x).dtype


def _input(x, dtype):
    if type(x) is int and dtype.kind in "iu":
        low, high = _dtypes.finite_range(dtype)
        if not low <= x <= high:
            raise OverflowError(f"Python integer {x} out of bounds for {dtype}")
    if type(x) in (int, float):
        return active().number(x, dtype)
    return node_of(x, dtype)


def _power_of_number(inputs, kinds):
    """Powers by a Python integer: products, and no function of the exponent."""
    from kiln.numpy._ufuncs import known_power

    if kinds[1] is not int or not isinstance(kinds[0], np.dtype):
        return None
    x, n = inputs
    dtype = _dtypes.loop(np.power, kinds)[0]
    if dtype.kind in "iu":
        if n < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
    elif not 1 <= n <= 8:
        return None
    if n == 0:
        return np.ones_like(x, dtype=dtype)
    return Array(known_power(node_of(x, dtype), n))


def _with_options(which, inputs, out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True,
                  signature=None, sig=None, axes=None, axis=None, keepdims=False, **others):
    if others or (which.signature is None and (axes is not None or axis is not None or keepdims)):
        name = next(iter(others), "axes" if axes is not None else "axis" if axis is not None else "keepdims")
        raise TypeError(f"{which.__name__}() got an unexpected keyword argument '{name}'")
    if signature is not None or sig is not None:
        refuse(ARGUMENT, f"np.{which.__name__}(signature=...)", "pass dtype=")
    dtype = None if dtype is None else _dtypes.requested(dtype)
    if dtype is not None or casting != "same_kind":
        _require_casting(which, inputs, dtype, casting)
    if axes is not None or axis is not None or keepdims:
        inputs, placed = _generalized.moved(which, inputs, axes, axis, keepdims)
        made = placed(call(which, inputs, dtype, order))
    else:
        made = call(which, inputs, dtype, order)
    outs = out if isinstance(out, tuple) else (out,) * which.nout
    results = made if which.nout > 1 else (made,)
    if where is not True and all(o is None for o in outs):
        refuse(
            UNDEFINED,
            f"np.{which.__name__}(where=...) without out: elements where it is false are undefined",
            kind=ValueError,
        )
    written = tuple(r if o is None else write_out(r, o, which.__name__, casting, where) for r, o in zip(results, outs))
    return written if which.nout > 1 else written[0]


def _require_casting(which, inputs, dtype, casting):
    """Inputs are cast to the loop's dtypes as the rule allows."""
    kinds = tuple(map(_kind, inputs))
    for kind, into in zip(kinds, _dtypes.whole_loop(which, kinds, dtype)):
        if isinstance(kind, np.dtype) and not _dtypes.is_wide(kind) and not np.can_cast(kind, into, casting):
            raise TypeError(f"Cannot cast ufunc '{which.__name__}' input from {kind!r} to {into!r} with casting rule "
                            f"'{casting}'")


def write_out(result, out, name, casting="same_kind", where=True):
    """The result in `out`, which is returned."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if not isinstance(out, Array):
        refuse(ARGUMENT, f"np.{name}(out=...) with an array that is not made in the function",
               "make it with np.zeros or np.empty inside of the function, or pass it as an argument", kind=TypeError)
    result = result if isinstance(result, Array) else Array(const=np.asarray(result))
    if not np.can_cast(result.dtype, out.dtype, casting) and not np.can_cast(_dtypes.narrow(result.dtype), out.dtype,
                                                                              casting):
        refuse(CASTING, f"np.{name}: {result.dtype} into {out.dtype}", kind=TypeError)
    if np.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape "
                         f"{np.broadcast_shapes(result.shape, out.shape)}")
    if where is True:
        out[...] = result
    else:
        out[...] = np.where(where, result, out).astype(out.dtype)
    return out


_REDUCED = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.logical_and: np.all,
            np.logical_or: np.any}
_ACCUMULATED = {np.add: np.cumsum, np.multiply: np.cumprod}


def _method(which, method, inputs, kwargs):
    if isinstance(kwargs.get("out"), tuple):
        kwargs = {**kwargs, "out": kwargs["out"][0]}
    if all(isinstance(x, Array) is False or x._known() is not None for x in inputs) and method != "at" and \
            kwargs.get("out") is None:
        with Host():
            return wrapped(getattr(which, method)(*map(_on_host, inputs), **_on_host(kwargs)))
    ours = METHODS.get((which, method)) or METHODS.get((None, method))
    if ours is None:
        refuse(MISSING, f"np.{which.__name__}.{method}")
    made = ours(which, *inputs, **kwargs)
    return made if made is None else _layouts.settled(made, [*inputs, kwargs.get("out")],
                                                      (getattr(which, method), inputs, kwargs))


def reduce_method(which, array, axis=0, dtype=None, out=None, keepdims=False, initial=np._NoValue, where=True):
    """np.add.reduce and its like: as np.sum, along axis 0 unless said."""
    if which in _REDUCED:
        more = {} if dtype is None else {"dtype": dtype}
        if initial is not np._NoValue:
            more["initial"] = initial
        if which in (np.logical_and, np.logical_or):
            if more:
                refuse(ARGUMENT, f"np.{which.__name__}.reduce({', '.join(more)}=...)")
        return _REDUCED[which](array, axis=axis, out=out, keepdims=keepdims, where=where, **more)
    if out is not None or where is not True:
        refuse(ARGUMENT, f"np.{which.__name__}.reduce(out=, where=)")
    axes = axes_of(axis, array.ndim)
    if len(axes) != 1:
        refuse(ARGUMENT, f"np.{which.__name__}.reduce over several axes", "reduce one axis after the other")
    slices = [np.take(array, i, axis=axes[0]) for i in range(array.shape[axes[0]])]
    if initial is not np._NoValue:
        slices.insert(0, initial)
    elif not slices and which.identity is not None:
        slices = [np.full(array.shape[:axes[0]] + array.shape[axes[0] + 1:], which.identity, array.dtype)]
    if not slices:
        raise ValueError(f"zero-size array to reduction operation {which.__name__} which has no identity")
    total = slices[0]
    for s in slices[1:]:
        total = which(total, s) if dtype is None else which(total, s, dtype=dtype)
    return np.expand_dims(total, axes[0]) if keepdims else total


def accumulate_method(which, array, axis=0, dtype=None, out=None):
    if which in _ACCUMULATED:
        return _ACCUMULATED[which](array, axis=axis, dtype=dtype, out=out)
    axis = axis_of(axis, array.ndim)
    if dtype is not None:
        array = array.astype(dtype)
    rows = []
    for i in range(array.shape[axis]):
        row = np.take(array, i, axis=axis)
        rows.append(which(rows[-1], row) if rows else row)
    made = np.stack(rows, axis=axis) if rows else array.copy()
    return made if out is None else write_out(made, out, which.__name__)


def outer_method(which, a, b, **kwargs):
    a = a if isinstance(a, Array) else np.asarray(a)
    return which(a.reshape(a.shape + (1,) * np.ndim(b)), b, **kwargs)


METHODS.update(
    {(None, "reduce"): reduce_method, (None, "accumulate"): accumulate_method, (None, "outer"): outer_method}
)


# matmul and the like.

def _product(which, inputs, dtype):
    ours = UFUNCS.get(which)
    if ours is None:
        refuse(MISSING, f"np.{which.__name__}")
    return _generalized.product(which, ours, inputs, tuple(_kind(x) for x in inputs), dtype)


def exact(array, dtype, what):
    """A constant of the host in a dtype of the chip, which holds it."""
    made = host_cast(array, dtype)
    if array.dtype.kind in "iu" and not np.array_equal(made, array):
        refuse(PRECISION, f"{what}: {array.dtype} does not fit {dtype}", kind=OverflowError)
    return made
