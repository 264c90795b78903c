"""Attributes of tensors for our own code: those that kernels see depend on the version of NKI (nki/_as_of.py), these do
not. They are taken off the native class before it gets the others."""

from kiln import _kiln

_Tensor = _kiln.NkiTensor

ap = _Tensor.ap
broadcast = _Tensor.broadcast
expand_dim = _Tensor.expand_dim
is_contiguous = _Tensor.is_contiguous
is_indirect = _Tensor.is_indirect
reshape = _Tensor.reshape
squeeze_dim = _Tensor.squeeze_dim


def ndim(tensor):
    """The number of dimensions."""
    return len(tensor.shape)


size = _Tensor.size.fget
strides = _Tensor.strides.fget
