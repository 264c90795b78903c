"""What nki 0.6.0 has, as the lint asks for it: nki.isa from the instruction table, the rest from the package itself."""

import inspect
import re

from kiln import _kiln
from kiln._old_forms import COLLECTIVES, ISA, LANGUAGE
from kiln.nki import _as_of, collectives
from kiln.nki._changes import CHANGES


def _of_instruction(name):
    """The parameters that the vendor documents; instructions of registers have no name."""
    names = [row[0] for row in _kiln.isa_parameters(name)]
    return (*names, "name") if _kiln.isa_signature(name).endswith("name=None)") else tuple(names)


def _of_function(function):
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind is not p.VAR_KEYWORD)


def _functions(package):
    """name -> function of a package, whatever version of NKI is in use."""
    found = {name: value.function if isinstance(value, _kiln.Op) else value
             for name, value in _as_of.newest(package).items() if not name.startswith("_")}
    return {name: value for name, value in found.items() if inspect.isfunction(value) or name == "ndarray"}


def _signatures():
    """nki.<package>.<function> -> its parameters."""
    found = {f"{ISA}.{name}": _of_instruction(name) for name in _kiln.isa_functions}
    for package in (ISA, LANGUAGE, COLLECTIVES):
        names = collectives.__all__ if package == COLLECTIVES else None
        found.update((f"{package}.{name}", _of_function(function)) for name, function in _functions(package).items()
                     if names is None or name in names)
    return found


SIGNATURES = _signatures()

# Instructions that write `dst`.
DST_INSTRUCTIONS = frozenset(
    name.rpartition(".")[2]
    for name, parameters in SIGNATURES.items()
    if name.startswith(ISA + ".") and parameters[:1] == ("dst",) and not name.startswith(f"{ISA}.register_")
)


def _enum_keywords():
    """Keywords whose values are enum members, and where the members live."""
    found = {"buffer": "nl.{value}"}
    for name in _kiln.isa_functions:
        for parameter, kind, *_ in _kiln.isa_parameters(name):
            enum = re.sub(r"(?<!^)([A-Z])", r"_\1", kind).lower()  # DgeMode
            if enum in _kiln.enums():
                found[parameter] = f"nisa.{enum}.{{value}}"
    return found


ENUM_KEYWORDS = _enum_keywords()

# Names that came later than 0.2.0.
NEW_NAMES = {f"nki.{module}.{name}": change.since for change in CHANGES for module, name in change.names}
NEW_NAMES["nki.simulate"] = "0.3.0"

# Attributes of tensors, and which of them are views; `pattern` and `address_name` are from older versions.
_MEMBERS = {name: getattr(_kiln.NkiTensor, name) for name in dir(_kiln.NkiTensor) if not name.startswith("_")}
TENSOR_ATTRIBUTES = frozenset(_MEMBERS) - {"tensor_id", "trace"} | {"pattern", "address_name"}
TENSOR_VIEWS = frozenset(name for name, member in _MEMBERS.items()
                         if callable(member) and "-> kiln._kiln.NkiTensor" in member.__doc__)
