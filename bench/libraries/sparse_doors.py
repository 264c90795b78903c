#!/usr/bin/env python3
"""What a sparse product costs here: SciPy's, natively and by the simulator; --json for other programs. Processor times,
the best of several rounds, each of all three, so that a busy machine disturbs them alike."""

import argparse
import functools
import json
import time

import numpy as np
import scipy.sparse
from best_times import best_times, ratios

from kiln import sparse

ROUNDS = 5
BARS = {"native / SciPy": 1.2, "simulator / native": 4.0}


def seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def random_csr(size, density):
    return scipy.sparse.random(size, size, density, format="csr", dtype=np.float32, random_state=1)


def spmm(size, density, columns):
    rng = np.random.default_rng(size)
    theirs = random_csr(size, density)
    ours, B = sparse.from_scipy(theirs), rng.standard_normal((size, columns)).astype(np.float32)
    return lambda: theirs @ B, lambda backend: sparse.spmm(ours, B, backend=backend)


def spmv(size, density, columns):
    rng = np.random.default_rng(size)
    theirs = random_csr(size, density)
    ours, x = sparse.from_scipy(theirs), rng.standard_normal(size).astype(np.float32)
    return lambda: theirs @ x, lambda backend: sparse.spmv(ours, x, backend=backend)


def bsr_spmm(size, density, columns):
    rng = np.random.default_rng(size)
    side = size // 128
    places = np.sort(rng.choice(side * side, int(density * side * side), replace=False))
    blocks = rng.standard_normal((len(places), 128, 128)).astype(np.float32)
    starts = np.searchsorted(places // side, np.arange(side + 1))
    theirs = scipy.sparse.bsr_array((blocks, places % side, starts), shape=(size, size))
    ours, B = sparse.BSRMatrix(blocks, places % side, starts, (size, size)), rng.standard_normal((size, columns))
    B = B.astype(np.float32)
    return lambda: theirs @ B, lambda backend: sparse.bsr_spmm(ours, B, backend=backend)


def sddmm(size, density, columns):
    rng = np.random.default_rng(size)
    A = sparse.from_scipy(random_csr(size, density))
    X, Y = (rng.standard_normal((size, columns)).astype(np.float32) for _ in range(2))
    return None, lambda backend: sparse.sddmm(A, X, Y, backend=backend)


def measured(make, *case):
    theirs, ours = make(*case)
    calls = {"SciPy": theirs} if theirs else {}
    calls |= {backend: functools.partial(ours, backend) for backend in ("native", "simulator")}
    for call in calls.values():
        call()
    return best_times(calls, ROUNDS, seconds)


CASES = ((spmm, 1024, 0.01, 128), (spmm, 1024, 0.1, 128), (spmm, 4096, 0.001, 64), (spmm, 4096, 0.01, 256),
         (spmv, 1024, 0.01, 1), (spmv, 4096, 0.001, 1), (spmv, 4096, 0.01, 1),
         (bsr_spmm, 1024, 0.25, 128), (sddmm, 1024, 0.01, 64))  # size, density, columns of the dense matrices


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for make, size, density, columns in CASES:
        times = measured(make, size, density, columns)
        rows.append({"product": make.__name__, "size": size, "density": density, "columns": columns, "seconds": times,
                     "ratios": ratios(times, BARS)})
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        times = "  ".join(f"{name} {t * 1e3:8.3f} ms" for name, t in row["seconds"].items())
        over = "  ".join(f"{name} {v:.2f} (bar {BARS[name]})" for name, v in row["ratios"].items())
        print(f"{row['product']} {row['size']}^2 x {row['columns']}, {row['density']:.1%}: {times}  {over}")


if __name__ == "__main__":
    main()
