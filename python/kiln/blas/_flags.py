"""Flags that modules of the original libraries have, read when somebody asks for them, not when a module is loaded."""

import os

from ._backend import get_backend


def _is_set(variable):
    return os.environ.get(variable, "").lower() in ("1", "true", "yes")


def flags_of(original, module):
    """The __getattr__ of `module`, which stands for one of the library `original`: TRNBLAS, ..."""

    def look_up(name):
        if name in ("_REQUIRE_NKI", "_USE_SIMULATOR"):
            return _is_set(original + name)
        if name == "_backend":
            return get_backend()
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up
