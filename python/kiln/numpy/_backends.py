"""How compiled functions run: each gives a function of {input: array} that returns {output: array}."""

import math

import numpy as np

from kiln import _kiln
from kiln._trace import env
from kiln._trace.arrays import spare
from kiln.numpy._rules import BACKEND, refuse


def _all_outputs(traced):
    outputs = {name: (dtype, shape) for name, dtype, shape, _, _ in traced.outputs}
    for i, name in traced.written:
        outputs[name] = traced.inputs[i][1:]
    return outputs


def _as_bytes(array):
    """Its memory, that a run may write to: a copy of what may not be written."""
    return (array if array.flags.writeable else array.copy()).reshape(-1).view(np.uint8)


# Arrays, products, and arrays for each instruction, of a program for which handing work to other threads costs more
# than they save.
_SMALL_BYTES, _SMALL_FLOPS, _SMALL_STEP = 3 << 20, 2e8, 64 << 10


def _threads(program):
    """KILN_THREADS; without it one for small programs, and for those of many small instructions."""
    held = sum(math.prod(t["shape"]) * _kiln.dtype_size(t["dtype"]) for t in program.tensors
               if t["role"] in ("input", "output", "inout"))
    flops, executed = _kiln.work(program)
    is_small = held < _SMALL_BYTES or held < _SMALL_STEP * executed
    return env.threads() or (1 if is_small and flops < _SMALL_FLOPS else 0)


def _in_place(traced, compiled):
    """The programs of a compiled function, which write to arguments themselves where they can, and {output: input}."""
    programs, aliases = list(compiled.programs), dict(compiled.aliases)
    for i, output in traced.written:
        name = traced.inputs[i][0]
        if len(programs) > 1 or output in aliases or name in aliases.values():
            continue
        updated = _kiln.updated_in_place(programs[0], name, output)
        if updated is not None:
            programs, aliases[output] = [updated], name
    return programs, aliases


def simulator(lowered):
    """Runs the program of instructions, bit by bit as the chip does."""
    if not lowered.is_one_kernel:
        from kiln.numpy import _model

        return _model.simulator(lowered)
    traced, compiled = lowered.traced, lowered.compiled
    programs, aliases = _in_place(traced, compiled)
    program = programs[0]
    constants = {name: _as_bytes(np.array(a)) for name, a in lowered.constants.items()}
    outputs = _all_outputs(traced)
    needed = {t["name"] for t in program.tensors if t["role"] in ("input", "inout")}
    threads, memory = _threads(program), env.max_memory()
    made_here = [(name, dtype, shape) for name, (dtype, shape) in outputs.items() if name not in aliases]

    def prepared(given):
        """The memory that the program runs on, and results in it."""
        buffers = dict(constants)
        results, updated = {}, {}
        for name, array in given.items():
            if name in needed:
                buffers[name] = _as_bytes(np.ascontiguousarray(array))
        for out, name in aliases.items():  # the program writes to the argument itself, where its memory is as it has it
            if name not in updated:
                mine = given[name]
                updated[name] = mine if mine.flags.c_contiguous and mine.flags.writeable else np.array(mine, order="C")
                buffers[name] = _as_bytes(updated[name])
            results[out] = updated[name]
        for name, dtype, shape in made_here:
            array = results[name] = spare(shape, np.dtype(dtype))
            if array.size:
                buffers[name] = _as_bytes(array)
        return buffers, results

    def run(given):
        buffers, results = prepared(given)
        if buffers:
            _kiln.run(programs, [buffers], threads, max_memory=memory, nan="off")
        return results

    def on_ranks(given_of_ranks):
        ranks = [prepared(given) for given in given_of_ranks]
        if ranks[0][0]:
            _kiln.run(programs * len(ranks), [buffers for buffers, _ in ranks], threads, max_memory=memory, nan="off")
        return [results for _, results in ranks]

    run.on_ranks = on_ranks
    return run


def native(lowered):
    """Evaluates the tensor program in double and exact integers; no instructions."""
    traced = lowered.traced
    graph, outputs = traced.graph, _all_outputs(traced)

    def data_of(given):
        return {name: np.ascontiguousarray(a).tobytes() for name, a in given.items()}

    def results_of(evaluated):
        results = {}
        for name, (_, _, numbers) in evaluated.items():
            dtype, shape = outputs[name]
            with np.errstate(all="ignore"):
                results[name] = np.frombuffer(numbers, np.float64).reshape(shape).astype(dtype)
        return results

    def run(given):
        return results_of(graph.evaluate(data_of(given)))

    run.on_ranks = lambda given_of_ranks: [*map(results_of, graph.evaluate_ranks([*map(data_of, given_of_ranks)]))]
    return run


def neuron(lowered):
    """Runs the emitted source through the package nki that is installed."""
    from kiln.blas import _neuron

    why = _neuron.why_not()
    if why:
        refuse(BACKEND, f"neuron: {why}", 'install the vendor\'s package nki, or use backend="simulator"')
    kernel = _neuron._kernel(lowered.nki)
    traced = lowered.traced
    order = [t["name"] for t in lowered.program.tensors if t["role"] in ("input", "inout")]
    outputs = _all_outputs(traced)
    names = [name for name, _, shape, _, _ in traced.outputs if 0 not in shape] + [name for _, name in traced.written]
    names = list(dict.fromkeys(names))

    def run(given):
        arrays = []
        for name in order:
            if name in given:
                a = np.array(given[name], order="C")
                arrays.append(
                    a.reshape(a.shape or (1,)).view(np.uint8) if a.dtype == bool else a.reshape(a.shape or (1,))
                )
        made = _neuron.on_device(kernel, lowered.lnc, arrays)
        made = made if isinstance(made, (tuple, list)) else (made,)
        results = {}
        for name, value in zip(names, made):
            dtype, shape = outputs[name]
            results[name] = np.asarray(value).view(dtype).reshape(shape)
        for name, (dtype, shape) in outputs.items():
            results.setdefault(name, np.empty(shape, dtype))
        return results

    def on_ranks(_):
        refuse(BACKEND, "not yet: neuron on several ranks", 'use backend="simulator"')

    run.on_ranks = on_ranks
    return run
