"""Emits programs, traces the source again, and compares: same program, same bits, same time."""

import importlib.util
import itertools
import os
import re
import sys
import warnings

import numpy as np

import kiln
from kiln import _kiln
from kiln._trace import arrays, simulate, specs
from kiln.nki import Kernel

_numbers = itertools.count()


def load(text, folder):
    """The kernel of an emitted source."""
    path = os.path.join(str(folder), f"emitted_{next(_numbers)}.py")
    with open(path, "w") as file:
        file.write(text)
    kiln.activate()
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    (kernel,) = [v for v in vars(module).values() if isinstance(v, Kernel)]
    return path, kernel


def arguments_of(programs):
    """Name -> Spec of what the caller gives, in order."""
    found = {}
    for program in programs:
        for t in program.tensors:
            if t["role"] in ("input", "inout"):
                found.setdefault(t["name"], specs.Spec(t["shape"], t["dtype"]))
    return found


def trace(kernel, programs, given=None):
    """What the kernel records for the programs' arguments."""
    wanted = [s for n, s in arguments_of(programs).items() if not n.startswith("constant_")] if given is None else given
    target = programs[0].target
    before = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE")
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = target
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            cores = simulate.trace_cores(kernel.func, len(programs), wanted, {})
        return [core.program() for core in cores]
    finally:
        if before is None:
            del os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"]
        else:
            os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = before


def normal_text(program):
    return str(_kiln.normal_form(program))


def random_arrays(programs, seed):
    """An array for everything that crosses the border."""
    rng = np.random.default_rng(seed)
    out = {}
    for program in programs:
        for t in program.tensors:
            if t["role"] == "internal" or t["name"] in out:
                continue
            dtype = arrays.numpy_dtype(t["dtype"])
            if dtype.kind in "iu" and not t["dtype"].endswith("_x4"):
                values = rng.integers(0, 4, t["shape"])
            else:
                values = rng.standard_normal(t["shape"])
            out[t["name"]] = np.ascontiguousarray(values.astype(dtype))
    return out


def run(programs, given, names=None):
    """The bytes of everything that crosses the border after a run on copies of `given`; `names`: ours -> theirs."""
    names = names or {}
    buffers = {names.get(n, n): arrays.bytes_of(a.copy()) for n, a in given.items()}
    _kiln.run(programs, [buffers], 1, max_iterations=1000)
    return {n: bytes(buffers[names.get(n, n)]) for n in given}


def both_results(file, folder, seed, values=None):
    """What the program in a file, and its emitted source traced again, make of the same random arrays, or of those in
    `values` that it takes."""
    programs = [_kiln.parse_program(file.read_text(), file.name)]
    _, kernel = load(_kiln.emit(programs), folder)
    again = trace(kernel, programs)
    given = random_arrays(programs, seed)  # whatever the numbers mean to the kernel, both do the same with them
    given.update({name: array for name, array in (values or {}).items() if name in given})
    return run(programs, given), run(again, given, dict(zip(_border(programs), _border(again), strict=True)))


def _border(programs):
    """The names of arguments and of outputs, in the order of a kernel: some are no Python, and get another one."""
    crossing = {t["name"]: t["role"] for p in programs for t in p.tensors if t["role"] != "internal"}
    return sorted(crossing, key=lambda name: crossing[name] == "output")


def time_ns(programs, trips=3):
    """Predicted times of the programs, as the vendor's compiler would have them and as written, when every loop on a
    register runs so often."""
    registers = {r for p in programs for r in re.findall(r"^ *(?:for|while) (\w+)", str(p), re.M)}
    return [_kiln.time_programs(programs, dict.fromkeys(registers, trips), [], False, False, as_written=w).total_ns
            for w in (False, True)]


class Captured:
    """Traces that kernels made while they ran: `traces`, one list of TracedKernels per call."""

    def __enter__(self):
        self.traces, self._before = [], simulate.trace_cores

        def trace_cores(*args, **kwargs):
            cores = self._before(*args, **kwargs)
            self.traces.append(cores)
            return cores

        simulate.trace_cores = trace_cores
        return self

    def __exit__(self, *_):
        simulate.trace_cores = self._before
