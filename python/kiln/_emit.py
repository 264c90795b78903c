"""kiln.emit: a kernel as NKI source that issues the same program."""

import base64

import numpy as np

from kiln import _kiln
from kiln._program import plain
from kiln._trace import simulate
from kiln._trace.specs import of_value

_SHORT = 16  # elements that are written out


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
    return f"np.{dtype.name}" if dtype.type.__module__ == "numpy" else f"ml_dtypes.{dtype.name}"


def _array_text(array):
    """Python that makes the array."""
    dtype, shape = _dtype_text(array.dtype), array.shape
    bits = array.tobytes()
    for text, made in _plain_arrays(array, dtype):
        if made.dtype == array.dtype and made.shape == shape and made.tobytes() == bits:
            return text
    if array.size <= _SHORT and np.isfinite(array.astype(np.float64)).all():
        made = np.array(array.tolist(), array.dtype)
        if made.tobytes() == bits:
            return f"np.array({array.tolist()}, dtype={dtype})"
    code = base64.b85encode(bits).decode()
    lines = "\n".join(f'    "{code[i:i + 90]}"' for i in range(0, len(code), 90))
    return f"np.frombuffer(base64.b85decode(\n{lines}\n), {dtype}).reshape({shape})"


def _plain_arrays(array, dtype):
    """(text, array) of arrays that have a name of their own."""
    shape = array.shape
    first = array.reshape(-1)[:1]
    if first.astype(np.float64)[0] in (0, 1):
        word = "zeros" if first.astype(np.float64)[0] == 0 else "ones"
        yield f"np.{word}({shape}, dtype={dtype})", getattr(np, word)(shape, dtype=array.dtype)
    if len(shape) == 2:
        size = str(shape[0]) if shape[0] == shape[1] else f"{shape[0]}, {shape[1]}"
        yield f"np.eye({size}, dtype={dtype})", np.eye(*shape, dtype=array.dtype)
