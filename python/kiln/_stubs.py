"""Type stubs of what is made at run time: `python -m kiln._stubs python/kiln` writes them; a test compares them."""

import inspect
import pathlib
import re
import sys

from kiln import _kiln

# Types of the instruction table as types of Python; enumerations are found by their own names.
_TYPES = {
    "ActFn": "Op", "AluOp": "Op", "OptAlu": "Op | None", "Float": "float", "Floats": "Sequence[float]", "Int": "int",
    "IntOrReg": "int | VirtualRegister", "Ints": "Sequence[int]", "Number": "int | float", "OptBool": "bool | None",
    "OptInt": "int | None", "Pattern": "Sequence[Sequence[int]]", "Reg": "VirtualRegister", "bool": "bool",
    "scalar or tile": "int | float | NkiTensor", "tile": "NkiTensor", "tiles": "Sequence[NkiTensor]",
}  # fmt: skip
_HEAD = '''"""nki.isa: one function per instruction. Made by `python -m kiln._stubs` from the instruction table."""

import enum
from collections.abc import Sequence

from kiln import NkiValidationError as NkiValidationError
from kiln._kiln import NkiInstruction as NkiInstruction, NkiTensor, Op, VirtualRegister as VirtualRegister
from kiln.nki.isa import constants as constants
'''


def _type_of(name):
    return _TYPES.get(name) or re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _parameter(name, kind, required):
    text = _type_of(kind)
    if required:
        return f"{name}: {text}"
    return f"{name}: {text if text.endswith('None') else text + ' | None'} = ..."


def _function(name):
    if name == "register_alloc":
        return "def register_alloc(x: int | NkiTensor | None = ...) -> VirtualRegister: ...\n"
    parameters, required = [], True
    for parameter, kind, needed, _ in _kiln.isa_parameters(name):
        required = required and needed  # Python wants no required parameter behind an optional one
        parameters.append(_parameter(parameter, kind, required))
    lines = ",\n".join(f"    {p}" for p in [*parameters, "name: str | None = ..."])
    return f'def {name}(\n{lines},\n) -> NkiInstruction:\n    """{_kiln.isa_summary(name)}"""\n'


def _enum(name, base, members):
    return f"class {name}(enum.{base}):\n" + "".join(f"    {m.name} = {m.value!r}\n" for m in members)


def isa_stub():
    """The stub of nki.isa."""
    from kiln.nki import isa

    parts = [_HEAD, *(_enum(name, "Enum", getattr(isa, name)) for name in sorted(_kiln.enums()))]
    parts.append(_enum("nc_version", "IntEnum", isa.nc_version))
    parts.append("".join(f"{n}: engine\n" for n, v in sorted(vars(isa).items()) if isinstance(v, isa.engine)))
    parts.append("def get_nc_version() -> nc_version: ...\ndef get_nc_sub_version() -> int: ...\n")
    return "\n".join([*parts, *map(_function, sorted(_kiln.isa_functions))])


_LANGUAGE_HEAD = '''"""nki.language. Made by `python -m kiln._stubs` from the package."""

from builtins import range as range

from kiln._kiln import NkiTensor, Op
from kiln._trace.dtypes import DType
from kiln._trace.memory import MemoryRegion as MemoryRegion
from kiln._trace.nki_object import NKIObject as NKIObject
from kiln.nki._tile_size import tile_size as tile_size
'''
# Modules of nki.language whose functions give tensors; the others count, ask or write.
_TENSORS = ("_activations", "_composite", "_creation", "_division", "_elementwise", "_movement", "_reductions",
            "_rounding", "_trigonometry")  # fmt: skip


def _language_parameters(function, first=()):
    """The parameters of a function of nki.language, without the values of its defaults."""
    parts = [*first]
    for p in inspect.signature(function).parameters.values():
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(f"{star}{p.name}" + ("" if p.default is p.empty else "=..."))
    return ", ".join(parts)


def _result_of(function):
    gives = function.__module__.rpartition(".")[2] in _TENSORS and function.__name__ != "store"
    return " -> NkiTensor" if gives else ""


def _documented(head, function):
    about = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\\", "\\\\")
    return f'{head}:\n    """{about}"""\n' if about else f"{head}: ...\n"


def _language_name(name, value):
    """What the stub of nki.language says about one name."""
    if isinstance(value, _kiln.Op):  # a token for instructions that may also be called
        if value.function is None:
            return f"{name}: Op\n"
        call = f"    def __call__({_language_parameters(value.function, ['self'])}) -> NkiTensor: ...\n"
        about = (inspect.getdoc(value.function) or "").split("\n\n")[0]
        return f'class _{name}(Op):\n    """{about}"""\n\n{call}\n{name}: _{name}\n'
    if inspect.isfunction(value):
        return _documented(f"def {name}({_language_parameters(value)}){_result_of(value)}", value)
    return {"DType": f"{name}: DType\n", "MemoryRegion": f"{name}: MemoryRegion\n"}.get(type(value).__name__, "")


def language_stub():
    """The stub of nki.language."""
    from kiln.nki import _as_of, language

    made = _language_parameters(language.ndarray, ["cls"])
    parts = [_LANGUAGE_HEAD, f"class ndarray(NkiTensor):\n    def __new__({made}) -> NkiTensor: ...\n",
             "tensor = ndarray\n"]
    names = _as_of.newest("language")
    return "\n".join([*parts, *filter(None, (_language_name(n, names[n]) for n in sorted(names) if n[0] != "_"))])


def native_stub():
    """The stub of the native module, by nanobind; before kiln.nki gives its classes methods in Python."""
    from nanobind.stubgen import StubGen

    generator = StubGen(_kiln)
    generator.put(_kiln)
    return generator.get()


FILES = {"_kiln.pyi": native_stub, "nki/isa/__init__.pyi": isa_stub, "nki/language/__init__.pyi": language_stub}

if __name__ == "__main__":
    for _path, _make in FILES.items():
        (pathlib.Path(sys.argv[1]) / _path).write_text(_make())
