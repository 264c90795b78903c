"""kiln.emit: a kernel as NKI source that issues the same program."""

import base64
import zlib

import numpy as np

from kiln import _kiln
from kiln._program import plain
from kiln._trace import simulate
from kiln._trace.specs import of_value

_SHORT = 80  # columns of a list of elements that is written out
_COLUMNS = 90  # of bytes
_LARGE = 1024  # bytes that are packed where that halves them


def emit(kernel, roll=True, main=False):
    """A function that takes the kernel's arguments, arrays or shapes such as "float32[128,512]", and returns NKI 0.6.0
    source: one kernel that issues what this one does for them, on both cores for kernel[2]. roll: what repeats becomes
    a loop. main: with a block that runs it on random inputs."""
    function, lnc = plain(kernel)

    def source(*args, **kwargs):
        args = [of_value(v) for v in args]
        kwargs = {name: of_value(v) for name, v in kwargs.items()}
        schedule = getattr(kernel, "schedule", ())
        return of_cores(simulate.trace_cores(function, lnc, args, kwargs, schedule), roll, main)

    return source


def of_cores(cores, roll=True, main=False, origin=""):
    """The source of what TracedKernels recorded."""
    constants = {}
    for core in cores:
        constants.update({t.name: _array_text(core.arguments[t.name][0].array) for t in core.constants})
    outputs = list(dict.fromkeys(t.name for t in cores[0].outputs))
    return _kiln.emit([core.program() for core in cores], roll=roll, main=main, origin=origin, outputs=outputs,
                      constants=constants)


def _dtype_text(dtype):
    if dtype == np.bool_:
        return "np.bool_"  # `np.bool` is missing in some versions
    return f"np.{dtype.name}" if dtype.type.__module__ == "numpy" else f"ml_dtypes.{dtype.name}"


def _array_text(array):
    """Python that makes the array."""
    dtype, shape = _dtype_text(array.dtype), array.shape
    bits = array.tobytes()
    for text, made in _plain_arrays(array, dtype):
        if made.dtype == array.dtype and made.shape == shape and made.tobytes() == bits:
            return text
    packed = zlib.compress(bits, 9) if len(bits) > _LARGE else bits
    is_packed = 2 * len(packed) <= len(bits)
    code = base64.b85encode(packed if is_packed else bits).decode()
    lines = "\n".join(f'    "{code[i:i + _COLUMNS]}"' for i in range(0, len(code), _COLUMNS))
    data = f"base64.b85decode(\n{lines}\n)"
    if is_packed:
        data = f"zlib.decompress({data})"
    return f"np.frombuffer({data}, {dtype}).reshape({shape})"


def _plain_arrays(array, dtype):
    """(text, array) of arrays that have a name of their own, or are short."""
    shape, values = array.shape, array.reshape(-1)
    first, ends = values[:1].tolist()[0], [np.asarray(v).astype(np.float64) for v in (values[0], values[-1])]
    if ends[0] in (0, 1):
        word = "zeros" if ends[0] == 0 else "ones"
        yield f"np.{word}({shape}, dtype={dtype})", getattr(np, word)(shape, dtype=array.dtype)
    if np.isfinite(ends).all():
        yield f"np.full({shape}, {first}, dtype={dtype})", np.full(shape, first, dtype=array.dtype)
    if len(shape) == 2:
        size = str(shape[0]) if shape[0] == shape[1] else f"{shape[0]}, {shape[1]}"
        yield f"np.eye({size}, dtype={dtype})", np.eye(*shape, dtype=array.dtype)
    if ends[0] == 0 and ends[1] == values.size - 1:
        cut = "" if len(shape) == 1 else f".reshape({shape})"
        yield f"np.arange({values.size}, dtype={dtype}){cut}", np.arange(values.size).astype(array.dtype).reshape(shape)
    if values.size < _SHORT and np.isfinite(values.astype(np.float64)).all():
        text = f"np.array({array.tolist()}, dtype={dtype})"
        if len(text) <= _SHORT:
            yield text, np.array(array.tolist(), array.dtype)
