"""nki.simulate: trace, check, run; arrays in, arrays out."""

import os

import numpy as np

from kiln import _kiln
from kiln._trace import device_print, divergence, env, inside, lines, rules, views
from kiln._trace.arrays import bytes_of, empty, is_torch, numpy_dtype, to_torch
from kiln._trace.errors import refuse
from kiln._trace.passes import Passes
from kiln._trace.traced_kernel import NkiTensor, TracedKernel
from kiln._trace.warnings import warn_at


def trace_cores(function, lnc, args, kwargs, schedule=()):
    """One TracedKernel per core of the logical core."""
    target, cores = env.target(), []
    for core in range(lnc):
        cores.append(TracedKernel(function, args, kwargs, target, lnc, core, schedule, cores[-1] if cores else None))
    device_print.show_rest(cores)
    return cores


def check_all(programs):
    """Raises for the first program that breaks a rule; warns what the check warns."""
    for program in programs:
        report = program.check(env.reserved_psum_banks())
        report.raise_if_failed()
        warn(report.diagnostics)
    warn(_kiln.check_launch(programs))


def warn(diagnostics):
    """Warns of each rule once per line: a loop in Python makes an instruction of every pass."""
    for d in {(d.code, d.loc.file, d.loc.line): d for d in reversed(diagnostics)}.values():
        warn_at(d.loc, str(d).rstrip())


class Watcher:
    """Who wants to know which kernels run: `kiln run` does."""

    def starts(self, function):
        """A kernel is called."""

    def traced(self, function, programs, depends_on_chip):
        """Its Python has run, and its programs are legal."""


_watcher = Watcher()


def watch(watcher):
    """Tells this Watcher of the kernels that run from now on."""
    global _watcher
    _watcher = watcher


def note_start(function):
    """Tells the Watcher that a kernel is called."""
    _watcher.starts(function)


def note_traced(function, programs, depends_on_chip):
    """Tells the Watcher that a kernel is traced and legal."""
    _watcher.traced(function, programs, depends_on_chip)


def run(function, lnc, args, kwargs, schedule=(), nan=None):
    """Runs a kernel on the machine and returns what it returns, as arrays."""
    env.check_lnc(lnc)
    note_start(function)
    asked = env.times_asked()
    if "KILN_RECORD" in os.environ:
        from kiln._trace import record

        record.note(function, lnc, args, kwargs)
    with inside.with_values():
        cores = trace_cores(function, lnc, args, kwargs, schedule)
    programs = [core.program() for core in cores]
    require_effect(cores, programs)
    divergence.require_same(function, cores, programs)
    check_all(programs)
    note_traced(function, programs, env.times_asked() > asked)
    _kiln.require_memory(programs, env.max_memory())
    arrays = buffers(cores, programs)
    passes = Passes(cores, args, kwargs)
    warn(run_on(programs, [arrays], nan=nan or env.nan(), describe_pass=passes.describe).warnings)
    return results(cores[0].result, programs, arguments_of(cores[0]), arrays)


def arguments_of(core):
    """name -> Argument of a traced kernel."""
    return {name: argument for name, (argument, _) in core.arguments.items()}


def results(returned, programs, arguments, arrays):
    """What a kernel returned, with arrays in place of tensors; written arguments get their values."""
    written = {t["name"] for p in programs for t in p.border if t["role"] == "inout"}
    for name in written:
        arguments[name].write_back()
    as_torch = any(is_torch(a.value) for a in arguments.values())
    return _give_back(returned, arguments, arrays, as_torch)


def measure(cores, programs):
    """Runs checked programs on copies of their arguments, for what the run itself tells: a RunReport."""
    _kiln.require_memory(programs, env.max_memory())
    return run_on(programs, [{name: array.copy() for name, array in buffers(cores, programs).items()}], nan="off")


def run_on(programs, arrays_of_ranks, **options):
    """Runs the programs of all ranks, rank by rank, on {name: array} of each."""
    wide, ranks = [{} for _ in arrays_of_ranks], len(arrays_of_ranks)
    if not env.precise():
        programs, names = _kiln.widen(programs)
        _kiln.require_memory(programs, env.max_memory(), ranks)
        wide = [{n: a.astype(np.float32) for n, a in arrays.items() if n in names} for arrays in arrays_of_ranks]
    memory = [{n: bytes_of(a) for n, a in {**arrays, **other}.items()} for arrays, other in zip(arrays_of_ranks, wide)]
    report = _kiln.run(programs, memory, env.threads(), max_iterations=env.max_iterations(),
                       max_memory=env.max_memory(), **options)
    written = {t["name"] for p in programs for t in p.border if t["role"] in ("output", "inout")}
    for arrays, other in zip(arrays_of_ranks, wide):
        for name in written & other.keys():
            arrays[name][...] = other[name].astype(arrays[name].dtype)
    return report


def require_effect(cores, programs):
    if any(core.outputs for core in cores):
        return
    if any(t["role"] == "inout" for p in programs for t in p.border):
        return
    result = cores[0].result
    returned = "nothing" if result is None else f"a {type(result).__name__}"
    refuse(rules.HAS_RESULT, f"it returns {returned} and writes none of its arguments",
           at=lines.of_return(cores[0].function, None))


def buffers(cores, programs, arguments=None):
    """The memory of every tensor that crosses the border, by name. arguments: name -> Argument, else the kernel's."""
    arrays = {}
    for core, program in zip(cores, programs):
        known = arguments_of(core) if arguments is None else arguments
        for tensor in program.border:
            name = tensor["name"]
            if name in arrays:
                continue
            if name in known:
                argument = known[name]
                arrays[name] = argument.array
                if tensor["role"] == "inout" and not argument.original.flags.writeable:
                    refuse(rules.WRITABLE_ARGUMENT, f"`{name}` is a read-only array")
            else:
                arrays[name] = empty(tensor["shape"], tensor["dtype"])
    return arrays


def _give_back(value, arguments, arrays, as_torch):
    """The kernel's return value with arrays in place of tensors."""
    if isinstance(value, NkiTensor):
        return _array_of(value, arguments, arrays, as_torch)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_give_back(v, arguments, arrays, as_torch) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_give_back(v, arguments, arrays, as_torch) for v in value)
    if isinstance(value, dict):
        return {k: _give_back(v, arguments, arrays, as_torch) for k, v in value.items()}
    return value


def _array_of(tensor, arguments, arrays, as_torch):
    base = arrays[tensor.name]
    if tensor.name in arguments:
        argument = arguments[tensor.name]
        if tensor.shape == base.shape and views.is_contiguous(tensor) and tensor.offset == 0:
            return argument.value
    flat = base.reshape(-1).view(numpy_dtype(tensor.dtype))
    if tensor.shape == base.shape and views.is_contiguous(tensor) and tensor.offset == 0 and flat.dtype == base.dtype:
        array = base
    else:
        size = flat.dtype.itemsize
        bits = flat.view(f"u{size}")[tensor.offset:]  # as_strided does not know the names of 8-bit floats
        array = np.lib.stride_tricks.as_strided(bits, tensor.shape, [s * size for s in views.strides(tensor)])
        array = np.ascontiguousarray(array).view(flat.dtype)
    return to_torch(array) if as_torch else array
