"""The variable that a call is assigned to, read off the bytecode: tensors are named as in the kernel's source."""

import dis

_STORES = {"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"}
_SKIPPED = {"CACHE", "EXTENDED_ARG", "NOP"}


def assigned_name(code, lasti):
    """The name that the call at byte ``lasti`` of ``code`` is stored in, or ''."""
    for instruction in dis.get_instructions(code):
        if instruction.offset <= lasti or instruction.opname in _SKIPPED:
            continue
        return instruction.argval if instruction.opname in _STORES else ""
    return ""

