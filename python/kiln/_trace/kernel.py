"""Kernel: a function with its launch options, which runs on Kiln's machine when it is called."""

import dataclasses
import functools

from kiln import _kiln
from kiln._trace import env, on_ranks, rules, simulate, traced_kernel, tracebacks
from kiln._trace.errors import refuse


@dataclasses.dataclass(eq=False)
class Kernel:
    """A kernel function with its launch options. Calling it runs it on Kiln's machine."""

    func: object
    lnc: int = 1
    schedule: tuple = ()
    address_rotation: object = None
    nan: str | None = None  # off, warn or error; None: as the environment says
    ranks: int | None = None  # None: as the environment says, else one that is alone

    def __post_init__(self):
        functools.update_wrapper(self, self.func, updated=())

    def _with_grid(self, lnc):
        if isinstance(lnc, bool) or not isinstance(lnc, int):
            refuse(rules.GRID_IS_INT, f"kernel[{lnc!r}]")
        if lnc not in (1, 2):
            refuse(rules.GRID_SIZE, f"kernel[{lnc}]")
        return dataclasses.replace(self, lnc=traced_kernel.Grid(lnc))

    __getitem__ = _kiln.user_call(_with_grid, tracebacks.of_caller)

    def __get__(self, owner, cls=None):
        """A kernel that is a method gets its object."""
        return self if owner is None else dataclasses.replace(self, func=self.func.__get__(owner, cls))

    def _call(self, *args, **kwargs):
        if _kiln.active_trace() is not None:
            traced_kernel.note_inner(self.func)
            return self.func(*args, **kwargs)
        lnc, ranks = self._cores(), self.ranks or env.ranks()
        if ranks is None:
            return simulate.run(self.func, lnc, args, kwargs, self.schedule, self.nan)
        return on_ranks.run(self.func, lnc, ranks, args, kwargs, self.schedule, self.nan)

    def _cores(self):
        """The grid, else what the environment says."""
        asked = None if isinstance(self.lnc, traced_kernel.Grid) else env.lnc()
        return self.lnc if asked is None else traced_kernel.Grid(asked)

    __call__ = _kiln.user_call(_call, tracebacks.to_show)

    def with_schedule(self, edges):
        """A kernel whose instructions, named by name=, follow each other: (consumer, producer) or
        (consumer, [producer, ...])."""
        if not isinstance(edges, (tuple, list)):
            refuse(rules.SCHEDULE_EDGE, f"{edges!r}", "pass a list of edges")
        return dataclasses.replace(self, schedule=tuple(map(_edge, edges)))


def _edge(edge):
    """(consumer, producers) of an edge as users write it."""
    if not isinstance(edge, (tuple, list)) or len(edge) != 2:
        refuse(rules.SCHEDULE_EDGE, f"{edge!r}")
    consumer, producers = edge
    producers = tuple(producers) if isinstance(producers, (tuple, list)) else (producers,)
    if not all(isinstance(n, str) for n in (consumer, *producers)):
        refuse(rules.SCHEDULE_EDGE, f"{edge!r}", "names are strings, as in name=")
    return consumer, producers
