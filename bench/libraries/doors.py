#!/usr/bin/env python3
"""What the way through kiln.blas costs: gemm called in OpenBLAS itself, natively and by the simulator; --json for other
programs. Times are the best of several rounds, each of all three, so that a busy machine disturbs them alike."""

import argparse
import ctypes.util
import json
import time

import numpy as np
from best_times import best_times, ratios

from kiln import blas

SIZES = (64, 256, 512, 1024)
ROUNDS = 8
BARS = {"native / OpenBLAS": 1.1, "simulator / native": 2.0}  # at 1024


def openblas():
    """cblas_sgemm of the shared library, or None where it is not."""
    name = ctypes.util.find_library("openblas") or "libopenblas.so.0"
    try:
        routine = ctypes.CDLL(name).cblas_sgemm
    except OSError:
        return None
    c = ctypes
    routine.argtypes = [*[c.c_int] * 6, c.c_float, c.c_void_p, c.c_int, c.c_void_p, c.c_int, c.c_float, c.c_void_p,
                        c.c_int]
    return routine


def seconds(call, repeats=3):
    call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def measured(n, routine):
    rng = np.random.default_rng(n)
    A, B = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))

    def direct():
        C = np.empty((n, n), np.float32)
        routine(101, 111, 111, n, n, n, 1.0, A.ctypes.data, n, B.ctypes.data, n, 0.0, C.ctypes.data, n)

    calls = {"native": lambda: blas.gemm(1.0, A, B, backend="native"),
             "simulator": lambda: blas.gemm(1.0, A, B, backend="simulator")}
    if routine is not None:
        calls["OpenBLAS"] = direct
    return best_times(calls, ROUNDS, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    routine = openblas()
    rows = []
    for n in SIZES:
        times = measured(n, routine)
        rows.append({"size": n, "seconds": times, "ratios": ratios(times, BARS)})
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        times = "  ".join(f"{name} {t * 1e3:8.3f} ms" for name, t in row["seconds"].items())
        bars = {name: f" (bar {BARS[name]})" if row["size"] == 1024 else "" for name in BARS}
        over = "  ".join(f"{name} {v:.2f}{bars[name]}" for name, v in row["ratios"].items())
        print(f"gemm float32 {row['size']}^3: {times}  {over}")


if __name__ == "__main__":
    main()
