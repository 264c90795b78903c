"""What the device's compiler takes as an argument of a kernel. Anything runs here; the rest is worth a warning."""

import enum
import numbers

import numpy as np

from kiln._trace import arrays, dtypes
from kiln._trace.nki_object import NKIObject
from kiln._trace.warnings import warn_not_portable


def warn_of(name, value):
    """Warns of the first value in an argument that does not reach a kernel on the device."""
    found = next(_unknown(value), None)
    if found is not None:
        what, help = found
        warn_not_portable(f"the argument `{name}` of the kernel {what}", help)


def _unknown(value):
    """(what is wrong, what to pass) of the values in an argument that the compiler refuses."""
    if isinstance(value, list):
        yield "is or holds a list", "pass a tuple: lists are refused since NKI 0.3.0"
    if isinstance(value, (list, tuple)):
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
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        yield f"is NumPy's dtype {np.dtype(value).name}", _instead_of_dtype(value)
    elif isinstance(value, int) and not -2**31 <= value < 2**32:
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
    return f"pass nl.{name}" if name in dtypes.ALL else "pass a dtype of nki.language; it has no 64-bit types"
