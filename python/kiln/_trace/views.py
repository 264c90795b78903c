"""Attributes of tensors for our own code. Those that kernels see depend on the version of NKI (kiln/nki/_as_of.py);
these, taken off the native class before it gets those, do not."""

from kiln import _kiln

_Tensor = _kiln.NkiTensor

ndim = _Tensor.ndim.fget
size = _Tensor.size.fget
strides = _Tensor.strides.fget

ap = _Tensor.ap
broadcast = _Tensor.broadcast
expand_dim = _Tensor.expand_dim
is_contiguous = _Tensor.is_contiguous
is_indirect = _Tensor.is_indirect
reshape = _Tensor.reshape
squeeze_dim = _Tensor.squeeze_dim
