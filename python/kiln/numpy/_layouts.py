"""How results lie in memory. NumPy's lie as their operands do, which decides what reshapes of them are views. Which way
that is, NumPy itself says: its function is called with thumbnails, small arrays whose axes lie as those of the
operands."""

import warnings

import numpy as np

from kiln.numpy._array import Array

ALWAYS = {np.einsum}  # functions whose results of arrays in C order lie in others
_FEW = 3  # elements along an axis of a thumbnail, at most


def are_plain(values):
    """Whether all of them lie in C order, so that results of most functions do."""
    for x in values:
        t = type(x)
        if t is Array:
            if (x._parent is not None or x._strides is not None) and len(x._shape) > 1 and not x._is_plain():
                return False
        elif t is np.ndarray and not x.flags.c_contiguous:
            return False
    return True


def _look(x):
    """(shape, strides in elements or an order by name, dtype) of a thumbnail."""
    dtype = x.dtype
    return *_lie(x), dtype if dtype.kind in "biufc" else np.dtype(np.float32)


def _lie(x):
    shape = tuple([n if n < _FEW else _FEW for n in x.shape])
    if type(x) is Array and x._parent is None and x._strides is None:
        return shape, "C"
    seen = x._shadow() if type(x) is Array else x
    flags = seen.flags
    if flags.forc and seen.size:
        return shape, "C" if flags.c_contiguous else "F"
    strides, step, last = [0] * len(shape), 2, 0
    apart = [abs(s) if n != 1 else 0 for s, n in zip(seen.strides, seen.shape)]
    for i in sorted(range(len(shape)), key=apart.__getitem__):
        if apart[i]:
            if last and apart[i] != last:
                step *= _FEW
            strides[i], last = step, apart[i]
    return shape, tuple(strides)


def _drawn(look):
    shape, lie, dtype = look
    number = 0 if dtype.kind in "biu" else 1
    if type(lie) is str:
        return np.full(shape, number, dtype, lie)
    line = np.full(sum(lie) * _FEW + 1, number, dtype)
    return np.lib.stride_tricks.as_strided(line, shape, [n * dtype.itemsize for n in lie])


def thumbnail(x):
    """A small array of the host with the axes of x: as long up to a few elements, and as they lie in memory."""
    return _drawn(_look(x))


def thumbnails(x):
    """Arguments of a function with thumbnails in place of arrays."""
    t = type(x)
    if t is Array or t is np.ndarray:
        return thumbnail(x)
    if t is list or t is tuple:
        return t([thumbnails(item) for item in x])
    return {k: thumbnails(v) for k, v in x.items()} if t is dict else x


def _key(x):
    """Arguments by which answers are kept: what thumbnails of them are made of."""
    t = type(x)
    if t is Array or t is np.ndarray:
        return _look(x)
    if t is list or t is tuple:
        return (t, *map(_key, x))
    return tuple([(k, _key(v)) for k, v in x.items()]) if t is dict else (t, x)


def strides_in(order, shape):
    """Strides, in elements, of a new array whose axes lie in this order, the outermost first; None in C order."""
    strides, step = [0] * len(shape), 1
    for i in reversed(order):
        strides[i] = step
        step *= max(shape[i], 1)
    lasting = [i for i in order if shape[i] != 1]
    return None if lasting == sorted(lasting) else tuple(strides)


def _order_of(small):
    """The axes of an array, the outermost first."""
    order = list(range(small.ndim))
    if small.flags.c_contiguous:
        return order
    return order[::-1] if small.flags.f_contiguous else sorted(order, key=lambda i: -abs(small.strides[i]))


def _strides_like(small, shape):
    return None if len(shape) < 2 or small.flags.c_contiguous else strides_in(_order_of(small), shape)


def laid_like(made, small):
    """A new array that lies as a small one does; as it is where the small one does not tell its axes apart."""
    if small.ndim != made.ndim or any(m == 1 < n for m, n in zip(small.shape, made.shape)):
        small = made._shadow()
    return laid_out(made, _strides_like(small, made.shape))


def chosen(made, view, arrays):
    """What arrays [(axis, index, ...)] choose of a view, as it lies in NumPy."""
    if made.ndim < 2 or (arrays[0][0] == 0 and are_plain([view, *(index for _, index, _ in arrays)])):
        return made
    key = [slice(None)] * view.ndim
    for axis, index, *_ in arrays:
        key[axis] = thumbnail(index) if np.ndim(index) else 0
    return laid_like(made, thumbnail(view)[tuple(key)])


def laid_out(array, strides):
    """A new array, or a view of one, with these strides."""
    if array._parent is None and array._strides == strides:
        return array
    known = array._known()
    if known is not None:
        order = range(array.ndim) if strides is None else sorted(range(array.ndim), key=lambda i: -strides[i])
        made = Array(const=np.ascontiguousarray(known.transpose(order)).transpose(np.argsort(order)))
    else:
        made = array if array._parent is None else Array(array._get())
        made._strides = strides
    made._is_cell = array._is_cell
    return made


def _flat(x, out):
    if type(x) is Array or isinstance(x, (np.ndarray, np.generic)):
        out.append(x)
    elif isinstance(x, (list, tuple)):
        for item in x:
            _flat(item, out)
    return out


def _rebuilt(x, made):
    if type(x) is Array:
        return made[id(x)]
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_rebuilt(item, made) for item in x))
    return type(x)(_rebuilt(item, made) for item in x) if isinstance(x, (list, tuple)) else x


def settled(made, arrays, call, must_ask=False):
    """Results of a function of these arrays as they lie in NumPy, which is asked. call: (function, arguments by
    position, by name). For arrays in C order it is asked only where it must be: nearly all results of such are, too."""
    if type(made) is Array and len(made._shape) < 2 and made._parent is None:
        return made
    leaves = [made] if type(made) is Array else [x for x in _flat(made, []) if type(x) is Array]
    if not must_ask and are_plain(arrays) and all(x._parent is None and x._strides is None for x in leaves):
        return made
    roots = [id(x._root) for x in arrays if type(x) is Array]
    answers = _answers(*call)
    if len(answers) != len(leaves):
        answers = [x._shadow() for x in leaves]
    settled = {id(x): x if not x._shape or id(x._root) in roots else laid_like(x, small)
               for x, small in zip(leaves, answers)}
    return _rebuilt(made, settled)


def as_order(x, order):
    """x itself where it lies in this order, else a copy that does."""
    small = thumbnail(x)
    return x if np.asarray(small, order=order) is small else np.copy(x, order=order)


_orders = {}  # how operands lie -> the order of axes of what an elementwise function makes of them


def elementwise(made, inputs):
    """What an elementwise function made of one or two inputs, as it lies in NumPy: the same for all such functions."""
    key = tuple([_lie(x) for x in inputs if (type(x) is Array or type(x) is np.ndarray) and len(x.shape) > 1])
    order = _orders.get(key)
    if order is None:
        small = [_drawn((*lie, np.dtype(np.uint8))) for lie in key]
        order = _orders[key] = _order_of(np.add(*small) if len(small) == 2 else np.positive(*small))
    return laid_out(made, strides_in(order, made._shape))


_kept = {}  # (function, key of its arguments) -> answers


def _answers(function, args, kwargs):
    """Small results of NumPy's function; none where thumbnails are too small for the other arguments."""
    try:
        key = function, _key(args), _key(kwargs)
        if key in _kept:
            return _kept[key]
    except TypeError:  # an argument that cannot be told apart
        key = None
    made = _flat(_answer(function, args, kwargs), [])
    if key is not None:
        if len(_kept) > 10000:
            _kept.clear()
        _kept[key] = made
    return made


def _answer(function, args, kwargs):
    from kiln.numpy._dispatch import Host

    with Host(), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*thumbnails(args), **thumbnails(kwargs))
        except Exception:  # of any kind that NumPy has
            return None
