"""`kiln run file.py:function`: a NumPy function, compiled and by NumPy, or a kernel, on random arrays."""

import copy
import sys

import numpy as np

from kiln import _check, nki
from kiln._trace import arrays as trace_arrays
from kiln._trace import specs
from kiln._trace.errors import NkiValidationError, make_error
from kiln._trace.on_ranks import PerRank, per_rank
from kiln.commands import kernel_file, numpy_function, target
from kiln.numpy import _arguments
from kiln.numpy._jit import Jitted


def _leaves(x, name="result"):
    if isinstance(x, (tuple, list)):
        return [leaf for i, item in enumerate(x) for leaf in _leaves(item, f"{name}[{i}]")]
    if isinstance(x, dict):
        return [leaf for key, item in x.items() for leaf in _leaves(item, f"{name}[{key!r}]")]
    return [] if x is None else [(name, np.asarray(x))]


def _line(name, got, want, whose="NumPy"):
    exact, ours = want.astype(np.float64), got.astype(np.float64)
    both = np.isfinite(exact) & np.isfinite(ours)
    worst = float(np.max(np.abs(exact - ours)[both], initial=0))
    same = "" if np.array_equal(np.isfinite(exact), np.isfinite(ours)) else "; infinities or NaN differ"
    return f"{name}: {got.dtype.name}{list(got.shape)}, at most {worst:.3g} from {whose}{same}"


def _values(array):
    """The first few, as one line."""
    first = ", ".join(f"{x:.6g}" for x in array.reshape(-1)[:4].astype(np.float64))
    return first + (", ..." if array.size > 4 else "")


def run_kernel(options):
    """The kernel that the options name: prints a line for each result and returns the exit code."""
    [path] = options.files
    with target.chosen(options.target), kernel_file.opened(path, options.kernel) as file:
        kernel_file.require_kernels([file], options.kernel)
        call = file.one_call(options, list(file.functions().items()))
        random = np.random.default_rng(0)
        arrays = {name: numpy_function.random_array(x.shape, trace_arrays.numpy_dtype(x.dtype), random)
                  if isinstance(x, specs.Spec) else x for name, x in call.kwargs.items()}
        try:
            got = nki.simulate(call.kernel)(*call.args, **arrays)
        except NkiValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise make_error([_check.stopped(error)]) from None
    for name, array in _leaves(got):
        print(f"{name}: {array.dtype.name}{list(array.shape)}, {_values(array)}")
    sys.stdout.flush()
    return 0


def _ranks_of(jitted, options):
    """On how many ranks it runs; None: on none, as a NumPy function does."""
    if not isinstance(jitted, Jitted):
        return None
    return int(options.ranks) if options.ranks else jitted._ranks


def _own_of_ranks(given, ranks):
    """Arrays of its own for each rank."""
    of_rank = [numpy_function.random_arguments(given, seed) for seed in range(ranks)]
    return {name: per_rank([arrays[name] for arrays in of_rank]) if isinstance(x, _arguments.Shape) else x
            for name, x in given.items()}


def _written(given, arrays, plain):
    """(name, ours, theirs) of arguments that the function has changed."""
    for name in (name for name, x in given.items() if isinstance(x, _arguments.Shape)):
        pairs = [(f"argument {name}", arrays[name], plain[name])]
        if isinstance(arrays[name], PerRank):
            pairs = [(f"argument {name} of rank {r}", a, b)
                     for r, (a, b) in enumerate(zip(arrays[name].values, plain[name].values))]
        yield from (pair for pair in pairs if not np.array_equal(pair[1], pair[2], equal_nan=True))


def run(path, options):
    """Prints a line for each result and returns the exit code. A function on ranks has the oracle beside it, because
    NumPy knows of none."""
    if options.kernel:
        return run_kernel(options)
    with target.chosen(options.target), numpy_function.opened(path, options) as (jitted, given):
        ranks = _ranks_of(jitted, options)
        if isinstance(jitted, Jitted):
            jitted = jitted.changed(target=options.target, ranks=ranks, lnc=options.lnc)
        arrays = _own_of_ranks(given, ranks) if ranks else numpy_function.random_arguments(given)
        plain = copy.deepcopy(arrays)
        try:
            got = jitted(**arrays)
            with np.errstate(all="ignore"):
                want = (jitted.changed(backend="native") if ranks else jitted._function)(**plain)
        except NkiValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise make_error([_check.stopped(error)]) from None
    whose = "the oracle" if ranks else "NumPy"
    for (name, ours), (_, theirs) in zip(_leaves(got), _leaves(want)):
        print(_line(name, ours, theirs, whose))
    for name, ours, theirs in _written(given, arrays, plain):
        print(_line(name, ours, theirs, whose))
    sys.stdout.flush()
    return 0
