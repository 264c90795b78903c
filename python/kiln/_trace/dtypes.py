"""The dtypes of nki.language: strings, so that kernels can compare, print and key by them."""

from kiln import _kiln


class DType(str):
    """A dtype of NKI. Equal to its name; NumPy takes it wherever the name is registered there."""

    __slots__ = ()

    @property
    def itemsize(self):
        return _kiln.dtype_size(self)

    @property
    def name(self):
        return str.__str__(self)

    def __repr__(self):
        return f"nl.{str.__str__(self)}"

    def __hash__(self):
        return str.__hash__(self)


ALL = {name: DType(name) for name in _kiln.dtype_names()}
