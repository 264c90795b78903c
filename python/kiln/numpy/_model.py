"""Functions that are too large for one kernel: several kernels, called one after the other, with a plan for what they
hand on in HBM."""

import types

import numpy as np

from kiln import _kiln
from kiln._trace import env
from kiln.numpy import _dtypes
from kiln.numpy._backends import _all_outputs, _as_bytes, _threads
from kiln.numpy._lowered import Lowered
from kiln.numpy._sequence import SequenceTiming, Step


def _names(compiled):
    """What a kernel has in place of a traced function: a name, and its results."""
    outputs = [(t["name"], _dtypes.OF_NAME[t["dtype"]], tuple(t["shape"]), None, None)
               for t in compiled.program.tensors if t["role"] == "output"]
    return types.SimpleNamespace(name=compiled.program.name, graph=None, outputs=outputs, written=[], donated=[])


class Kernel(Lowered):
    """One kernel of several: all that can be asked of a function that is one kernel, but what it was before."""

    def __init__(self, whole, compiled):
        super().__init__(_names(compiled), whole.target, whole.opt, whole.lnc, ranks=whole.ranks)
        self._made = compiled

    compiled = property(lambda self: self._made)
    kernels = property(lambda self: [self])


def timing(lowered):
    """The calls one after the other, as a kiln.numpy.sequence has them."""
    steps, start = [], 0.0
    for kernel, _ in lowered.model.steps:
        made = lowered.kernels[kernel]
        steps.append(Step(made.traced.name, made, start))
        start += steps[-1].time_us
    return SequenceTiming(lowered.traced.name, steps)


_SUMMED = ("instructions_executed", "bytes_moved", "bytes_compulsory", "time_ns", "time_low_ns", "time_high_ns",
           "roofline_ns")


def report(lowered):
    """The report of a function of several kernels: sums over all calls, what the kernels are, and the plan of HBM."""
    model, kernels = lowered.model, [k.report() for k in lowered.kernels]
    calls = [kernel for kernel, _ in model.steps]
    told = {key: sum(kernels[k][key] for k in calls) for key in _SUMMED}
    between = [b for b in model.buffers if b["kind"] == "between"]
    return {
        "name": lowered.traced.name,
        "target": lowered.target,
        "opt": lowered.opt,
        "lnc": lowered.lnc,
        "instructions_static": sum(k["instructions_static"] for k in kernels),
        **told,
        "kernels": [{**told_of, "calls": calls.count(i)} for i, told_of in enumerate(kernels)],
        "calls": calls,
        "groups": [group for k in kernels for group in k["groups"]],
        "hbm": {"between_bytes": model.between_bytes, "handed_on_bytes": model.handed_on_bytes,
                "scratch_bytes": model.scratch_bytes, "buffers": between},
    }


class _Call:
    """A kernel and the buffers that one call of it takes."""

    def __init__(self, kernel, bound):
        self.programs, self.threads = list(kernel.programs), _threads(kernel.program)
        self.constants = {name: _as_bytes(np.array(a)) for name, a in kernel.constants.items()}
        known = {t["name"] for t in kernel.program.tensors if t["role"] in ("input", "inout", "output")}
        self.bound = {name: buffer for name, buffer in bound.items() if name in known}

    def __call__(self, arrays_of_ranks, memory):
        """Runs it on all ranks at once, or on the one that there is."""
        buffers = [{**self.constants, **{name: arrays[buffer] for name, buffer in self.bound.items()}}
                   for arrays in arrays_of_ranks]
        if buffers[0]:
            _kiln.run(self.programs * len(buffers), buffers, self.threads, max_memory=memory, nan="off")


def simulator(lowered):
    """Runs the kernels one after the other on buffers that lie as the plan says."""
    model, outputs = lowered.model, _all_outputs(lowered.traced)
    calls = [_Call(lowered.kernels[kernel], bound) for kernel, bound in model.steps]
    told, aliases, memory = model.buffers, dict(model.aliases), env.max_memory()

    def prepared(given):
        """The buffers of the plan, and the results that lie in some of them."""
        results, updated = {}, {}
        for out, name in aliases.items():
            if name not in updated:
                mine = given[name]
                updated[name] = mine if mine.flags.c_contiguous and mine.flags.writeable else np.array(mine, order="C")
            results[out] = updated[name]
        between = np.empty(model.between_bytes, np.uint8)
        arrays = []
        for buffer in told:
            name = buffer["name"]
            if buffer["kind"] == "between":
                arrays.append(between[buffer["offset"]:buffer["offset"] + buffer["bytes"]])
                continue
            if buffer["kind"] == "output":
                dtype, shape = outputs[name]
                results[name] = np.empty(shape, dtype)
            array = results[name] if buffer["kind"] == "output" else updated.get(name, given.get(name))
            arrays.append(_as_bytes(np.ascontiguousarray(array)))
        return arrays, results

    def on_ranks(given_of_ranks):
        ranks = [prepared(given) for given in given_of_ranks]
        for call in calls:
            call([arrays for arrays, _ in ranks], memory)
        return [results for _, results in ranks]

    def run(given):
        return on_ranks([given])[0]

    run.on_ranks = on_ranks
    return run
