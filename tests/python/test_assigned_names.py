"""The name that a call is assigned to, against Python's own disassembler."""

import dis
import types

import pytest

from kiln._trace.names import assigned_name

MANY = "\n    ".join(f"name_{i} = f()" for i in range(700))
SOURCE = f"""
top = f()

def plain(a, f):
    x = f(a)
    f(a)
    y = z = f(f(a), key=x)
    x += f()
    a.b = f()
    a[0] = f()
    (p, q) = f()
    return f(x)

def cells(a, c, f):
    def inner():
        nonlocal c, d
        c = f()
        d = f()
        e = f()
        return lambda: (a, c, d, e)
    a = f()
    c = f()
    d = f()
    g = f()
    return inner, g

def many(f):
    {MANY}

def far(f):
    global top
    top = f()

class Body:
    member = f()
"""


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def expected(instructions, at):
    for instruction in instructions[at + 1:]:
        if instruction.opname not in ("CACHE", "EXTENDED_ARG", "NOP"):
            is_store = instruction.opname in ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
            return instruction.argval if is_store else ""
    return ""


@pytest.mark.parametrize("code", list(codes(compile(SOURCE, "kernel.py", "exec"))), ids=lambda code: code.co_name)
def test_is_what_the_disassembler_says(code):
    instructions = list(dis.get_instructions(code))
    calls = [i for i, instruction in enumerate(instructions) if instruction.opname.startswith("CALL")]
    assert [assigned_name(code, instructions[i].offset) for i in calls] == [expected(instructions, i) for i in calls]


def test_every_kind_of_variable_is_found():
    found = set()
    for code in codes(compile(SOURCE, "kernel.py", "exec")):
        found |= {assigned_name(code, i.offset) for i in dis.get_instructions(code) if i.opname.startswith("CALL")}
    assert found == {"", "Body", "top", "x", "a", "c", "d", "e", "g", "member"} | {f"name_{i}" for i in range(700)}
