"""Calls of kernels that a run with KILN_RECORD wrote, as arguments."""

import inspect
import os

from kiln._trace import record, rules
from kiln._trace.errors import refuse


def calls_of(name, path, imported, file):
    """[(bound arguments, cores)] of the calls of a kernel in a file of calls. Calls of a kernel of this name in another
    source file count when there is none of this one: sources move."""
    named = [c for c in record.read(file) if c["kernel"] == name]
    here = [c for c in named if os.path.realpath(c["file"]) == os.path.realpath(path)]
    function = getattr(imported.module, name)
    decoder = record.Decoder(imported.module, imported.package)
    return [(_by_name(function, decoder, call), call["lnc"]) for call in here or named]


def _by_name(function, decoder, call):
    args = [decoder.decode(v) for v in call["args"]]
    kwargs = {k: decoder.decode(v) for k, v in call["kwargs"].items()}
    try:
        bound = inspect.signature(getattr(function, "func", function)).bind(*args, **kwargs)
    except TypeError as problem:
        refuse(rules.RECORDED_CALL, f"a call of `{call['kernel']}` that does not fit any more: {problem}")
    return bound


def kernels_in(file):
    """The names of the kernels that a file of calls has calls of."""
    return list(dict.fromkeys(c["kernel"] for c in record.read(file)))
