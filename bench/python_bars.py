"""The kernels of examples/nki beside NumPy, called as a user calls them: traced, checked and run each time."""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys

import ml_dtypes
import numpy as np

import kernel_bars
from figures import milliseconds, ratio, take_turns

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples" / "nki"
SMALL_LIMIT, SLICES_LIMIT = 600_000, 350_000  # instructions per second: on one tile; on new ones, on slices
IMPORT_LIMIT = 0.3  # seconds
TOLERANCE = 2e-2  # of bfloat16 products; the others are far below


def measure_all(chosen, figures):
    """Adds the figures whose names start with python_; `chosen` are the options of bench/run."""
    package = chosen.build / "python"
    if not any((package / "kiln").glob("_kiln*")):
        return print(f"python_*: no package in {package}")
    sys.path[:0] = [str(package), str(EXAMPLES)]
    import kiln

    kiln.activate()
    for name, measure in FIGURES.items():
        if not chosen.only or name in chosen.only:
            measure(name, chosen, figures)


def beside_numpy(name, chosen, figures, limit, ours, peer, rounds):
    """The ratio of our time to NumPy's, after both have given the same."""
    got, want = np.asarray(ours()).astype(np.float32), peer()
    difference = np.abs(got - want).max() / np.abs(want).max()
    assert difference <= TOLERANCE, f"{name} differs by {difference:.1e}"
    ours_times, peer_times = take_turns([ours, peer], min(rounds, chosen.rounds))
    note = f"Kiln {milliseconds(ours_times)}, NumPy {milliseconds(peer_times)}"
    figures.add(name, ratio(ours_times, peer_times), limit, "ratio", note)


def measure_matmul(name, chosen, figures):
    import matmul

    side = 256 if chosen.quick else 2048
    a, b = random_arrays(2, (side, side))
    narrow = [x.astype(ml_dtypes.bfloat16) for x in (a, b)]
    beside_numpy(name, chosen, figures, 2.0, lambda: matmul.blocked_free(*narrow), lambda: a.T @ b, 9)


def measure_attention(name, chosen, figures):
    import attention

    arrays = random_arrays(3, (2, 256, 128) if chosen.quick else (16, 4096, 128))
    narrow = [x.astype(ml_dtypes.bfloat16) for x in arrays]

    def in_numpy():  # a head at a time, as its matrix of scores is large
        return np.stack([attention.reference(*(x[i:i + 1] for x in arrays))[0][0] for i in range(len(arrays[0]))])

    beside_numpy(name, chosen, figures, 1.5, lambda: attention.attention(*narrow)[0], in_numpy, 3)


def measure_softmax(name, chosen, figures):
    import softmax

    x, = random_arrays(1, (256, 256) if chosen.quick else (4096, 4096))
    beside_numpy(name, chosen, figures, 1.0, lambda: softmax.softmax(x), lambda: softmax.reference(x), 9)


def measure_rms_norm(name, chosen, figures):
    import rms_norm

    x, = random_arrays(1, (256, 256) if chosen.quick else (4096, 4096))
    weight = x[0].copy()
    ours, peer = rms_norm.rms_norm, rms_norm.reference
    beside_numpy(name, chosen, figures, 1.0, lambda: ours(x, weight), lambda: peer(x, weight), 9)


def random_arrays(count, shape):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape, dtype=np.float32) for _ in range(count)]


def measure_small(name, chosen, figures):
    """Many instructions on a tile of (128, 8), on one processor: Python, the check and the run share it."""
    import nki.isa as nisa
    import nki.language as nl

    def add_one(tile):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
        return tile

    measure_many(name, chosen, figures, SMALL_LIMIT, add_one)


def measure_new_tiles(name, chosen, figures):
    import nki.isa as nisa
    import nki.language as nl

    def add_one(tile):
        out = nl.ndarray(tile.shape, dtype=tile.dtype)
        nisa.tensor_scalar(dst=out, data=tile, op0=nl.add, operand0=1.0)
        return out

    measure_many(name, chosen, figures, SLICES_LIMIT, add_one)


def measure_slices(name, chosen, figures):
    import nki.isa as nisa
    import nki.language as nl

    def maximum(tile):
        nisa.tensor_tensor(dst=tile[:, 0:4], data1=tile[:, 0:4], data2=tile[:, 4:8], op=nl.maximum)
        return tile

    measure_many(name, chosen, figures, SLICES_LIMIT, maximum)


def measure_many(name, chosen, figures, limit, issue):
    """`issue` takes a tile, issues an instruction and returns the next one's tile."""
    import nki
    import nki.isa as nisa
    import nki.language as nl

    count = 2_000 if chosen.quick else 100_000

    @nki.jit
    def many(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(dst=tile, src=x)
        for _ in range(count):
            tile = issue(tile)
        nisa.dma_copy(dst=out, src=tile)
        return out

    with one_processor():
        assert set(np.unique(many(np.zeros((128, 8), np.float32)))) <= {0, count}
        times, = take_turns([lambda: many(np.zeros((128, 8), np.float32))], min(5, chosen.rounds))
    rate = count / statistics.median(times)
    figures.add(name, rate, limit, "instructions/s", f"{milliseconds(times)} for {count:,}")


@contextlib.contextmanager
def one_processor():
    before, threads = os.sched_getaffinity(0), os.environ.get("KILN_THREADS")
    os.sched_setaffinity(0, {min(before)})
    os.environ["KILN_THREADS"] = "1"
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        os.environ.pop("KILN_THREADS")
        if threads is not None:
            os.environ["KILN_THREADS"] = threads


def measure_import(name, chosen, figures):
    """Seconds for the import in a fresh process, NumPy included; the first run leaves the byte code behind."""
    code = ("import time; start = time.perf_counter(); import kiln; kiln.activate(); import nki; "
            "print(time.perf_counter() - start)")
    cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(chosen.build / "pycache")}
    environment = {**os.environ, **cache, "PYTHONPATH": str(chosen.build / "python")}
    command = [sys.executable, "-c", code]
    times = [float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
             for _ in range(1 + min(5, chosen.rounds))][1:]
    figures.add(name, min(times), IMPORT_LIMIT, "s", milliseconds(times))


FIGURES = {
    "python_import": measure_import,
    "python_small_instructions": measure_small,
    "python_new_tiles": measure_new_tiles,
    "python_slices": measure_slices,
    "python_softmax": measure_softmax,
    "python_rms_norm": measure_rms_norm,
    "python_matmul": measure_matmul,
    "python_attention": measure_attention,
    **kernel_bars.FIGURES,
}
