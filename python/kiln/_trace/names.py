"""The variable that a call is assigned to, read off the bytecode: tensors are named as in the kernel's source."""

import dis
import sys

_SKIPPED = {"CACHE", "NOP"}


def assigned_name(code, lasti):
    """The name that the call at byte ``lasti`` of ``code`` is stored in, or ''. Only what follows the call is read:
    an emitted kernel may have tens of thousands of calls."""
    units, high = code.co_code, 0
    for at in range(lasti + 2, len(units), 2):
        name, number = dis.opname[units[at]], high | units[at + 1]
        if name == "EXTENDED_ARG":
            high = number << 8
        elif name not in _SKIPPED:
            return _stored(code, name, number)
    return ""


def _stored(code, name, number):
    """What the instruction stores in, or ''."""
    if name in ("STORE_NAME", "STORE_GLOBAL"):
        return code.co_names[number]
    if name == "STORE_FAST":
        return code.co_varnames[number]
    if name != "STORE_DEREF":
        return ""
    if sys.version_info < (3, 11):
        return (*code.co_cellvars, *code.co_freevars)[number]
    own = code.co_varnames  # since then, cells stand behind variables, but for arguments that are cells
    return (*own, *(c for c in code.co_cellvars if c not in own), *code.co_freevars)[number]
