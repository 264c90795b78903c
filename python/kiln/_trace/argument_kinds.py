"""What the device's compiler takes as an argument of a kernel. Lists and NumPy's dtypes are refused as there, and by
the lint; the rest runs here and is worth a warning."""

import enum
import numbers

import numpy as np

from kiln import _kiln
from kiln._trace import arrays, dtypes, lines, rules
from kiln._trace.errors import refuse
from kiln._trace.nki_object import NKIObject
from kiln._trace.warnings import warn_not_portable


def check(function, name, value):
    """Refuses an argument of a kernel that is or holds a list or a dtype of NumPy; warns of the first other value that
    does not reach a kernel on the device."""
    for leaf in _leaves(value):
        if isinstance(leaf, list):
            refuse(rules.LIST_ARGUMENT, f"the argument `{name}` of the kernel is or holds a list", at=_place(function))
        if dtypes.is_of_numpy(leaf):
            refuse(rules.NUMPY_DTYPE, f"the argument `{name}` of the kernel is NumPy's dtype {np.dtype(leaf).name}",
                   at=_place(function), dtype=_instead_of_dtype(leaf))
    found = next(_unknown(value), None)
    if found is not None:
        what, help = found
        warn_not_portable(f"the argument `{name}` of the kernel {what}", help)


def _place(function):
    """Where the kernel is called; its `def` when no code of the user's calls it."""
    here = _kiln.current_location()
    return (here.file, here.line) if here.line else lines.of_kernel(function)


def _leaves(value):
    """The values in tuples and dicts; of a list, the list."""
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(tuple(value.values()))
    else:
        yield value


def _unknown(value):
    """(what is wrong, what to pass) of the values in an argument that the compiler refuses."""
    if isinstance(value, tuple):
        for item in value:
            yield from _unknown(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                yield f"has a dict with the key {key!r}", "use strings as keys"
            yield from _unknown(item)
    else:
        yield from _unknown_leaf(value)


def _unknown_leaf(value):
    if isinstance(value, int) and not -2**31 <= value < 2**32:
        yield f"is {value}, which has more than 32 bits", "pass a smaller number, or a string"
    elif not _is_known(value):
        help = ("pass arrays, numbers, strings, tuples, dicts, enums, functions, dtypes or objects of classes that "
                "derive from nl.NKIObject")
        yield f"is a {type(value).__name__}", help


_KNOWN = (str, float, numbers.Integral, enum.Enum, NKIObject, np.number, np.bool_, slice)


def _is_known(value):
    if value is None or isinstance(value, _KNOWN):
        return not isinstance(value, np.complexfloating)
    return callable(value) or arrays.is_array(value) or type(value).__module__.split(".")[0] in ("kiln", "nki")


def _instead_of_dtype(value):
    name = {"bool": "bool_"}.get(np.dtype(value).name, np.dtype(value).name)
    return f"nl.{name}" if name in dtypes.ALL else "a dtype of nki.language; it has no 64-bit types"
