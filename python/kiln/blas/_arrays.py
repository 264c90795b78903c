"""Arrays of callers as NumPy arrays, results as what the caller gave: NumPy, torch, or anything with DLPack."""

import sys

import ml_dtypes
import numpy as np

# Elements that routines compute in; narrower floats are widened, computed, and rounded once.
LETTERS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d", np.dtype(np.complex64): "c",
           np.dtype(np.complex128): "z"}
_NARROW = {np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)}


def torch_of(value):
    """The module torch when the value is a tensor of it. It is never imported for that."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(value, torch.Tensor) else None


def to_numpy(value, name):
    """The value as a NumPy array that shares its memory where that is possible."""
    torch = torch_of(value)
    if torch is not None:
        tensor = value.detach().resolve_conj().resolve_neg().cpu()
        if tensor.dtype == torch.bfloat16:
            return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return tensor.numpy()
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: not an array: {error}") from None


class Form:
    """What the results of a call look like: those of its first array."""

    def __init__(self, value, name):
        self.torch = torch_of(value)
        self.device = value.device if self.torch is not None else None
        array = to_numpy(value, name)
        self.first = name
        self.dtype = array.dtype
        if self.dtype not in LETTERS and self.dtype not in _NARROW:
            raise TypeError(f"{name}: elements are {self.dtype}, which BLAS has not; it has float16, bfloat16, "
                            "float32, float64, complex64 and complex128")
        self.compute = np.dtype(np.float32) if self.dtype in _NARROW else self.dtype
        self.letter = LETTERS[self.compute]
        self.is_complex = self.compute.kind == "c"
        self.is_bfloat16 = self.dtype == ml_dtypes.bfloat16

    def array(self, value, name, ndim=None):
        """An operand of this call, in the dtype that it is computed in."""
        array = to_numpy(value, name)
        if array.dtype != self.dtype:
            raise TypeError(f"{name}: elements are {array.dtype}, but those of {self.first} are {self.dtype}")
        if ndim is not None and array.ndim != ndim:
            raise ValueError(f"{name}: {array.ndim} dimensions, expected {ndim}; its shape is {array.shape}")
        return array if self.compute == self.dtype else array.astype(self.compute)

    def scalar(self, value, name):
        """A factor as a Python number that the elements can hold."""
        torch = torch_of(value)
        if torch is not None or isinstance(value, np.ndarray):
            value = value.item() if value.ndim == 0 or value.size == 1 else value
        if isinstance(value, (str, bytes)) or not np.isscalar(value):
            raise TypeError(f"{name}: {type(value).__name__}, expected a number")
        if self.is_complex:
            return complex(value)
        if isinstance(value, complex) and value.imag != 0:
            raise TypeError(f"{name}: complex, but elements are {self.dtype}")
        return float(value.real if isinstance(value, complex) else value)

    def result(self, array):
        """An array of the call as the caller's kind, in the caller's dtype."""
        if array.dtype == self.compute and self.compute != self.dtype:
            array = array.astype(self.dtype)
        if self.torch is None:
            return array
        array = np.ascontiguousarray(array) if array.ndim else np.array(array)
        if array.dtype == ml_dtypes.bfloat16:
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16).to(self.device)
        return self.torch.from_numpy(array).to(self.device)

    def number(self, value, real=False):
        """A result of no dimensions: a 0-d tensor, or a NumPy scalar."""
        dtype = self.dtype
        if real and self.is_complex:
            dtype = np.dtype(np.float32) if self.letter == "c" else np.dtype(np.float64)
        array = np.array(value, dtype)
        return self.torch.from_numpy(array).to(self.device) if self.torch is not None and dtype.kind != "V" and (
            dtype != ml_dtypes.bfloat16) else self.result(array) if self.torch is not None else array[()]


def word(value, name, words):
    """One of the words that an argument may be."""
    if value not in words:
        raise ValueError(f"{name}: {value!r}, expected one of {', '.join(repr(w) for w in words)}")
    return value


def square(array, name):
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"{name}: expected a square matrix, its shape is {array.shape}")
    return array


def expect_shape(array, name, shape):
    if array.shape != tuple(shape):
        raise ValueError(f"{name}: its shape is {array.shape}, expected {tuple(shape)}")
    return array
