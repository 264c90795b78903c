"""Device loops of a pair of cores: the manual promises nothing when the two cores' loops differ."""

import types

from kiln._trace import lines, rules
from kiln._trace.warnings import warn_of_rule


def warn_of(function, programs):
    """Warns when the device loops of the cores differ, in number, nesting or bounds."""
    if len(programs) < 2:
        return
    mine, other = (program.device_loops for program in programs)
    if mine == other:
        return
    found = f"core 0 has {len(mine)} loops, core 1 has {len(other)}"
    if len(mine) == len(other):
        first = next(pair for pair in zip(mine, other) if pair[0] != pair[1])
        found = " is ".join(f"`{loop.strip()}` on core {core}" for core, loop in enumerate(first))
    file, line = lines.of_kernel(function) or ("", 0)
    warn_of_rule(types.SimpleNamespace(file=file, line=line), rules.EQUAL_LOOPS, found)
