#!/usr/bin/env python3
"""What a sparse product costs here: SciPy's, natively and by the simulator; --json for other programs. Processor times,
the best of several rounds, each of all three, so that a busy machine disturbs them alike."""

import argparse
import json
import time

import numpy as np
import scipy.sparse
from best_times import best_times, ratios

from kiln import sparse

CASES = ((1024, 0.01, 128), (1024, 0.1, 128), (4096, 0.001, 64), (4096, 0.01, 256))  # size, density, columns of B
ROUNDS = 5
BARS = {"native / SciPy": 1.2, "simulator / native": 4.0}


def seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def measured(size, density, columns):
    rng = np.random.default_rng(size)
    theirs = scipy.sparse.random(size, size, density, format="csr", dtype=np.float32, random_state=1)
    ours, B = sparse.from_scipy(theirs), rng.standard_normal((size, columns)).astype(np.float32)
    calls = {"SciPy": lambda: theirs @ B, "native": lambda: sparse.spmm(ours, B, backend="native"),
             "simulator": lambda: sparse.spmm(ours, B, backend="simulator")}
    for call in calls.values():
        call()
    return best_times(calls, ROUNDS, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for size, density, columns in CASES:
        times = measured(size, density, columns)
        rows.append({"size": size, "density": density, "columns": columns, "seconds": times,
                     "ratios": ratios(times, BARS)})
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        times = "  ".join(f"{name} {t * 1e3:8.3f} ms" for name, t in row["seconds"].items())
        over = "  ".join(f"{name} {v:.2f} (bar {BARS[name]})" for name, v in row["ratios"].items())
        print(f"spmm {row['size']}^2 x {row['columns']}, {row['density']:.1%}: {times}  {over}")


if __name__ == "__main__":
    main()
