"""KILN_RECORD=calls.json: the calls of kernels, shapes in place of arrays, for `kiln check --record calls.json`."""

import enum
import importlib
import inspect
import json
import os
import sys

from kiln._files import write_aside
from kiln._trace import dtypes, rules, specs
from kiln._trace.errors import NkiValidationError, refuse

_LARGEST = 64 << 20  # characters of a file of calls; devices have no end
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


class Decoder:
    """Makes values of what encode made. Functions, classes and enumerations are looked up in modules that are there;
    of those that are not, only such of the kernel's package are imported: a file of calls chooses no code to run."""

    def __init__(self, module=None, package=""):
        self._module, self._package = module, package  # the kernel's; a script knows itself as __main__

    def _found_in(self, name):
        if name == "__main__" and self._module is not None:
            return self._module
        if name in sys.modules:
            return sys.modules[name]
        if not self._package or name.partition(".")[0] != self._package:
            refuse(rules.RECORDED_CALL, f"something of the module `{name}`, which the kernel's file does not import")
        return importlib.import_module(name)

    def _find(self, module, qualname):
        found = self._found_in(module)
        for part in qualname.split("."):
            found = getattr(found, part, None)
        if not (inspect.isclass(found) or inspect.isfunction(found)):
            refuse(rules.RECORDED_CALL, f"`{module}` has no class and no function `{qualname}`")
        return found

    def decode(self, value):
        """The inverse of encode, with a Spec for each array."""
        try:
            return self._decode(value)
        except NkiValidationError:
            raise
        except Exception as error:  # the file may hold anything
            refuse(rules.RECORDED_CALL, f"an argument that is no recorded value: {error!r}")

    def _decode(self, value):
        if isinstance(value, list):
            return [self._decode(v) for v in value]
        if not isinstance(value, dict):
            return value
        kind, content = next(iter(value.items()), ("", "nothing"))
        if kind == "tensor":
            return specs.parse(content)
        if kind == "dtype":
            return dtypes.ALL[content]
        if kind == "tuple":
            return tuple(self._decode(v) for v in content)
        if kind == "dict":
            return {k: self._decode(v) for k, v in content.items()}
        if kind == "enum":
            return self._find(*content[:2])[content[2]]
        if kind == "name":
            return self._find(*content)
        if kind == "object":
            made = object.__new__(self._find(*content))
            for name, field in value["fields"].items():
                object.__setattr__(made, name, self._decode(field))
            return made
        refuse(rules.RECORDED_CALL, f"an argument that is {content}")


def decode(value):
    """The inverse of encode, with what the modules have that are there."""
    return Decoder().decode(value)


def _write(path, calls):
    write_aside(path, json.dumps({"kiln_calls": 1, "calls": calls}, indent=1))


_FIELDS = {"kernel": str, "file": str, "lnc": int, "args": list, "kwargs": dict}  # of a call


def _is_path(text):
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _is_call(call):
    return (isinstance(call, dict) and all(isinstance(call.get(name), kind) for name, kind in _FIELDS.items())
            and _is_path(call["file"]))


def read(path):
    """The calls of a file."""
    try:
        with open(path) as file:
            text = file.read(_LARGEST + 1)
    except OSError as problem:
        refuse(rules.CALLS_FILE, f"`{path}` cannot be read: {problem.strerror}")
    except ValueError:
        refuse(rules.CALLS_FILE, f"`{path}` is no text")
    if len(text) > _LARGEST:
        refuse(rules.CALLS_FILE, f"`{path}` has more than {_LARGEST} characters")
    try:
        content = json.loads(text)
        assert content["kiln_calls"] == 1
        calls = content["calls"]
        assert isinstance(calls, list) and all(map(_is_call, calls))
        return calls
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
        refuse(rules.CALLS_FILE, f"`{path}` is no file of calls")


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
