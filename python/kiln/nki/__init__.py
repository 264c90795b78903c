"""The nki package of NKI 0.6.0, on Kiln's machine."""

import importlib

from kiln import _kiln
from kiln._trace import setup as _setup
from kiln._trace.kernel import Kernel
from kiln._trace.warnings import NkiWarning
from kiln.nki import _as_of, _isa_signatures, _old_calls, _removed, collectives, dtype, isa, language, typing
from kiln.nki._jit import cpu_simulate, jit, simulate  # noqa: F401
from kiln.nki._version import api_version, use_environment as _use_environment

NkiTensor = _kiln.NkiTensor
__all__ = ["Kernel", "NkiTensor", "NkiWarning", "api_version", "collectives", "dtype", "isa", "jit", "language",
           "simulate", "typing"]

_setup.configure(
    enums=isa._ENUMS,
    call_hint=_old_calls.hint,
    older_call=_as_of.call,
    isa_signature=_isa_signatures.signature,
    explain_error=_old_calls.explain,
    tensor_members={**language._operators.tensor_members(), **_as_of.tensor_members()},
)
_use_environment()

# Modules that harnesses name after a plain `import nki`.
_SUBMODULES = ("builtin", "compiler", "experimental", "framework", "tensor")


def __getattr__(name):
    if name == "__version__":
        return api_version()
    if name in _SUBMODULES:
        return importlib.import_module(f"kiln.nki.{name}")
    raise _removed.absent("nki", name)
