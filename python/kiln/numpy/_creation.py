"""NumPy's functions that make arrays without taking one. While a function is traced they give Arrays, so that results
of other calls can be written into them; their elements stay known until then."""

import contextlib
import functools
import os
import sys
import sysconfig
import threading
import types

import numpy as np
import numpy.random  # noqa: F401  (which NumPy loads late: it must not be loaded while functions are traced)

from kiln._trace import tracebacks
from kiln.numpy import _dispatch, _dtypes, _layouts, _lists
from kiln.numpy._array import Array, has_array, stacked
from kiln.numpy._masked import Masked
from kiln.numpy._rules import ARGUMENT, DYNAMIC_SHAPE, refuse
from kiln.numpy._trace import active

PATCHED = {}  # name in numpy -> its replacement
_lock = threading.RLock()
_depth = 0
_MAKERS = (
    "zeros ones empty full arange linspace logspace geomspace eye identity tri indices fromfunction hanning hamming "
    "bartlett blackman kaiser tril_indices triu_indices diag_indices mask_indices frombuffer fromiter"
).split()


_INSTALLED = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib", "stdlib")})
_is_users = {}  # file -> whether it is neither ours nor of an installed package


def _is_ours():
    """Whether the user's code, as it is traced, makes the call: packages get what NumPy gives."""
    if active() is None or getattr(_dispatch.on_host, "depth", 0):
        return False
    file = sys._getframe(2).f_code.co_filename
    if file not in _is_users:
        _is_users[file] = not file.startswith((*_INSTALLED, tracebacks.PACKAGE))
    return _is_users[file]


@functools.cache
def _plain_numpy():
    """NumPy as it is without us."""
    made = types.ModuleType("numpy", np.__doc__)
    made.__dict__.update({**np.__dict__, **ORIGINAL})
    return made


_shielded = {"modules": 0}  # how many there were last time


def _shield():
    """Extension modules, whose calls have no frame, keep NumPy's own functions."""
    if len(sys.modules) == _shielded["modules"]:
        return
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("np") is np and str(getattr(module, "__file__", "")).endswith(".so"):
            module.np = _plain_numpy()
    _shielded["modules"] = len(sys.modules)


def _maker(name, original):
    @functools.wraps(original)
    def make(*args, **kwargs):
        if not _is_ours():
            return original(*args, **kwargs)
        if kwargs.get("like") is not None:
            del kwargs["like"]
        if name == "full" and _has_unknown(args, kwargs):
            return _full(*args, **kwargs)
        if name in ("linspace", "logspace", "geomspace", "arange") and _has_unknown(args, kwargs):
            return _dispatch.function(original, args, kwargs)
        if _has_unknown(args, kwargs):
            refuse(DYNAMIC_SHAPE, f"np.{name} with an argument that is known at run time alone",
                   "pass it as a Python number, or take it from x.shape", kind=TypeError)
        with _dispatch.Host():
            made = _dispatch.wrapped(original(*_dispatch._on_host(args), **_dispatch._on_host(kwargs)))
        for x in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(x, Array):
                x._is_cell = True
        return made

    return make


def _has_unknown(args, kwargs):
    found = []
    _dispatch._arrays_in(args, found)
    _dispatch._arrays_in(kwargs, found)
    return not _dispatch.all_known(found)


def _full(shape, fill_value, dtype=None, order="C", *, device=None):
    made = np.broadcast_to(fill_value, shape).copy(order=order)
    return made if dtype is None else made.astype(dtype)


def _array(original, copies):
    @functools.wraps(original)
    def array(a, dtype=None, *args, **kwargs):
        if not _is_ours():
            return original(a, dtype, *args, **kwargs) if dtype is not None else original(a, *args, **kwargs)
        if isinstance(a, Masked):
            a.refuse("np.asarray")
        if not has_array(a):
            with _dispatch.Host():
                if copies or not isinstance(a, np.ndarray):
                    made = _dispatch.wrapped(original(a, dtype, *args, **kwargs) if dtype is not None else
                                             original(a, *args, **kwargs))
                else:
                    made = _dispatch.wrapped(np.array(a, dtype))
            if isinstance(made, Array):
                made._is_cell = True
            return made
        made = _copied(stacked(a), a, original, args, kwargs)
        if dtype is not None and made.dtype != np.dtype(dtype):
            made = made.astype(dtype)
        for _ in range(kwargs.get("ndmin", 0) - made.ndim):
            made = made[None]
        made._is_cell = True
        return made

    return array


def _copied(made, a, original, args, kwargs):
    """An Array as np.array and the like give it: itself, or a new one that lies as NumPy's does."""
    kwargs = {k: v for k, v in kwargs.items() if k not in ("ndmin", "like", "device")}
    small = _layouts.thumbnails(a)
    with _dispatch.Host():
        answer = original(small, None, *args, **kwargs)
    if made is a and np.shares_memory(answer, small):
        return a
    return _layouts.laid_like(np.copy(made) if made is a else made, answer)


def _enumerated(original):
    @functools.wraps(original)
    def ndenumerate(arr):
        return ((i, arr[i]) for i in np.ndindex(*arr.shape)) if isinstance(arr, Array) else original(arr)

    return ndenumerate


def _iterated(original):
    @functools.wraps(original)
    def nditer(op, *args, **kwargs):
        if has_array(op):
            refuse(ARGUMENT, "np.nditer of an array of a traced function",
                   "loop over x, x.flat or np.ndindex(x.shape), or write the loop as operations on whole arrays",
                   kind=TypeError)
        return original(op, *args, **kwargs)

    return nditer


def _is_number(original):
    @functools.wraps(original)
    def isscalar(element):
        return not element.shape and not element._is_cell if type(element) is Array else original(element)

    return isscalar


class _Joined:
    """np.r_ and np.c_ for keys with Arrays in them."""

    def __init__(self, original, as_columns):
        self._original, self._as_columns = original, as_columns

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        if not has_array(key):
            return self._original[key]
        return self._join([self._part(item) for item in key])

    def _part(self, item):
        if isinstance(item, str):
            refuse(ARGUMENT, f"np.r_[{item!r}, ...]", "write np.concatenate or np.stack", kind=TypeError)
        if isinstance(item, slice):
            item = self._original[item]
        item = stacked(item) if not isinstance(item, Array) else item
        item = np.atleast_1d(item)
        return item.reshape(-1, 1) if self._as_columns and item.ndim == 1 else item

    def _join(self, parts):
        return np.concatenate(parts, axis=-1 if self._as_columns else 0)


PATCHED["r_"], PATCHED["c_"] = _Joined(np.r_, False), _Joined(np.c_, True)
for _name in _MAKERS:
    PATCHED[_name] = _maker(_name, getattr(np, _name))
PATCHED["array"] = _array(np.array, True)
for _name in ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite", "require"):
    PATCHED[_name] = _array(getattr(np, _name), False)
PATCHED["isscalar"] = _is_number(np.isscalar)
PATCHED["ndenumerate"], PATCHED["nditer"] = _enumerated(np.ndenumerate), _iterated(np.nditer)
ORIGINAL = {name: getattr(np, name) for name in PATCHED}


@functools.cache
def _modules():
    """[(module, replacements, originals)] of what is replaced while a function is traced."""
    made = [(np, {**_lists.replacements(np), **PATCHED}), (np.linalg, _lists.replacements(np.linalg)),
            (np.random, _REFUSED)]
    return [(module, new, {name: vars(module)[name] for name in new}) for module, new in made]


def _drawn(name, original):
    """A function of np.random whose numbers are others at each call: traced once, they would be the same for ever."""
    @functools.wraps(original)
    def draw(*args, **kwargs):
        has_seed = name == "default_rng" and any(x is not None for x in (*args, *kwargs.values()))
        if _is_ours() and not has_seed:
            refuse(ARGUMENT, f"np.random.{name} in a function that is traced once",
                   "draw outside and pass the array, or use kiln.numpy.random with a key; np.random.default_rng(seed) "
                   "gives the same numbers at every call", kind=TypeError)
        return original(*args, **kwargs)

    return draw


_DRAWN = {name: getattr(np.random, name) for name in dir(np.random)
          if isinstance(getattr(getattr(np.random, name), "__self__", None), np.random.RandomState)
          and name not in ("get_state", "set_state", "seed")}
_DRAWN["default_rng"] = np.random.default_rng
_REFUSED = {name: _drawn(name, original) for name, original in _DRAWN.items()}
_call_vectorized = np.vectorize.__call__


def _vectorized(self, *args, **kwargs):
    """Calls of what np.vectorize made."""
    if active() is None or not has_array([*args, *kwargs.values()]):
        return _call_vectorized(self, *args, **kwargs)
    from kiln.numpy._vectorize import call

    return call(self, args, kwargs)


@contextlib.contextmanager
def patched():
    """NumPy with these functions, as long as any thread traces; other threads get the original ones' results."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            _shield()
            for module, new, _ in _modules():
                vars(module).update(new)
            np.vectorize.__call__ = _vectorized
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for module, _, originals in _modules():
                    vars(module).update(originals)
                np.vectorize.__call__ = _call_vectorized


def zeros(shape, dtype):
    return Array(const=np.zeros(shape, dtype))


def constant(array):
    return Array(const=np.asarray(array))


def iota(n, dtype=_dtypes.INT32):
    return Array(const=np.arange(n, dtype=dtype))


