#!/usr/bin/env python3
"""What the way through kiln.fft costs: NumPy's pocketfft called itself, natively and by the simulator. Times are the
best of several rounds, each of all three, and of the processor, so that a busy machine disturbs them little."""

import functools
import time

import numpy as np
from best_times import best_times, ratios

from kiln import fft

SHAPES = ((1, 64), (1, 1024), (1, 4096), (128, 64), (128, 1024), (128, 4096), (1, 65536))
INVERSE_SHAPES = ((128, 1024), (128, 4096), (16, 8192), (100, 1009), (4, 32768), (128, 20000))
CALLS = [("fft", shape) for shape in SHAPES] + [("ifft", shape) for shape in INVERSE_SHAPES]
ROUNDS = 12
NUMBERS = 1 << 17  # of a round, at least
BARS = {"native / pocketfft": 1.1, "simulator / native": 5.0}


def seconds(call, repeats):
    begin = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - begin) / repeats


def main():
    rng = np.random.default_rng(0)
    for name, shape in CALLS:
        numpys, ours = getattr(np.fft, name), getattr(fft, name)
        x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)
        calls = {"pocketfft": functools.partial(numpys, x), "native": functools.partial(ours, x, backend="native"),
                 "simulator": functools.partial(ours, x, backend="simulator")}
        times = best_times(calls, ROUNDS, lambda call, x=x: seconds(call, -(-NUMBERS // x.size)))
        text = "  ".join(f"{who} {t * 1e3:8.3f} ms" for who, t in times.items())
        over = ratios(times, BARS).items()
        print(f"{name} {shape}: {text}  " + "  ".join(f"{n} {v:.2f} (bar {BARS[n]})" for n, v in over))


if __name__ == "__main__":
    main()
