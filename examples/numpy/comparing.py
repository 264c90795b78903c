"""What every example does in the end: run compiled, compare with NumPy in float64, tell the predicted time."""

import argparse
import copy
import time

import numpy as np

import kiln


def wide(x):
    """The same arguments with floats in float64."""
    if isinstance(x, np.ndarray) and x.dtype.kind not in "iub":
        return x.astype(np.float64)
    if isinstance(x, dict):
        return {k: wide(v) for k, v in x.items()}
    if isinstance(x, (tuple, list)):
        return type(x)(map(wide, x))
    return copy.deepcopy(x)


def leaves(x):
    if isinstance(x, (tuple, list)):
        return [leaf for item in x for leaf in leaves(item)]
    if isinstance(x, dict):
        return [leaf for item in x.values() for leaf in leaves(item)]
    return [] if x is None else [np.asarray(x).astype(np.float64)]


def error_of(function, arguments, options=None):
    """The largest difference to float64 over the largest value, of results and of arguments that were written."""
    ours, exact = copy.deepcopy(arguments), wide(arguments)
    got = kiln.jit(function, **(options or {}))(*ours)
    with np.errstate(all="ignore"):
        want = function(*exact)
    worst = 0.0
    for g, w in zip(leaves((got, ours)), leaves((want, exact))):
        assert g.shape == w.shape
        if g.size:
            worst = max(worst, float(np.max(np.abs(g - w)) / max(np.max(np.abs(w)), 1e-6)))
    return worst


def main(function, arguments, tolerance=1e-4):
    """The command line of an example."""
    options = argparse.ArgumentParser(description=function.__doc__)
    options.add_argument("--html", help="write the timeline to this page")
    options.add_argument("--target", default="trn2")
    given = options.parse_args()
    worst = error_of(function, arguments, {"target": given.target})
    assert worst < tolerance, f"{worst} from float64"
    jitted = kiln.jit(function, target=given.target)
    start = time.perf_counter()
    lowered = jitted.lower(*arguments, target=given.target)
    report = lowered.report()
    assert lowered.check()
    print(f"{function.__name__}: {worst:.1e} from float64; {report['instructions_static']} instructions, "
          f"{report['instructions_executed']} executed; predicted {report['time_ns'] / 1000:.1f} us on {given.target}; "
          f"traced, compiled and timed in {time.perf_counter() - start:.2f} s")
    if given.html:
        lowered.time().save_html(given.html)
