"""The bars of the NumPy front end: time to trace an op, what a second call adds to its run, simulating the examples
against NumPy, the whole Qwen3-0.6B."""

import argparse
import copy
import importlib
import math
import pathlib
import sys
import time

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "numpy"
sys.path.insert(0, str(FOLDER))

import kiln  # noqa: E402
from kiln import _kiln  # noqa: E402
from kiln.numpy import _support  # noqa: E402

EXAMPLES = (
    ("softmax", "softmax"),
    ("layer_norm", "layer_norm"),
    ("attention_with_cache", "attention"),
    ("rope", "rope"),
    ("swiglu", "swiglu"),
    ("mixture_of_experts", "mixture"),
    ("delta_net", "delta_net"),
    ("cnn", "cnn"),
    ("k_means", "k_means"),
    ("heat", "heat"),
    ("adamw", "adamw"),
    ("qwen3", "layer"),
)


def best(function, repeat, clock=time.perf_counter):
    """The least seconds of some calls."""
    times = []
    for _ in range(repeat):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def tracing():
    """Microseconds of this process per op of a chain of elementwise functions, of slices and of sums."""
    x = np.zeros((64, 64), np.float32)
    for name, function, ops in (("elementwise", chain, 600), ("views and sums", mixed, 500)):
        jitted = kiln.jit(function)
        yield f"tracing an op, {name}", best(lambda j=jitted: j.lower(x), 20, time.process_time) / ops * 1e6, "us", 20


def chain(x):
    for _ in range(200):
        x = np.tanh(x * 0.5 + x)
    return x


def mixed(x):
    for _ in range(100):
        x = x[::-1, 1:].sum(axis=1, keepdims=True) + x.T.reshape(64, 64)
    return x


def second_call():
    """What a call adds to the run of its program, with nothing else in it."""
    function = kiln.jit(lambda x, w: np.tanh(x @ w))
    x, w = np.ones((64, 32), np.float32), np.ones((32, 48), np.float32)
    function(x, w)
    entry = next(iter(function._entries.values()))
    program = entry.lowered.program
    out = np.empty((64, 48), np.float32)
    buffers = {
        "x": x.reshape(-1).view(np.uint8),
        "w": w.reshape(-1).view(np.uint8),
        "out": out.reshape(-1).view(np.uint8),
    }
    alone = best(lambda: _kiln.run([program], [buffers], nan="off"), 300)
    yield "a second call over its run", (best(lambda: function(x, w), 300) - alone) * 1e6, "us", 50


def simulating():
    """Each example against NumPy, at its own sizes."""
    ratios = []
    for module_name, name in EXAMPLES:
        module = importlib.import_module(module_name)
        function, arguments = getattr(module, name), module.arguments(np.random.default_rng(0))
        jitted = kiln.jit(function)
        mine, numpys = copy.deepcopy(arguments), copy.deepcopy(arguments)
        jitted(*mine)
        with np.errstate(all="ignore"):
            ratio = best(lambda: jitted(*mine), 20) / best(lambda: function(*numpys), 20)
        ratios.append(ratio)
        yield f"  simulating {name} over NumPy", ratio, "", None
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    yield "simulating, geometric mean over NumPy", mean, "", 1.0


def whole_model():
    start = time.perf_counter()
    timing = importlib.import_module("qwen3").model.time()
    yield "time of Qwen3-0.6B, 28 layers", time.perf_counter() - start, "s", 5
    yield "  its predicted time, 128 tokens", timing.latency_us / 1000, "ms", None


def support():
    yield "functions of NumPy, at least", len(_support.supported()), "", -220


def verdict(value, unit, bar):
    """The bar and whether it is met; a negative one is the least that is due."""
    if bar is None:
        return ""
    return f"{abs(bar):>6} {unit:2} {'met' if (value >= -bar if bar < 0 else value <= bar) else 'NOT MET'}"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "part", nargs="*", help="tracing, second_call, simulating, whole_model, support; all unless given"
    )
    parts = options.parse_args().part or ["support", "tracing", "second_call", "simulating", "whole_model"]
    print(f"{'':42} {'measured':>10}    bar")
    for part in parts:
        for name, value, unit, bar in globals()[part]():
            print(f"{name:42} {value:10.3g} {unit:2} {verdict(value, unit, bar)}", flush=True)


if __name__ == "__main__":
    main()
