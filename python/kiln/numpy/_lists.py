"""Lists with Arrays in them where NumPy takes an array, as in np.exp([x, y]) or np.linalg.det([[x, y], [z, w]]). NumPy
asks an argument itself who answers a call, not what a list holds; while a function is traced, its functions are
replaced by these, which make such a list one Array first."""

import functools
import inspect

import numpy as np

from kiln.numpy import _dispatch
from kiln.numpy._array import has_array, stacked
from kiln.numpy._trace import active

_ONE = set(  # parameters that are one array; others, as `arrays` of np.stack, are lists as they are
    "a A a1 a2 arr array ary b condition element f fill_value fp indices m mask p seq_of_zeros src test_elements v val "
    "vals values w weights x x1 x2 xp y z *arrays".split()
)


def _has_list(args):
    """Whether there is anything to do; most calls have none."""
    for x in args:
        if type(x) is list or type(x) is tuple:
            return active() is not None
    return False


def _is_list(x):
    return isinstance(x, (list, tuple)) and has_array(x)


def of_function(original, ours):
    """NumPy's function, for lists too; None if it has no parameter that is one array."""
    names = [str(p).partition("=")[0] for p in inspect.signature(ours).parameters.values()]
    places = [i for i, name in enumerate(names) if name in _ONE]
    if not places:
        return None
    takes_many = names[0] == "*arrays"

    @functools.wraps(original)
    def call(*args, **kwargs):
        if _has_list(args):
            args = [stacked(x) if (takes_many or i in places) and _is_list(x) else x for i, x in enumerate(args)]
        if kwargs and _has_list(kwargs.values()):
            kwargs = {k: stacked(v) if k in _ONE and _is_list(v) else v for k, v in kwargs.items()}
        return original(*args, **kwargs)

    return call


def of_ufunc(ufunc):
    """A ufunc that takes lists, and whose methods do."""
    def for_lists(plain):
        @functools.wraps(plain)
        def call(*args, **kwargs):
            if _has_list(args):
                args = [stacked(x) if _is_list(x) else x for x in args]
            return plain(*args, **kwargs)

        return staticmethod(call)

    members = {"__call__": for_lists(ufunc)}
    members.update({name: for_lists(getattr(ufunc, name)) for name in ("reduce", "accumulate", "outer")})
    return type(ufunc.__name__, (), {
        **members, "__class__": property(lambda self: np.ufunc),
        "__getattr__": lambda self, name: getattr(ufunc, name),
        "__eq__": lambda self, other: other is self or other is ufunc, "__hash__": lambda self: hash(ufunc),
        "__repr__": lambda self: repr(ufunc)})()


def replacements(module):
    """name -> replacement, for the functions of a module of NumPy that Kiln has."""
    made = {}
    for name, value in vars(module).items():
        if isinstance(value, np.ufunc):
            replaced = of_ufunc(value) if value in _dispatch.UFUNCS else None
        else:
            ours = _dispatch.FUNCTIONS.get(value) if callable(value) and getattr(value, "__hash__", None) else None
            replaced = of_function(value, ours) if ours is not None else None
        if replaced is not None and not name.startswith("_"):
            made[name] = replaced
    return made
