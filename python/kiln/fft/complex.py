"""ComplexTensor: complex numbers as two real tensors of torch."""

import sys

from . import _products
from ._refused import Refused


def _torch():
    import torch
    return torch


class ComplexTensor:
    """real + i imag; of a real or a complex tensor."""

    __slots__ = ("real", "imag")

    def __init__(self, real, imag=None):
        torch = _torch()
        if isinstance(real, ComplexTensor) and imag is None:
            real, imag = real.real, real.imag
        if not isinstance(real, torch.Tensor):
            real = torch.as_tensor(real)
        if imag is None:
            if real.is_complex():
                real, imag = real.real, real.imag
            else:
                imag = torch.zeros_like(real)
        elif not isinstance(imag, torch.Tensor):
            imag = torch.as_tensor(imag)
        if real.is_complex() or imag.is_complex():
            raise Refused("real: complex, but there is an imaginary part too")
        if real.shape != imag.shape:
            raise Refused(f"imag: its shape is {tuple(imag.shape)}, that of real is {tuple(real.shape)}")
        if real.dtype != imag.dtype:
            raise Refused(f"imag: its dtype is {imag.dtype}, that of real is {real.dtype}")
        self.real, self.imag = real, imag

    @classmethod
    def from_polar(cls, mag, phase):
        torch = _torch()
        return cls(mag * torch.cos(phase), mag * torch.sin(phase))

    @property
    def shape(self):
        return self.real.shape

    @property
    def dtype(self):
        return self.real.dtype

    @property
    def device(self):
        return self.real.device

    @property
    def ndim(self):
        return self.real.ndim

    @property
    def requires_grad(self):
        return self.real.requires_grad or self.imag.requires_grad

    def dim(self):
        return self.real.dim()

    def size(self, *dims):
        return self.real.size(*dims)

    def numel(self):
        return self.real.numel()

    def __len__(self):
        return len(self.real)

    def abs(self):
        return _torch().sqrt(self.real * self.real + self.imag * self.imag)

    __abs__ = abs

    def angle(self):
        return _torch().atan2(self.imag, self.real)

    def conj(self):
        return ComplexTensor(self.real, -self.imag)

    def to_torch_complex(self):
        torch = _torch()
        wide = self.real.dtype if self.real.dtype in (torch.float32, torch.float64) else torch.float32
        return torch.complex(self.real.to(wide), self.imag.to(wide))

    def numpy(self):
        return self.to_torch_complex().detach().cpu().numpy()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Functions of torch see complex tensors; what they return that is complex is a ComplexTensor again."""
        result = function(*_unpacked(args), **{k: _unpacked(v) for k, v in (kwargs or {}).items()})
        is_complex = isinstance(result, _torch().Tensor) and result.is_complex()
        return cls(result) if is_complex else result

    def _each(self, do):
        return ComplexTensor(do(self.real), do(self.imag))

    def to(self, *args, **kwargs):
        return self._each(lambda t: t.to(*args, **kwargs))

    def cpu(self):
        return self._each(lambda t: t.cpu())

    def float(self):
        return self._each(lambda t: t.float())

    def double(self):
        return self._each(lambda t: t.double())

    def clone(self):
        return self._each(lambda t: t.clone())

    def detach(self):
        return self._each(lambda t: t.detach())

    def contiguous(self):
        return self._each(lambda t: t.contiguous())

    def reshape(self, *shape):
        return self._each(lambda t: t.reshape(*shape))

    def view(self, *shape):
        return self._each(lambda t: t.reshape(*shape))

    def flatten(self, *dims):
        return self._each(lambda t: t.flatten(*dims))

    def transpose(self, a, b):
        return self._each(lambda t: t.transpose(a, b))

    def permute(self, *dims):
        return self._each(lambda t: t.permute(*dims))

    def unsqueeze(self, dim):
        return self._each(lambda t: t.unsqueeze(dim))

    def squeeze(self, *dim):
        return self._each(lambda t: t.squeeze(*dim))

    def expand(self, *shape):
        return self._each(lambda t: t.expand(*shape))

    @property
    def T(self):
        return self._each(lambda t: t.T)

    def __getitem__(self, index):
        return self._each(lambda t: t[index])

    def __neg__(self):
        return ComplexTensor(-self.real, -self.imag)

    def __add__(self, other):
        re, im = _parts(other)
        return ComplexTensor(self.real + re, self.imag + im if im is not None else self._same(self.imag, re))

    __radd__ = __add__

    def __sub__(self, other):
        re, im = _parts(other)
        return ComplexTensor(self.real - re, self.imag - im if im is not None else self._same(self.imag, re))

    def __rsub__(self, other):
        return (-self) + other

    def __mul__(self, other):
        if isinstance(other, ComplexTensor):
            return _products.multiply(self, other)
        re, im = _parts(other)
        if im is None:
            return ComplexTensor(self.real * re, self.imag * re)
        return ComplexTensor(self.real * re - self.imag * im, self.real * im + self.imag * re)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return complex_matmul(self, other if isinstance(other, ComplexTensor) else ComplexTensor(other))

    @staticmethod
    def _same(imag, other):
        """The imaginary part in the shape of a sum with something real."""
        shape = getattr(other, "shape", None)
        return imag if shape is None or len(shape) == 0 else imag + _torch().zeros_like(other)

    def __repr__(self):
        return f"ComplexTensor(shape={tuple(self.shape)}, dtype={self.dtype}, device={self.device})"


def _unpacked(value):
    """ComplexTensors in a value as tensors of torch."""
    if isinstance(value, ComplexTensor):
        return value.to_torch_complex()
    return type(value)(_unpacked(v) for v in value) if type(value) in (tuple, list) else value


def _parts(value):
    """(real, imaginary or None) of a scalar, a tensor or a ComplexTensor."""
    if isinstance(value, ComplexTensor):
        return value.real, value.imag
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.is_complex():
        return value.real, value.imag
    if isinstance(value, complex):
        return value.real, value.imag
    return value, None


def complex_matmul(a, b):
    """a b, stacks of matrices as in torch.matmul: four real products, or a kernel of complex ones."""
    return _products.matmul(a, b)
