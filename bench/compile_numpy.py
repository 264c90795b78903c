"""Compiled tensor programs in the simulator beside NumPy, on the same arrays in one process. A figure is the ratio of
the best times."""

import argparse
import ctypes
import math
import os
import pathlib
import sys

from figures import THREADS, milliseconds, ratio, take_turns

os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)  # read when NumPy is imported

import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 1.0  # of the geometric mean


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def rms_norm(x, gain):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-6)) * gain


def layer_norm(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + np.float32(1e-5)) * gain + bias


def ffn(x, w1, w2, b1=0, b2=0):
    gate, up = np.split(x @ w1 + b1, 2, axis=-1)
    return silu(gate) * up @ w2 + b2


def rotated(x, cos, sin):
    first, second = np.split(x, 2, axis=-1)
    return x * cos + np.concatenate([-second, first], axis=-1) * sin


def inputs_of(**shapes):
    return shapes


# Patterns of compile_patterns.cpp: shapes of the inputs, and the function that gives the outputs.
CASES = {
    "swiglu (1,128,3072)": (inputs_of(gate=(1, 128, 3072), up=(1, 128, 3072)), lambda gate, up: silu(gate) * up),
    "rms-norm (1,128,1024)": (inputs_of(x=(1, 128, 1024), gain=(1024,)), rms_norm),
    "layer-norm (1,128,1024)": (inputs_of(x=(1, 128, 1024), gain=(1024,), bias=(1024,)), layer_norm),
    "softmax (1,16,128,128)": (inputs_of(x=(1, 16, 128, 128)), softmax),
    "matmul (128,1024)@(1024,6144)": (inputs_of(x=(1, 128, 1024), y=(1024, 6144)), lambda x, y: x @ y),
    "SwiGLU FFN 1024, 3072, biases": (inputs_of(x=(1, 128, 1024), w1=(1024, 6144), w2=(3072, 1024), b1=(6144,),
                                                b2=(1024,)), ffn),
    "rms-norm (1,128,2048)": (inputs_of(x=(1, 128, 2048), gain=(2048,)), rms_norm),
    "FFN 2048, 192": (inputs_of(x=(1, 128, 2048), w1=(2048, 384), w2=(192, 2048)), ffn),
    "matmul (128,2048)@(2048,1280)": (inputs_of(x=(1, 128, 2048), y=(2048, 1280)), lambda x, y: x @ y),
    "softmax (1,8,128,128)": (inputs_of(x=(1, 8, 128, 128)), softmax),
    "RoPE q 8 heads, k 1 head": (inputs_of(q=(1, 128, 8, 128), k=(1, 128, 1, 128), cos=(128, 1, 128),
                                           sin=(128, 1, 128)),
                                 lambda q, k, cos, sin: (rotated(q, cos, sin), rotated(k, cos, sin))),
    "matmul (1,2048)@(2048,384)": (inputs_of(x=(1, 2048), y=(2048, 384)), lambda x, y: x @ y),
}


class Compiled:
    """A pattern, compiled; called with arrays by name, it gives its outputs."""

    def __init__(self, library, name):
        self._library = library
        self._program = library.kiln_bench_pattern(name.encode())
        if not self._program:
            raise RuntimeError(library.kiln_bench_error().decode())
        self._names = library.kiln_bench_arguments(self._program).decode().split()

    def __call__(self, inputs, shapes):
        shapes = iter(shapes)
        outputs = {n: np.empty(next(shapes), np.float32) for n in self._names if n not in inputs}
        arrays = [(inputs | outputs)[n] for n in self._names]
        pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        if not self._library.kiln_bench_run(self._program, pointers, 0, False):
            raise RuntimeError(self._library.kiln_bench_error().decode())
        return list(outputs.values())


def load(path):
    library = ctypes.CDLL(str(path))
    for name in ("kiln_bench_error", "kiln_bench_arguments"):
        getattr(library, name).restype = ctypes.c_char_p
    library.kiln_bench_pattern.restype = ctypes.c_void_p
    library.kiln_bench_pattern.argtypes = [ctypes.c_char_p]
    library.kiln_bench_arguments.argtypes = [ctypes.c_void_p]
    library.kiln_bench_run.restype = ctypes.c_bool
    library.kiln_bench_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_bool]
    return library


def measured(library, name, rounds):
    """Times of NumPy and of the compiled program, after a look at the values."""
    shapes, numpy = CASES[name]
    rng = np.random.default_rng(1)
    inputs = {n: rng.standard_normal(s, dtype=np.float32) for n, s in shapes.items()}
    compiled = Compiled(library, name)
    expected = numpy(**inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    sizes = [e.shape for e in expected]
    for got, want in zip(compiled(inputs, sizes), expected):
        difference = np.abs(got - want).max() / np.abs(want).max()
        assert difference < 1e-4, f"{name} differs by {difference:.1e}"
    return take_turns([lambda: numpy(**inputs), lambda: compiled(inputs, sizes)], rounds)


def main():
    parser = argparse.ArgumentParser(prog="bench/compile --numpy", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    library = load(chosen.build / "bench" / "libkiln_bench.so")
    ratios = []
    print(f"{'program':32} {'of NumPy':>8}  median (best) times: simulated, NumPy; {THREADS} threads")
    for name in CASES:
        theirs, ours = measured(library, name, chosen.rounds)
        ratios.append(ratio(ours, theirs))
        print(f"{name:32} {ratios[-1]:8.2f}  {milliseconds(ours)}, {milliseconds(theirs)}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f} (at most {LIMIT})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
