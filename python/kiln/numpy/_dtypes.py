"""Dtypes of NumPy and of the chip: which ones there are, what 64 bits become, and in which dtypes ufuncs work."""

import functools

import ml_dtypes
import numpy as np

from kiln import _kiln
from kiln.numpy._rules import OPTIONS, PRECISION, WIDE, refuse

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
BOOL, INT32, UINT32, FLOAT32 = map(np.dtype, (bool, np.int32, np.uint32, np.float32))
_NAMES = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float16", "bfloat16",
          "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4")


def _of_name(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


OF_NAME = {name: _of_name(name) for name in _NAMES if name in [n.rstrip("_") for n in _kiln.dtype_names()]}
OF_NAME["bool_"] = OF_NAME["bool"]
NAME = {dtype: name for name, dtype in OF_NAME.items()}  # of what the chip has
BY_CODE = [OF_NAME.get(name.rstrip("_")) for name in _kiln.dtype_names()]
_NARROW = {np.dtype(a): np.dtype(b) for a, b in
           ((np.float64, np.float32), (np.int64, np.int32), (np.uint64, np.uint32), (np.longdouble, np.float32),
            (np.longlong, np.int32), (np.ulonglong, np.uint32))}


_REMEDIES = {
    "c": "the chip has no complex numbers: compute with two arrays, real and imaginary; kiln.fft has transforms",
    "O": "make it of numbers: arrays of Python objects stay on the host",
    "M": "the chip has no dates: pass them as integers", "m": "the chip has no dates: pass them as integers",
    "U": "strings stay on the host", "S": "strings stay on the host", "T": "strings stay on the host",
}


def remedy(dtype):
    """What to do with an array of a dtype that the chip lacks; nothing where the rule says it."""
    if dtype.fields:
        return "pass an array for each field: " + ", ".join(f"x[{name!r}]" for name in dtype.names)
    if not dtype.isnative:
        return f"its bytes are in the other order: pass x.astype(np.{dtype.newbyteorder('=')})"
    return _REMEDIES.get(dtype.kind, "")


def is_float(dtype):
    return dtype.kind == "f" or (dtype.kind == "V" and dtype in NAME)


def is_small_float(dtype):
    """One of ml_dtypes, or float16."""
    return is_float(dtype) and dtype.itemsize < 4


def is_integer(dtype):
    return dtype.kind in "iu"


def narrow(dtype):
    """The dtype of the chip for one of NumPy: 64 bits become 32. Refuses what has none."""
    if dtype in NAME:
        return dtype
    if dtype not in _NARROW:
        refuse(WIDE, f"an array of {dtype}", remedy(dtype), kind=TypeError)
    return _NARROW[dtype]


def is_wide(dtype):
    return dtype in _NARROW


def requested(dtype):
    """The dtype that a user asks for with dtype= or astype."""
    return narrow(np.dtype(dtype))


def finite_range(dtype):
    """(lowest, highest) of an integer dtype or bool."""
    if dtype.kind == "b":
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def weak(number, dtype):
    """The dtype that a Python number takes beside a tensor, as in NumPy 2."""
    if isinstance(number, bool):
        return BOOL if dtype.kind == "b" else dtype
    if isinstance(number, int):
        return INT32 if dtype.kind == "b" else dtype
    return dtype if is_float(dtype) else FLOAT32


@functools.lru_cache(maxsize=4096)
def whole_loop(ufunc, inputs, dtype):
    """The dtypes in which NumPy's ufunc computes and that it gives, for dtypes or Python's number types as inputs."""
    given = tuple(inputs) + (None,) * ufunc.nout
    signature = None if dtype is None else (None,) * ufunc.nin + (dtype,) * ufunc.nout
    # Python numbers beside one of ml_dtypes' floats are weak too, as beside NumPy's own.
    small = [i for i in inputs if isinstance(i, np.dtype) and i.kind == "V"]
    if ufunc.signature is not None and small and all(i == small[0] for i in inputs) and dtype is None:
        return (small[0],) * (ufunc.nin + ufunc.nout)  # and products keep them
    if small and any(isinstance(i, type) for i in inputs):
        given = tuple(small[0] if isinstance(i, type) else i for i in inputs) + (None,) * ufunc.nout
    return ufunc.resolve_dtypes(given) if dtype is None else ufunc.resolve_dtypes(given, signature=signature)


_SIGNED_MIX = "{} of {}: NumPy computes in {}, and the chip has no 64-bit integers"


_known_loops = {}


def loop(ufunc, inputs, dtype=None):
    """The same, with 64 bits made 32, where 32 hold what the inputs hold."""
    key = ufunc, inputs, dtype
    made = _known_loops.get(key)
    if made is None:
        made = _known_loops[key] = _narrow_loop(ufunc, inputs, dtype)
    return made


def common(kinds, name):
    """The dtype in which a function joins or compares values of these kinds."""
    out = kinds[0] if len(kinds) > 1 else narrow(kinds[0]) if isinstance(kinds[0], np.dtype) else kinds[0]
    for k in kinds[1:]:
        pair = [d for d in (out, k) if isinstance(d, np.dtype)]
        if UINT32 in pair and any(d.kind == "i" for d in pair):
            refuse(PRECISION, _SIGNED_MIX.format(f"np.{name}", " and ".join(d.name for d in pair), "int64"),
                   kind=TypeError)
        out = loop(np.maximum, (out, k))[0]
    return out


def _narrow_loop(ufunc, inputs, dtype):
    try:
        found = whole_loop(ufunc, inputs, dtype)
    except TypeError as error:
        refuse(WIDE, str(error), "cast the operands to a dtype that the function takes", kind=TypeError)
    mixed = dtype is None and any(d == np.int64 for d in found if d is not None) and UINT32 in inputs
    if mixed and any(isinstance(i, np.dtype) and i.kind == "i" for i in inputs):
        words = " and ".join(i.name if isinstance(i, np.dtype) else i.__name__ for i in inputs)
        refuse(PRECISION, _SIGNED_MIX.format(f"np.{ufunc.__name__}", words, "int64"), kind=TypeError)
    return tuple(narrow(d) for d in found)


def option_x64(x64):
    if x64 not in ("error", "narrow"):
        refuse(OPTIONS, f"x64={x64!r}", 'pass x64="error" or x64="narrow"', kind=ValueError)
    return x64
