"""KILN_RECORD=calls.json: the calls of kernels, shapes in place of arrays, for `kiln check --record calls.json`."""

import enum
import importlib
import inspect
import json
import os

from kiln._files import write_aside
from kiln._trace import dtypes, rules, specs
from kiln._trace.errors import refuse

_calls = {}  # path -> the calls that are in the file


def encode(value):
    """A value as JSON. Arrays become shapes; tuples, dtypes, enumerations and plain objects keep what they are."""
    value = specs.of_value(value)
    if isinstance(value, specs.Spec):
        return {"tensor": str(value)}
    if isinstance(value, dtypes.DType):
        return {"dtype": str(value)}
    if isinstance(value, enum.Enum):
        return {"enum": [type(value).__module__, type(value).__qualname__, value.name]}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode(v) for v in value]
    if type(value) is tuple:
        return {"tuple": [encode(v) for v in value]}
    if type(value) is dict and all(isinstance(k, str) for k in value):
        return {"dict": {k: encode(v) for k, v in value.items()}}
    if inspect.isfunction(value) or inspect.isclass(value):
        return {"name": [value.__module__, value.__qualname__]}
    if hasattr(value, "__dict__"):
        fields = {k: encode(v) for k, v in vars(value).items()}
        return {"object": [type(value).__module__, type(value).__qualname__], "fields": fields}
    return {"unknown": repr(value)}


def _find(module, qualname):
    found = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def decode(value):
    """The inverse of encode, with a Spec for each array."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "tensor":
        return specs.parse(content)
    if kind == "dtype":
        return dtypes.ALL[content]
    if kind == "tuple":
        return tuple(decode(v) for v in content)
    if kind == "dict":
        return {k: decode(v) for k, v in content.items()}
    if kind == "enum":
        return _find(*content[:2])[content[2]]
    if kind == "name":
        return _find(*content)
    if kind == "object":
        made = object.__new__(_find(*content))
        for name, field in value["fields"].items():
            object.__setattr__(made, name, decode(field))
        return made
    refuse(rules.RECORDED_CALL, f"an argument that is {content}")


def _write(path, calls):
    write_aside(path, json.dumps({"kiln_calls": 1, "calls": calls}, indent=1))


_FIELDS = {"kernel": str, "file": str, "lnc": int, "args": list, "kwargs": dict}  # of a call


def _is_call(call):
    return isinstance(call, dict) and all(isinstance(call.get(name), kind) for name, kind in _FIELDS.items())


def read(path):
    """The calls of a file."""
    try:
        with open(path) as file:
            content = json.load(file)
        assert content["kiln_calls"] == 1
        calls = content["calls"]
        assert isinstance(calls, list) and all(map(_is_call, calls)), "what it holds are no calls"
        return calls
    except (OSError, ValueError, KeyError, TypeError, AssertionError, RecursionError) as problem:
        refuse(rules.CALLS_FILE, f"{path}: {problem}")


def note(function, lnc, args, kwargs):
    """Adds a call to the file that KILN_RECORD names; calls that are in it are not added again."""
    path = os.environ.get("KILN_RECORD")
    if not path:
        return
    code = getattr(function, "__code__", None)
    call = {"kernel": getattr(function, "__name__", "kernel"), "file": code.co_filename if code else "", "lnc": lnc,
            "args": [encode(a) for a in args], "kwargs": {k: encode(v) for k, v in kwargs.items()}}
    if path not in _calls:
        _calls[path] = read(path) if os.path.exists(path) else []
    if call not in _calls[path]:
        _calls[path].append(call)
        _write(path, _calls[path])
