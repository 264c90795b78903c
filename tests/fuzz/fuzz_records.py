"""Any bytes tamper with a file of recorded calls. `kiln check --record` takes it or says what is wrong with it: exit
code 0, 1 or 2, no exception, and with --json a document that parses."""

import contextlib
import io
import json
import pathlib
import tempfile

import numpy as np

import harness
import recorded_kernel
from choices import Choices
from kiln import __main__ as command
from kiln._trace import record
from kiln.nki import language as nl

KERNEL = recorded_kernel.__file__
FOLDER = tempfile.TemporaryDirectory(prefix="kiln-fuzz-")
CALLS = pathlib.Path(FOLDER.name) / "calls.json"
KINDS = ("tensor", "dtype", "tuple", "dict", "enum", "name", "object", "fields", "unknown", "kernel", "args", "kwargs",
         "lnc", "file", "calls", "kiln_calls")
WORDS = ("", "x", "scaled", "float32[128,64]", "float32[0]", "bool[2,2]", "float99[1]", "float32[9999999999,99999999]",
         "recorded_kernel", "Mode", "Config", "no.such.module", "json", "a.b", "__main__", "\ud800", "\0", "int32")
NUMBERS = (0, 1, 2, 3, -1, 2**31, 2**63, 10**30, 0.5, float("nan"), float("inf"))


def original():
    """A file of calls as a run writes it."""
    x, config = np.zeros((128, 64), np.float32), recorded_kernel.Config()
    more = ({}, {"mode": recorded_kernel.Mode.twice}, {"dtype": nl.bfloat16, "names": (1, "a", None, [2.0, {"b": 3}])})
    calls = [{"kernel": "scaled", "file": KERNEL, "lnc": lnc, "args": [record.encode(x), record.encode(config)],
              "kwargs": {name: record.encode(value) for name, value in arguments.items()}}
             for lnc, arguments in zip((1, 1, 2), more)]
    return {"kiln_calls": 1, "calls": calls}


def any_json(choices, depth=0):
    kind = choices.below(7 if depth < 3 else 4)
    if kind == 0:
        return choices.any(NUMBERS)
    if kind == 1:
        return choices.any((None, True, False))
    if kind in (2, 3):
        return choices.any(WORDS)
    if kind == 4:
        return [any_json(choices, depth + 1) for _ in range(choices.below(4))]
    return {choices.any(KINDS): any_json(choices, depth + 1) for _ in range(choices.below(3))}


def places(value):
    """(container, key) of all that is inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, content in list(inside):
        yield value, key
        yield from places(content)


def tamper(document, choices):
    container, key = choices.any(list(places(document)))
    kind = choices.below(4)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, dict):
        container[choices.any(KINDS)] = container.pop(key)
    elif kind == 2:
        container[key] = [container[key]] if choices.chance(2) else {choices.any(KINDS): container[key]}
    else:
        container[key] = any_json(choices)


def document(choices):
    """The bytes of a file of calls."""
    if choices.chance(6):
        return choices.rest()
    content = original()
    for _ in range(choices.between(0, 3)):
        if content:
            tamper(content, choices)
    text = json.dumps(content).encode()
    if choices.chance(8):
        at = choices.below(200)
        text = text[:at] + bytes([choices.below(256)]) + text[at + choices.below(3):]
    elif choices.chance(20):
        text = text.replace(b"[", b"[" * choices.any((2, 900, 100_000)), 1)
    return text


def test_one_input(data):
    choices = Choices(data)
    as_json = choices.chance(2)
    CALLS.write_bytes(document(choices))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command.main(["check", KERNEL, "--record", str(CALLS), *(["--json"] if as_json else [])])
    assert code in (0, 1, 2), f"exit code {code}\n{out.getvalue()}{err.getvalue()}"
    if as_json:
        assert json.loads(out.getvalue())["ok"] == (code == 0)


if __name__ == "__main__":
    harness.main(test_one_input)
