"""`kiln run file.py:function`: a NumPy function on random arrays, compiled and by NumPy."""

import copy
import sys

import numpy as np

from kiln import _check
from kiln._trace.errors import NkiValidationError, make_error
from kiln.commands import numpy_function, target
from kiln.numpy import _arguments


def _leaves(x, name="result"):
    if isinstance(x, (tuple, list)):
        return [leaf for i, item in enumerate(x) for leaf in _leaves(item, f"{name}[{i}]")]
    if isinstance(x, dict):
        return [leaf for key, item in x.items() for leaf in _leaves(item, f"{name}[{key!r}]")]
    return [] if x is None else [(name, np.asarray(x))]


def _line(name, got, want):
    exact, ours = want.astype(np.float64), got.astype(np.float64)
    both = np.isfinite(exact) & np.isfinite(ours)
    worst = float(np.max(np.abs(exact - ours)[both], initial=0))
    same = "" if np.array_equal(np.isfinite(exact), np.isfinite(ours)) else "; infinities or NaN differ"
    return f"{name}: {got.dtype.name}{list(got.shape)}, at most {worst:.3g} from NumPy{same}"


def run(path, options):
    """Prints a line for each result and returns the exit code."""
    with target.chosen(options.target), numpy_function.opened(path, options) as (jitted, given):
        arrays = numpy_function.random_arguments(given)
        plain = copy.deepcopy(arrays)
        try:
            got = jitted(**arrays)
            with np.errstate(all="ignore"):
                want = jitted._function(**plain)
        except NkiValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise make_error([_check.stopped(error)]) from None
    for (name, ours), (_, numpys) in zip(_leaves(got), _leaves(want)):
        print(_line(name, ours, numpys))
    for name, array in arrays.items():
        if isinstance(given[name], _arguments.Shape) and not np.array_equal(array, plain[name], equal_nan=True):
            print(_line(f"argument {name}", array, plain[name]))
    sys.stdout.flush()
    return 0
