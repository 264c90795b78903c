"""Making tensors."""

from kiln import _kiln
from kiln.nki import _memory

__all__ = ["ndarray"]


class _NdarrayType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _kiln.NkiTensor)


class ndarray(metaclass=_NdarrayType):
    """An uninitialised tensor. Also the type that annotations name."""

    def __new__(cls, shape, dtype, buffer=_memory.sbuf, name="", address=None, **kwargs):
        if kwargs:
            raise TypeError(f"nl.ndarray() got an unexpected keyword argument {next(iter(kwargs))!r}")
        return _kiln.new_tensor(shape, dtype, buffer, name or "", address)
