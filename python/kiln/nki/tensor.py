"""nki.tensor: where older code finds the tensor class."""

from kiln import _kiln

NkiTensor = _kiln.NkiTensor
Tensor = NkiTensor
