"""The two cores of a pair: what the manual asks to be the same on both, though each runs the kernel's Python for
itself. Device loops that differ have no promised meaning, and results are one tensor that both cores know."""

from kiln._trace import lines, rules
from kiln._trace.errors import refuse


def require_same(function, cores, programs):
    """Refuses a pair of cores whose device loops, or whose results, differ."""
    if len(programs) < 2:
        return
    _require_same_loops(function, programs)
    _require_same_results(function, cores)


def _require_same_loops(function, programs):
    """In number, nesting and bounds."""
    mine, other = (program.device_loops for program in programs)
    if mine == other:
        return
    found = f"core 0 has {len(mine)} loops, core 1 has {len(other)}"
    if len(mine) == len(other):
        first = next(pair for pair in zip(mine, other) if pair[0] != pair[1])
        found = " is ".join(f"`{loop.strip()}` on core {core}" for core, loop in enumerate(first))
    refuse(rules.EQUAL_LOOPS, found, at=lines.of_kernel(function) or ("", 0))


def _require_same_results(function, cores):
    mine, other = ([(t.name, tuple(t.shape), str(t.dtype)) for t in core.outputs] for core in cores)
    if mine == other:
        return
    found = f"core 0 returns {len(mine)} tensors, core 1 returns {len(other)}"
    if len(mine) == len(other):
        first = next(pair for pair in zip(mine, other) if pair[0] != pair[1])
        found = " and ".join(f"`{name}`, {dtype} {shape}, on core {core}"
                             for core, (name, shape, dtype) in enumerate(first))
    refuse(rules.SAME_RESULTS, found, at=lines.of_return(function, None) or ("", 0))
