"""Device loops of a pair of cores: the manual promises nothing when the two cores' loops differ."""

import re
import types

from kiln.nki import _lines
from kiln.nki._warnings import warn_at

CODE, RULE = "nki.R63", "the device loops of the two cores of a pair are the same"


def _loops(program):
    """The headers and ends of a program's loops, in order; the names of registers do not count."""
    lines = re.findall(r"^ *(?:for .*|while .*|\})$", str(program), re.M)
    return [re.sub(r"\br\d+\b", "r", line) for line in lines]


def warn_of(function, programs):
    """Warns when the device loops of the cores differ, in number, nesting or bounds."""
    if len(programs) < 2 or not any(program.has_dynamic_loops for program in programs):
        return
    mine, other = (_loops(program) for program in programs)
    if mine == other:
        return
    found = f"core 0 has {_count(mine)} loops, core 1 has {_count(other)}"
    if _count(mine) == _count(other):
        first = next(pair for pair in zip(mine, other) if pair[0] != pair[1])
        found = " is ".join(f"`{line.strip(' {')}` on core {core}" for core, line in enumerate(first))
    file, line = _lines.of_kernel(function) or ("", 0)
    warn_at(types.SimpleNamespace(file=file, line=line),
            f"warning[{CODE}]: {found}\n  = rule: {RULE}\n"
            "  = help: loop alike on both cores, and let program_id choose the data; static Python loops may differ")


def _count(loops):
    return sum(not line.endswith("}") for line in loops)
