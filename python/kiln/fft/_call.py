"""How a function takes arrays: NumPy arrays, torch tensors and ComplexTensors in, the same kind out."""

import functools
import inspect

import numpy as np

from kiln.blas._arrays import to_numpy, torch_of
from kiln.blas._backend import note_precision, scope

from . import precision as modes
from ._linear import Linear, on_tensor
from ._plain import ARGUMENTS, plain, with_arguments
from ._refused import Invalid, Refused
from .complex import ComplexTensor
from .workers import count_of


# What NumPy and SciPy call the array.
_ARRAY_NAMES = ("a", "x")


def _as_ours(kwargs, first):
    """Arguments by the names of NumPy and SciPy, by ours. How many threads there are, and whether the array may be
    overwritten, changes no result."""
    for name in _ARRAY_NAMES:
        if name in kwargs and name != first and first not in kwargs:
            kwargs[first] = kwargs.pop(name)
    workers = kwargs.pop("workers", None)
    if workers is not None:
        count_of(workers)
    kwargs.pop("overwrite_x", None)
    if kwargs.get("plan", 0) is None:
        del kwargs["plan"]
    return kwargs


def transforming(call):
    """A function of an array that takes the arguments of NumPy's, SciPy's and torch's of its name."""
    return function(call, next(iter(inspect.signature(call).parameters)))


def function(call, first=None):
    """A function with one more argument, `backend`: who computes this call. `first` is the array of a transform."""
    shortcut, told = plain(call.__name__), with_arguments(call.__name__)

    @functools.wraps(call)
    def outer(*args, backend=None, **kwargs):
        if shortcut is not None and len(args) == 1:
            result = None
            if not kwargs:
                result = shortcut(args[0], backend)
            elif told is not None and kwargs.keys() <= ARGUMENTS:
                result = told(args[0], backend, **kwargs)
            if result is not None:
                return result
        if first is not None and kwargs:
            kwargs = _as_ours(kwargs, first)
        note_precision()
        with scope(backend):
            return call(*args, **kwargs)

    signature = inspect.signature(call)
    names = {"backend": None} if first is None else {"overwrite_x": False, "workers": None, "backend": None}
    more = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=v) for n, v in names.items()]
    outer.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *more])
    return outer


class Data:
    """What a caller gave: an array, or a tensor that stays in torch's graph."""

    def __init__(self, value, name="input"):
        self.pair = isinstance(value, ComplexTensor)
        self.torch, self.dtype = None, None
        if self.pair:
            import torch
            self.torch, self.dtype, self.value = torch, value.dtype, value.to_torch_complex()
            return
        self.torch = torch_of(value)
        if self.torch is not None:
            self.value = value
            self._widen_tensor(name)
        else:
            self.value = _float_array(to_numpy(value, name), name)

    def _widen_tensor(self, name):
        torch, v = self.torch, self.value
        if v.dtype in (torch.float16, torch.bfloat16):
            self.dtype, self.value = v.dtype, v.float()
        elif v.dtype == torch.complex32:
            self.value = v.to(torch.complex64)
        elif not (v.is_floating_point() or v.is_complex()):
            self.value = v.to(torch.get_default_dtype())

    @property
    def is_complex(self):
        return self.value.is_complex() if self.torch is not None else self.value.dtype.kind == "c"

    @property
    def shape(self):
        return tuple(self.value.shape)

    def as_complex(self):
        if not self.is_complex:
            v = self.value
            if self.torch is not None:
                self.value = v.to(self.torch.complex128 if v.dtype == self.torch.float64 else self.torch.complex64)
            else:
                self.value = v.astype(np.result_type(v.dtype, np.complex64))
        return self

    def conj(self):
        self.value = self.value.conj().resolve_conj() if self.torch is not None else self.value.conj()
        return self

    def apply(self, linear: Linear):
        self.value = on_tensor(self.torch, linear, self.value) if self.torch is not None else linear(self.value)
        return self

    def result(self, out=None):
        """What the caller gets: complex tensors leave as ComplexTensors, as those of trnfft."""
        if self.torch is None:
            return self.value if out is None else _written(out, self.value)
        if out is not None:
            return _written_tensor(self.torch, out, self.value)
        if not self.is_complex:
            return self.value if self.dtype is None or self.dtype.is_complex else self.value.to(self.dtype)
        pair = ComplexTensor(self.value.real, self.value.imag)
        return pair if self.dtype is None else pair.to(self.dtype)


def _written_tensor(torch, out, value):
    """The same for tensors: `out` is one, or a ComplexTensor for complex numbers."""
    parts = (out.real, out.imag) if isinstance(out, ComplexTensor) else (out,)
    if not all(isinstance(p, torch.Tensor) for p in parts):
        raise TypeError(f"out: {type(out).__name__}, expected a tensor")
    if out.shape != value.shape:
        raise Invalid(f"out: its shape is {tuple(out.shape)}, expected {tuple(value.shape)}")
    values = (value.real, value.imag) if len(parts) == 2 and value.is_complex() else (value,)
    if len(parts) != len(values) or not torch.can_cast(values[0].dtype, parts[0].dtype):
        raise TypeError(f"out: elements are {parts[0].dtype}, which cannot hold {value.dtype}")
    if torch.is_grad_enabled() and (value.requires_grad or out.requires_grad):
        raise Refused("out: what is written there has no gradient, and one is required")
    for part, numbers in zip(parts, values):
        part.copy_(numbers)
    return out


def _written(out, value):
    """`out` with the result in it, as NumPy's functions have it."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out: {type(out).__name__}, but it must be of ArrayType")
    if out.shape != value.shape:
        raise Invalid(f"out: it has wrong shape {out.shape}, expected {value.shape}")
    if not np.can_cast(value.dtype, out.dtype, "same_kind"):
        raise TypeError(f"out: elements are {out.dtype}. Cannot cast {value.dtype} to that")
    out[...] = value
    return out


def _float_array(array, name):
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind == "c" or array.dtype in (np.float32, np.float64, np.longdouble):
        return array
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    raise TypeError(f"{name}: elements are {array.dtype}, expected numbers")


def mode_of(precision):
    return modes.chosen(precision)
