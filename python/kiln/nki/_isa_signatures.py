"""inspect.signature of the functions of nki.isa, from the instruction table, as the version of NKI in use has them."""

import functools
import inspect
import re

from kiln import _kiln
from kiln._trace import version
from kiln.nki import _as_of
from kiln.nki.isa import _ENUMS
from kiln.nki.language._tokens import token

_NUMBERS = {"FP32_MIN": -3.4028234663852886e38, "None": None, "True": True, "False": False}


_PARAMETER = re.compile(r"(\w+)=([^,()]*(?:\([^()]*\))?)")


def _default(text):
    """What the table's text for a default stands for."""
    if text in _NUMBERS:
        return _NUMBERS[text]
    owner, _, member = text.partition(".")
    if owner == "nl":
        return token(member)
    if owner in _ENUMS:
        return _ENUMS[owner][member]
    return float(text) if "." in text else int(text)


@functools.cache
def _in_version(function, _):
    needs = {name: needed for name, _, needed, _ in _kiln.isa_parameters(function)}
    texts = dict(_PARAMETER.findall(_kiln.isa_signature(function)))
    parameters, required = [], True
    for name in _as_of.parameters(function):
        required = required and needs.get(name, False)  # Python wants no required parameter behind an optional one
        default = inspect.Parameter.empty if required else _default(texts.get(name, "None"))
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return inspect.Signature(parameters)


def signature(function):
    """How a function of nki.isa is called."""
    return _in_version(function, version.current())
