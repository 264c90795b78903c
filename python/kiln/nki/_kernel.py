"""nki.jit and Kernel."""

import dataclasses
import functools
import warnings

from kiln import _kiln, _traceback
from kiln._errors import refuse
from kiln.nki import _simulate, _trace
from kiln.nki._warnings import NkiWarning


@dataclasses.dataclass(eq=False)
class Kernel:
    """A kernel function with its launch options. Calling it runs it on Kiln's machine."""

    func: object
    lnc: int = 1
    schedule: tuple = ()
    address_rotation: object = None

    def __post_init__(self):
        functools.update_wrapper(self, self.func, updated=())

    def _with_grid(self, lnc):
        if isinstance(lnc, bool) or not isinstance(lnc, int):
            refuse("nki.R18", "kernel[n] takes one int", f"kernel[{lnc!r}]", "write kernel[2](...)", category="config")
        if lnc not in (1, 2):
            refuse("nki.R18", "a logical core has 1 or 2 physical cores", f"kernel[{lnc}]", "write kernel[1] or kernel[2]",
                   category="config")
        return dataclasses.replace(self, lnc=_trace.Grid(lnc))

    __getitem__ = _kiln.user_call(_with_grid, _traceback.of_caller)

    def __get__(self, owner, cls=None):
        """A kernel that is a method gets its object."""
        return self if owner is None else dataclasses.replace(self, func=self.func.__get__(owner, cls))

    def _call(self, *args, **kwargs):
        if _kiln.active_trace() is not None:
            return self.func(*args, **kwargs)
        return _simulate.run(self.func, self.lnc, args, kwargs, self.schedule)

    __call__ = _kiln.user_call(_call, _traceback.to_show)

    def with_schedule(self, edges):
        """A kernel whose instructions, named by name=, follow each other: (consumer, producer) or (consumer, [producer, ...])."""
        if not isinstance(edges, (tuple, list)):
            _refuse_edge(edges, "pass a list of edges")
        return dataclasses.replace(self, schedule=tuple(map(_edge, edges)))


def _edge(edge):
    """(consumer, producers) of an edge as users write it."""
    if not isinstance(edge, (tuple, list)) or len(edge) != 2:
        _refuse_edge(edge, "pass pairs of names")
    consumer, producers = edge
    producers = tuple(producers) if isinstance(producers, (tuple, list)) else (producers,)
    if not all(isinstance(n, str) for n in (consumer, *producers)):
        _refuse_edge(edge, "names are strings, as in name=")
    return consumer, producers


def _refuse_edge(found, help):
    refuse("nki.R19", "an edge is (consumer, producer) or (consumer, [producer, ...])", f"{found!r}", help)


def jit(fn=None, **kwargs):
    """Makes a Kernel of a function: @nki.jit, @nki.jit() or nki.jit(f)."""
    if "platform_target" in kwargs:
        refuse("nki.R20", "nki.jit takes no platform_target since NKI 0.3.0", f"platform_target={kwargs['platform_target']!r}",
               "remove it and set NEURON_PLATFORM_TARGET_OVERRIDE=trn1|trn2|trn3 in the environment")
    for name in kwargs:  # kernels still carry options of older compilers
        warnings.warn(f"nki.jit ignores {name}=", NkiWarning, stacklevel=2)
    if fn is None:
        return jit
    if not callable(fn):
        raise TypeError(f"nki.jit takes a function, not {type(fn).__name__}")
    return fn if isinstance(fn, Kernel) else Kernel(fn)


def simulate(kernel):
    """A callable that runs a kernel (or a plain function) on Kiln's machine with NumPy or torch arrays."""
    if not callable(kernel):
        raise TypeError(f"nki.simulate takes a kernel or a function, not {type(kernel).__name__}")
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)


def cpu_simulate(kernel):
    """nki.simulate under the name that nki-library's tests use: cpu_simulate(kernel)[lnc](**inputs)."""
    return simulate(kernel)
