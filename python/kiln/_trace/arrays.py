"""Arrays of the caller as bytes of the machine, and back: NumPy, torch, anything with DLPack."""

import math
import sys

import ml_dtypes
import numpy as np

from kiln import _kiln
from kiln._trace import dtypes, rules
from kiln._trace.errors import refuse

# Packed types have no NumPy dtype of their own: their bits come back as unsigned integers.
_PACKED = {
    "float8_e4m3fn_x4": np.dtype(np.uint32),
    "float8_e5m2_x4": np.dtype(np.uint32),
    "float4_e2m1fn_x4": np.dtype(np.uint16),
}
# NKI dtype -> NumPy dtype.
_NUMPY = {"bool_": np.dtype(np.bool_), "tfloat32": np.dtype(np.float32), **_PACKED}
# An argument says that its integers are packed by a dtype of one field with the packed type's name. NumPy
# finds it by that name, as it finds ml_dtypes' names: bits.view(nl.float8_e4m3fn_x4).
_NUMPY_PACKED = {name: np.dtype([(name, bits)]) for name, bits in _PACKED.items()}
for _name, _dtype in _NUMPY_PACKED.items():
    np.sctypeDict.setdefault(_name, _dtype)


def numpy_dtype(dtype):
    """The NumPy dtype that holds elements of an NKI dtype."""
    name = str(dtype)
    if name in _NUMPY:
        return _NUMPY[name]
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(ml_dtypes, name))


def nki_dtype(dtype, owner="it", convert="array.astype(np.{})"):
    """The NKI dtype of a NumPy dtype; refuses 64-bit types and the like, those of `owner`."""
    dtype = np.dtype(dtype)
    name = dtype.names[0] if dtype in _NUMPY_PACKED.values() else {"bool": "bool_"}.get(dtype.name, dtype.name)
    if name not in dtypes.ALL:
        hint = {"float64": "float32", "int64": "int32", "uint64": "uint32"}.get(name, "float32")
        refuse(rules.ARGUMENT_DTYPE, f"{owner} is an array of {name}", conversion=convert.format(hint))
    return dtypes.ALL[name]


def is_torch(value):
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def is_array(value):
    return isinstance(value, np.ndarray) or is_torch(value) or (
        hasattr(value, "__dlpack__") and not np.isscalar(value) and hasattr(value, "shape"))


_TORCH_BITS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def _require_values(tensor, owner):
    """Refuses torch tensors that are no plain memory: sparse ones, and those of the device `meta`."""
    import torch

    if tensor.layout is not torch.strided or tensor.device.type == "meta":
        kind = "on the device meta" if tensor.device.type == "meta" else f"of layout {tensor.layout}"
        refuse(rules.ARGUMENT_VALUES, f"{owner} is a torch tensor {kind}")


def require_unmasked(array, owner):
    """Refuses a masked array with masked elements: nobody knows what the kernel should read there."""
    if "numpy.ma" not in sys.modules:  # which takes longer to import than a kernel to run
        return
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        refuse(rules.ARGUMENT_VALUES, f"{owner} is a masked array, and elements of it are masked",
               "pass array.filled(value), or array.data for what lies under the mask")


def _from_torch(tensor):
    """A NumPy array over the tensor's memory; a copy when it is not on the CPU or not contiguous."""
    import torch

    tensor = tensor.detach().cpu()
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _TORCH_BITS:
        bits = tensor.contiguous().view(getattr(torch, _TORCH_BITS[name])).numpy()
        return bits.view(numpy_dtype(name))
    return tensor.numpy()


def _from_dlpack(value, owner):
    """A NumPy array over the memory of an array that has DLPack. NumPy's DLPack lacks the small floats: those come as
    the array that the object makes of itself, which the kernel may read."""
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if not hasattr(value, "__array__"):
            refuse(rules.ARGUMENT_MEMORY, f"{owner} is a {type(value).__name__}: {error}")
    array = np.asarray(value).view()
    array.flags.writeable = False
    return array


def to_torch(array):
    """A torch tensor with the array's values."""
    import torch

    name = array.dtype.name
    if name in _TORCH_BITS:
        bits = torch.from_numpy(np.ascontiguousarray(array).view(_TORCH_BITS[name]))
        return bits.view(getattr(torch, name))
    return torch.from_numpy(np.ascontiguousarray(array))


class Argument:
    """An array argument: the caller's object, a C-ordered array of its values, and how to give changes back."""

    def __init__(self, value, name=""):
        owner = f"`{name}`" if name else "it"
        self.value = value
        if is_torch(value):
            _require_values(value, owner)
        self.original = _from_torch(value) if is_torch(value) else (
            np.asarray(value) if isinstance(value, np.ndarray) else _from_dlpack(value, owner))
        array = self.original
        require_unmasked(value, owner)
        if array.ndim == 0:
            refuse(rules.ARGUMENT_DIMENSIONS, f"{owner} is an array of shape ()")
        if array.size == 0:
            refuse(rules.ARGUMENT_ELEMENTS, f"{owner} is an array of shape {array.shape}")
        self.dtype = nki_dtype(array.dtype, owner, "tensor.to(torch.{})" if is_torch(value) else "array.astype(np.{})")
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        self.array = np.ascontiguousarray(array)
        self.shape = self.array.shape

    def write_back(self):
        """Hands the caller's object what the kernel wrote."""
        if self.array is not self.original:
            self.original[...] = self.array
        if is_torch(self.value):
            if not np.shares_memory(self.original, _from_torch(self.value)):
                self.value.copy_(to_torch(self.original))


def bytes_of(array):
    """A C-ordered array as its bytes; of a read-only array, a copy of them."""
    flat = array.reshape(-1).view(np.uint8)
    return flat if flat.flags.writeable else flat.copy()


def empty(shape, dtype):
    """An array for an output. The machine fills what the kernel leaves unwritten: NaN, or 4 for integers."""
    return spare(shape, numpy_dtype(dtype))


_SPARE_BYTES = 64 << 10


def spare(shape, dtype):
    """np.empty, in memory that earlier results have left: clearing new pages takes as long as filling them."""
    size = math.prod(shape) * dtype.itemsize
    return np.ndarray(shape, dtype, _kiln.SpareBuffer(size)) if size >= _SPARE_BYTES else np.empty(shape, dtype)
