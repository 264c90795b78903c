"""Arguments and results of a function: arrays among them, the rest as it is; what a compiled function is kept by."""

import dataclasses
import re

import numpy as np

from kiln._trace.specs import Spec
from kiln.numpy import _dtypes
from kiln.numpy._array import Array
from kiln.numpy._masked import Masked
from kiln.numpy._rules import ARGUMENTS, RESULT, WIDE, refuse


_TENSOR = re.compile(r"\s*(\w+)\s*\[([\d,\s]*)\]\s*")


class Shape:
    """An array without elements: what is known before a run."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype, shape):
        self.dtype, self.shape = np.dtype(_dtypes.OF_NAME.get(str(dtype), str(dtype))), tuple(int(n) for n in shape)

    def __repr__(self):
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


def parsed_shape(text):
    """float32[128,512] as a Shape; None when it is none."""
    match = _TENSOR.fullmatch(text)
    if match is None:
        return None
    try:
        return Shape(match[1], [n for n in match[2].split(",") if n.strip()])
    except TypeError:
        refuse(WIDE, f"`{text}`: {match[1]} is no dtype", kind=TypeError)


# NumPy's arrays whose operators mean something else, or that have more than elements. By name, since numpy.ma takes
# long to import.
_OTHER_MEANING = {"MaskedArray": "pass x.filled(...) and the mask as arrays of their own",
                  "matrix": "pass np.asarray(x), and write products with @", "recarray": "pass its fields as arrays"}


class Leaf:
    """In place of an array: its position in the list of arrays."""

    __slots__ = ("at",)

    def __init__(self, at):
        self.at = at


def is_tensor(x):
    return isinstance(x, (np.ndarray, np.generic, Shape)) or (hasattr(x, "__array__") and hasattr(x, "dtype")
                                                             and not isinstance(x, (type, Array)))


def flatten(x, name, arrays, key):
    """x with Leaf in place of arrays, which go to `arrays` as (name, array); what tells calls apart goes to `key`."""
    t = type(x)
    if t is np.ndarray or isinstance(x, (np.ndarray, np.generic, Array, Shape)):
        if t is not np.ndarray and t.__name__ in _OTHER_MEANING and t.__module__.partition(".")[0] == "numpy":
            remedy = _OTHER_MEANING[t.__name__]
            refuse(ARGUMENTS, f"`{name}` is a {t.__module__}.{t.__name__}", remedy, kind=TypeError)
        key.append(_signature(x))
        arrays.append((name, x))
        return Leaf(len(arrays) - 1)
    if t in (int, bool, str, type(None), bytes):
        key.append((t, x))
        return x
    if t is float:
        key.append((t, x.hex()))
        return x
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        key.append(t)
        return t(*(flatten(v, f"{name}_{f}", arrays, key) for f, v in zip(x._fields, x)))
    if t in (tuple, list):
        key.append((t, len(x)))
        return t(flatten(v, f"{name}_{i}", arrays, key) for i, v in enumerate(x))
    if isinstance(x, dict):
        key.append((t, tuple(x)))
        return {k: flatten(v, f"{name}_{_word(k)}", arrays, key) for k, v in x.items()}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        fields = [f.name for f in dataclasses.fields(x)]
        key.append(t)
        return dataclasses.replace(x, **{f: flatten(getattr(x, f), f"{name}_{f}", arrays, key) for f in fields})
    if is_tensor(x):
        return flatten(np.asarray(x), name, arrays, key)
    try:
        hash(x)
    except TypeError:
        refuse(ARGUMENTS, f"`{name}` is of type {t.__name__}", kind=TypeError)
    key.append((t, x))
    return x


def _word(key):
    text = "".join(c if c.isalnum() else "_" for c in str(key))
    return text or "item"


def _signature(x):
    if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
        return x.dtype, x.shape, x.strides
    return x.dtype, x.shape


def unflatten(x, made):
    """The structure with made[i] in place of Leaf(i)."""
    if type(x) is Leaf:
        return made[x.at]
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(unflatten(v, made) for v in x))
    if type(x) in (tuple, list):
        return type(x)(unflatten(v, made) for v in x)
    if isinstance(x, dict):
        return {k: unflatten(v, made) for k, v in x.items()}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return dataclasses.replace(x, **{f.name: unflatten(getattr(x, f.name), made) for f in dataclasses.fields(x)})
    return x


def as_given(x):
    """An argument of `lower`: a shape such as "float32[128,512]" is a Shape, in lists and dicts too."""
    if isinstance(x, Spec):
        return Shape(x.dtype, x.shape)
    if isinstance(x, str):
        return parsed_shape(x) or x
    if type(x) in (tuple, list):
        return type(x)(map(as_given, x))
    if type(x) is dict:
        return {k: as_given(v) for k, v in x.items()}
    return x


def dtype_for_chip(dtype, name, x64):
    """The dtype of an input; 64 bits only when they are to be narrowed."""
    dtype = np.dtype(_dtypes.OF_NAME.get(str(dtype), dtype))
    if dtype in _dtypes.NAME:
        return dtype
    if _dtypes.is_wide(dtype) and x64 == "narrow":
        return _dtypes.narrow(dtype)
    refuse(WIDE, f"`{name}` is {dtype}", "" if _dtypes.is_wide(dtype) else "convert it: the chip has no such numbers",
           kind=TypeError)


def narrowed(array, dtype, name):
    """An array of the host in the dtype of its input."""
    if array.dtype == dtype:
        return array
    made = array.astype(dtype)
    if array.dtype.kind in "iu" and not np.array_equal(made, array):
        refuse(WIDE, f"`{name}` has integers that do not fit {dtype}", "scale them first", kind=OverflowError)
    return made


def flatten_result(x, outputs):
    """A result with Leaf in place of Arrays."""
    if isinstance(x, Masked):
        x.refuse("a result")
    if type(x) is not Array and isinstance(x, np.ndarray):
        x = Array(const=x)
    if isinstance(x, Array):
        outputs.append(x)
        return Leaf(len(outputs) - 1)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(flatten_result(v, outputs) for v in x))
    if type(x) in (tuple, list):
        return type(x)(flatten_result(v, outputs) for v in x)
    if isinstance(x, dict):
        return {k: flatten_result(v, outputs) for k, v in x.items()}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return dataclasses.replace(x, **{f.name: flatten_result(getattr(x, f.name), outputs)
                                         for f in dataclasses.fields(x)})
    if x is None or isinstance(x, (int, float, bool, str, np.generic, np.dtype)):
        return x
    refuse(RESULT, f"the function returns a {type(x).__name__}", kind=TypeError)
