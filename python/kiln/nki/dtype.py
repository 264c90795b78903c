"""nki.dtype: the dtypes by name. Kernels import it as a module and use it as a type in annotations."""

import sys
import types

from kiln._trace.dtypes import ALL, DType

globals().update(ALL)


class _DTypeModule(types.ModuleType):
    """A module that stands in annotations: `nki.dtype | None`, `nki.dtype("float32")`."""

    def __call__(self, name):
        return ALL[str(name)]

    def __or__(self, other):
        return DType | other

    def __ror__(self, other):
        return other | DType

    def __instancecheck__(self, value):
        return isinstance(value, DType)


sys.modules[__name__].__class__ = _DTypeModule
