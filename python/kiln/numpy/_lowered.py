"""Lowered: a traced function compiled for a target, and all that can be asked of it."""

import functools
import itertools

import numpy as np

from kiln import _check, _emit, _kiln
from kiln._time import Timing, checked_trips
from kiln._trace import env
from kiln._trace.errors import NkiValidationError
from kiln.numpy import _dtypes
from kiln.numpy._rules import ARGUMENTS, OPTIONS, refuse
from kiln.numpy._search import search

_compiled = {}  # (text of the tensor program, target, level, donated, lnc, ...) -> TensorModel
_KEPT = 512


def _of_call(item):
    """What tells calls apart, without strides."""
    return item[:2] if isinstance(item, tuple) and item and isinstance(item[0], np.dtype) else item


def _words(item):
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], np.dtype):
        return f"{item[0].name}{list(item[1])}"
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], type):
        return f"{item[0].__name__} {item[1]!r}"
    return "no such argument" if item is None else repr(item)


class Lowered:
    """What a function becomes: `ir` (the tensor program as text), `program` (instructions), `nki` (source)."""

    def __init__(self, traced, target, opt, lnc=1, search=None, ranks=None, kernel_ops=None):
        self.traced, self.target, self.opt, self.lnc, self.ranks = traced, target, opt, lnc, ranks
        self._search, self._kernel_ops = search or {}, kernel_ops or _kiln.MOST_KERNEL_OPS
        self._timings = {}  # trip counts -> Timing
        self.flattened, self.key, self.keywords = None, (), {}  # how the call that it is for is told from others
        self.graph = traced.graph

    @functools.cached_property
    def ir(self):
        return str(self.graph)

    @functools.cached_property
    def model(self):
        """The kernels, the order of their calls, and where what they hand on lies."""
        key = self.graph.text(True, True), self.target, self.opt, tuple(self.traced.donated), self.lnc, self._kernel_ops
        if self.opt == 3:
            key += self._search.get("seed", 0), self._search.get("time_limit")
        if key not in _compiled:
            if len(_compiled) >= _KEPT:
                _compiled.clear()
            _compiled[key] = self._compile()
        return _compiled[key]

    def _compile(self):
        def found(graph, donated):
            return search(graph, self.target, donated, self.lnc, **self._search)

        try:
            return self.graph.compile_model(self.target, self.opt, self.traced.donated, self.lnc, self._kernel_ops,
                                            found if self.opt == 3 else None)
        except NkiValidationError:
            raise
        except Exception as error:  # a fault of the compiler, not of the function
            said = _kiln.diagnostic("internal", "internal", "the compiler takes every tensor program that is one",
                                    f"{type(error).__name__}: {error}", "report it, with the text of `low.ir`")
            raise NkiValidationError([said]) from error

    @property
    def is_one_kernel(self):
        return len(self.kernels) == 1 and self.kernels[0] is self

    @functools.cached_property
    def kernels(self):
        """Each kernel, with `program`, `nki`, `check`, `time` and `report`; of most functions it is the one."""
        from kiln.numpy._model import Kernel

        model = self.model
        return [self] if len(model.steps) == 1 else [Kernel(self, made) for made in model.kernels]

    @property
    def compiled(self):
        """The one kernel."""
        if not self.is_one_kernel:
            refuse(OPTIONS, f"`{self.traced.name}` is {len(self.model.kernels)} kernels",
                   "ask one of `low.kernels`, or take more ops into one kernel with kernel_ops=")
        return self.model.kernels[0]

    @property
    def program(self):
        """The program of instructions; of a pair of cores that of core 0."""
        return self.compiled.program

    @property
    def programs(self):
        """One program, or one for each core of a pair."""
        return self.compiled.programs

    @functools.cached_property
    def constants(self):
        """Arrays that the program takes besides the function's own, by name."""
        return {name: np.frombuffer(data, _dtypes.OF_NAME[dtype]).reshape(shape)
                for name, (dtype, shape, data) in self.compiled.constants.items()}

    @functools.cached_property
    def nki(self):
        """NKI source that issues the same program."""
        return self.source()

    def source(self, roll=True, main=False, origin=""):
        """The same, with the options of `kiln emit`."""
        texts = {name: _emit._array_text(array.reshape(array.shape or (1,))) for name, array in self.constants.items()}
        aliases = self.compiled.aliases
        names = [name for name, _, shape, _, _ in self.traced.outputs if 0 not in shape]
        names += [name for _, name in self.traced.written]
        outputs = list(dict.fromkeys(aliases.get(name, name) for name in names))
        return _kiln.emit(self.programs, roll=roll, main=main, origin=origin, outputs=outputs, constants=texts,
                          groups=self.compiled.groups)

    def check(self):
        """The report of `kiln.check`: true when the program is legal."""
        programs = [program for kernel in self.kernels for program in kernel.programs]
        reports = [program.check(env.reserved_psum_banks()) for program in programs]
        found = [diagnostic for report in reports for diagnostic in report.diagnostics]
        return _check.Report(self.traced.name, found, programs, reports)

    def time(self, trip_counts=None):
        """The predicted time, as `kiln.time` gives it; of several kernels, as a kiln.numpy.sequence has it. Loops that
        the run ends take their passes from `trip_counts`, {register: passes}; the error without them names the
        register."""
        trips = checked_trips(trip_counts)
        key = tuple(trips.items())
        if key not in self._timings:
            self._timings[key] = self._timed(trips)
        return self._timings[key]

    def _timed(self, trips):
        if not self.is_one_kernel:
            from kiln.numpy import _model

            if trips:
                refuse(OPTIONS, f"trip_counts of `{self.traced.name}`, which is several kernels",
                       "time its kernels one by one: low.kernels[0].time(trip_counts=...)")
            return _model.timing(self)
        return Timing(_kiln.time_programs(self.programs, trips, [], None, True, max_memory=env.max_memory(),
                                          of_rank=[0] * (self.ranks or 0)))

    def report(self, trip_counts=None):
        """What the program costs, and what its groups are; of several kernels also `kernels`, `calls` and `hbm`."""
        if not self.is_one_kernel:
            from kiln.numpy import _model

            return _model.report(self)
        timing = self.time(trip_counts)
        told = timing.as_dict()
        roofline, summary = told["roofline"], told["summary"]
        compulsory = summary["compulsory_bytes"]
        flops_ns = max((c["least_ns"] for c in roofline["ceilings"] if c["unit"] == "flops"), default=0.0)
        return {
            "name": self.traced.name,
            "target": self.target,
            "opt": self.opt,
            "lnc": self.lnc,
            "split": self.compiled.split,
            "instructions_static": self.program.instruction_count,
            "instructions_executed": summary["instruction_count"],
            "instructions_by_tile_limits": self.compiled.by_tile_limits,
            "bytes_moved": roofline["hbm_bytes"],
            "bytes_compulsory": compulsory,
            "time_ns": timing._native.total_ns,
            "time_low_ns": timing._native.low_ns,
            "time_high_ns": timing._native.high_ns,
            "roofline_ns": max(compulsory / roofline["peak_bytes_per_ns"], flops_ns),
            "bottleneck": timing.bottleneck,
            "groups": list(self.compiled.regions),
        }

    def __call__(self, *args, **kwargs):
        """Runs it on arrays of these shapes, by the simulator."""
        from kiln.numpy import _backends
        from kiln.numpy._jit import Entry

        arrays = self._same_call(args, kwargs)
        if not hasattr(self, "_entry"):
            self._entry = Entry(self.traced, self, _backends.simulator(self))
        return self._entry(arrays)

    def _same_call(self, args, kwargs):
        """The arrays of a call with the arguments that it was lowered for."""
        known = {name: kwargs.get(name, value) for name, value in self.keywords.items()
                 if name in kwargs or not self.flattened((value,), {})[2]}  # what is no array may be left out
        _, _, arrays, key = self.flattened(args, {**known, **kwargs})
        for ours, given in itertools.zip_longest(map(_of_call, self.key), map(_of_call, key)):
            if ours != given:
                refuse(ARGUMENTS, f"a call of `{self.traced.name}` with {_words(given)}, lowered for {_words(ours)}",
                       "pass arguments as they were lowered, or call the jitted function", kind=TypeError)
        return arrays

    def __repr__(self):
        return f"<{self.traced.name} for {self.target}, -O{self.opt}>"

