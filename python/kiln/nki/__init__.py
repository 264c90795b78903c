"""The nki package of NKI 0.6.0, on Kiln's machine."""

import importlib
import os

from kiln import _kiln

_kiln.set_package_folder(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep)

from kiln import _errors  # noqa: E402,F401
from kiln.nki import dtype  # noqa: E402
from kiln.nki._kernel import Kernel, cpu_simulate, jit, simulate  # noqa: E402
from kiln.nki._warnings import NkiWarning  # noqa: E402
from kiln.nki import _old_calls, _removed, collectives, isa, language, typing  # noqa: E402
from kiln.nki._version import api_version, use_environment  # noqa: E402

NkiTensor = _kiln.NkiTensor
__all__ = ["Kernel", "NkiTensor", "NkiWarning", "api_version", "collectives", "dtype", "isa", "jit", "language",
           "simulate", "typing"]

use_environment()
_kiln.set_call_hint(_old_calls.hint)

# Modules that harnesses name after a plain `import nki`.
_SUBMODULES = ("builtin", "compiler", "experimental", "framework", "tensor")


def __getattr__(name):
    if name == "__version__":
        return api_version()
    if name in _SUBMODULES:
        return importlib.import_module(f"kiln.nki.{name}")
    raise _removed.absent("nki", name)
