"""A kernel written in Python takes the time of the same kernel written with the builder, rolled loops or not: kernels
of bench/timing beside their Python form."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import kiln

kiln.activate()
ROOT = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path.insert(0, str(ROOT / "examples" / "nki"))

import matmul  # noqa: E402
import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

TOLERANCE = 0.05


@nki.jit
def vector_add(a, b, columns):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for start in range(0, a.shape[1], columns):
        part = slice(start, start + columns)
        x, y, z = [nl.ndarray((a.shape[0], columns), dtype=a.dtype) for _ in range(3)]
        nisa.dma_copy(x, a[:, part])
        nisa.dma_copy(y, b[:, part])
        nisa.tensor_tensor(z, x, y, nl.add)
        nisa.dma_copy(out[:, part], z)
    return out


def loaded(part):
    """A tile through the queue that the builder's loads take."""
    tile = nl.ndarray(part.shape, dtype=part.dtype)
    nisa.dma_copy(tile, part)
    return tile


@nki.jit
def scan(delta, u, A, B, C):
    """A state-space layer that loads everything for every state; rows of B and C go to all partitions."""
    channels, length = delta.shape
    out = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)

    def times(x, y):
        product = nl.ndarray((128, length), dtype=nl.float32)
        nisa.tensor_tensor(product, x, y, nl.multiply)
        return product

    for first in range(0, channels, 128):
        rows = slice(first, first + 128)
        total = nl.zeros((128, length), dtype=nl.float32)
        for s in range(A.shape[1]):
            d, a, v = loaded(delta[rows]), loaded(A[rows, s:s + 1]), loaded(u[rows])
            decay, state = [nl.ndarray((128, length), dtype=nl.float32) for _ in range(2)]
            nisa.activation(decay, nl.exp, d, scale=a)
            source = times(times(d, v), nl.broadcast_to(loaded(B[s:s + 1]), (128, length)))
            nisa.tensor_tensor_scan(state, decay, source, 0.0, nl.multiply, nl.add)
            weighted = times(state, nl.broadcast_to(loaded(C[s:s + 1]), (128, length)))
            nisa.tensor_tensor(total, total, weighted, nl.add)
        nisa.dma_copy(out[rows], total)
    return out


def product(m, k, n, dtype):
    return f"{dtype}[{k},{m}]", f"{dtype}[{k},{n}]"


def layer(channels, length):
    return [f"float32[{s}]" for s in (f"{channels},{length}",) * 2 + (f"{channels},16",) + (f"16,{length}",) * 2]


CASES = [
    ("grouped m=512 k=1024 n=2048 dtype=fp32", matmul.tiled, product(512, 1024, 2048, "float32")),
    ("grouped m=512 k=512 n=2048 dtype=bf16", matmul.tiled, product(512, 512, 2048, "bfloat16")),
    ("hoisted m=512 k=1024 n=2048 dtype=fp32", matmul.hoisted, product(512, 1024, 2048, "float32")),
    ("hoisted m=256 k=512 n=1024 dtype=bf16", matmul.hoisted, product(256, 512, 1024, "bfloat16")),
    ("vector_add columns=2 count=100", vector_add, ("float32[128,200]", "float32[128,200]", 2)),
    ("vector_add columns=700 count=6", vector_add, ("float32[128,4200]", "float32[128,4200]", 700)),
    ("mamba version=1 seq=512 channels=256", scan, layer(256, 512)),
    ("mamba version=1 seq=1536 channels=128", scan, layer(128, 1536)),
]


def built(text):
    command = [BUILD / "bench" / "timing_rows"]
    done = subprocess.run(command, input=text + "\n", capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("reorder", [True, False])
@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize("text, kernel, arguments", CASES, ids=[case[0] for case in CASES])
def test_both_forms_take_the_same_time(monkeypatch, text, kernel, arguments, target, reorder):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    want = built(f"{text} target={target} reorder={int(reorder)}")
    timing = kiln.time(kernel, reorder=reorder, advice=False, as_written=True)(*arguments)
    assert timing.latency_us * 1000 == pytest.approx(want["total_ns"], rel=TOLERANCE)
    assert timing.bottleneck == want["bottleneck"]
