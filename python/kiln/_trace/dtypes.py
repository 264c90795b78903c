"""The dtypes of nki.language: strings, so that kernels can compare, print and key by them."""

import sys

import numpy as np

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

    def __eq__(self, other):
        if not isinstance(other, str):
            _require_not_numpy(self, other)
        return str.__eq__(self, other)

    def __ne__(self, other):
        if not isinstance(other, str):
            _require_not_numpy(self, other)
        return str.__ne__(self, other)

    def __repr__(self):
        return f"nl.{str.__str__(self)}"

    def __hash__(self):
        return str.__hash__(self)


ALL = {name: DType(name) for name in _kiln.dtype_names()}


def is_of_numpy(value):
    """np.float32 or np.dtype("float32"); also those of ml_dtypes."""
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))


def _require_not_numpy(dtype, other):
    """Refuses the comparison with a dtype of NumPy in a kernel: the compiler does, and it would be false."""
    if _kiln.active_trace() is None or not is_of_numpy(other):
        return
    from kiln._trace import rules, tracebacks
    from kiln._trace.errors import refuse

    if not tracebacks.is_ours(sys._getframe(2).f_code.co_filename):
        name = np.dtype(other).name
        refuse(rules.NUMPY_DTYPE, f"a comparison of {dtype!r} with NumPy's dtype {name}", f"write nl.{name}")
