"""Functions that are several kernels: values, reuse of layers, the plan of HBM, and the commands."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import kiln
import kiln.numpy as kn
from against_numpy import SEED

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
LAYERS = 5


def layer(x, w):
    h = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    q, k = h @ w["q"], h @ w["k"]
    scores = np.exp(q @ k.T / 8)
    x = x + (scores / np.sum(scores, axis=-1, keepdims=True)) @ (h @ w["v"])
    return x + np.tanh(x @ w["up"]) @ w["down"]


def model(tokens, table, weights, head):
    x = table[tokens]
    for w in weights:
        x = layer(x, w)
    return x @ head


def arguments(size=32):
    random = np.random.default_rng(SEED)

    def matrix(*shape):
        return (random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    shapes = {"q": (size, 16), "k": (size, 16), "v": (size, size), "up": (size, 48), "down": (48, size)}
    weights = [{name: matrix(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
    return random.integers(0, 40, 20).astype(np.int32), matrix(40, size) * 4, weights, matrix(size, 40)


def exact(tokens, table, weights, head):
    wide = [{k: v.astype(np.float64) for k, v in w.items()} for w in weights]
    return model(tokens, table.astype(np.float64), wide, head.astype(np.float64))


@pytest.mark.parametrize("kernel_ops", [40, 7, 1000])
def test_values(kernel_ops):
    print("KILN_SEED", SEED)
    given = arguments()
    low = kiln.jit(model).lower(*given, kernel_ops=kernel_ops)
    assert low.is_one_kernel == (kernel_ops == 1000)
    want = exact(*given)
    np.testing.assert_allclose(low(*given), want, atol=1e-4 * np.abs(want).max())
    np.testing.assert_allclose(kiln.jit(model, kernel_ops=kernel_ops)(*given), want, atol=1e-4 * np.abs(want).max())


def test_layers_are_one_kernel():
    low = kiln.jit(model).lower(*arguments(), kernel_ops=40)
    report = low.report()
    assert max(kernel["calls"] for kernel in report["kernels"]) >= LAYERS - 1
    assert len(low.kernels) <= 4 and low.check()
    assert report["time_ns"] == pytest.approx(1000 * low.time().latency_us)
    assert 0 < report["hbm"]["between_bytes"] < report["hbm"]["handed_on_bytes"]
    assert "import nki" in low.kernels[0].nki
    with pytest.raises(Exception, match=r"numpy.R11.*kernels"):
        low.program  # noqa: B018


def test_arguments_that_are_written_to():
    def step(x, caches, at):
        for cache in caches:
            cache[at] = np.tanh(x[0])
            x = x + (x @ cache.T) @ cache * 0.01
        return x

    random = np.random.default_rng(SEED)
    x = random.normal(size=(2, 8)).astype(np.float32)
    caches = [random.normal(size=(16, 8)).astype(np.float32) for _ in range(4)]
    plain = [c.copy() for c in caches]
    want = step(x, plain, 3)
    got = kiln.jit(step, kernel_ops=8)(x, caches, np.int32(3))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    for ours, numpys in zip(caches, plain):
        np.testing.assert_allclose(ours, numpys, rtol=1e-5, atol=1e-5)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"numpy.R11"):
        kiln.jit(model, kernel_ops=0)

    x = np.ones((8, 8), np.float32)
    several = kiln.jit(lambda x: np.exp(np.tanh(x) @ x), kernel_ops=2)
    assert len(several.lower(x).kernels) > 1
    with pytest.raises(ValueError, match="low.kernels.0..time"):
        several.lower(x).time(trip_counts={"r0": 3})


@pytest.mark.parametrize("lnc", [1, 2])
def test_on_ranks(lnc):
    """Kernel by kernel on all ranks, what is handed on too; results, written arguments and the time of each kernel."""
    rng = np.random.default_rng(SEED)
    parts = [rng.standard_normal((8, 8)).astype(np.float32) for _ in range(4)]
    caches = [np.zeros((2, 8, 8), np.float32) for _ in range(4)]

    def step(x, cache):
        mean = kn.all_reduce(np.tanh(x) @ x) / 4
        cache[1] = kn.collective_permute(mean * x, [(r, (r + 1) % 4) for r in range(4)])
        return np.exp(kn.reduce_scatter(mean + cache[1]) * 0.125)

    function = kiln.jit(step, ranks=4, kernel_ops=3, lnc=lnc)
    lowered = function.lower(kiln.per_rank(parts), kiln.per_rank(caches))
    assert len(lowered.kernels) > 2
    got = function(kiln.per_rank(parts), kiln.per_rank(caches))
    mean = sum(np.tanh(x) @ x for x in parts) / 4
    moved = [mean * parts[(r - 1) % 4] for r in range(4)]
    total = sum(mean + m for m in moved) * 0.125
    for r in range(4):
        np.testing.assert_allclose(caches[r], [np.zeros((8, 8)), moved[r]], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(got[r], np.exp(total[2 * r:2 * r + 2]), rtol=1e-3, atol=1e-4)
    assert all("links" in str(k.time().as_dict()["engines"]) for k in lowered.kernels
               if any("all_reduce" in line for line in str(k.program).splitlines()))


SCRIPT = """import numpy as np


def deep(x, w):
    for _ in range(450):
        x = x @ w + 1
    return x
"""


def test_commands(tmp_path):
    """file.py:function and program.kt of more ops than one kernel takes."""
    (tmp_path / "deep.py").write_text(SCRIPT)
    shapes = ["--arg", "x=float32[16,16]", "--arg", "w=float32[16,16]"]

    def run(*words):
        environment = {**os.environ, "KILN_PYTHON": sys.executable}
        done = subprocess.run([BUILD / "cli" / "kiln", *words], cwd=tmp_path, capture_output=True, text=True,
                              env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = run("time", "deep.py:deep", *shapes)
    assert "calls" in told
    timed = json.loads(run("time", "deep.py:deep", *shapes, "--json"))
    assert timed["time_ns"] > 0 and len(timed["steps"]) > 1
    assert "HBM between kernels" in run("compile", "deep.py:deep", *shapes, "--report")
    run("compile", "deep.py:deep", *shapes, "-o", "deep.kiln")
    plan = json.loads((tmp_path / "deep.plan.json").read_text())
    assert all((tmp_path / file).exists() for files in plan["kernels"] for file in files)
    run("check", *(file for files in plan["kernels"] for file in files))

    import importlib.util

    spec = importlib.util.spec_from_file_location("deep", tmp_path / "deep.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    low = kiln.jit(module.deep).lower("float32[16,16]", "float32[16,16]")
    (tmp_path / "deep.kt").write_text(low.ir)
    random = np.random.default_rng(SEED)
    x, w = random.normal(size=(16, 16)).astype(np.float32), (np.eye(16) * 0.5).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", w)
    run("run", "deep.kt", "--in", "x=x.npy", "--in", "w=w.npy", "--out", "out=out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), module.deep(x, w), rtol=1e-5)
    timed = json.loads(run("time", "deep.kt", "--json"))
    assert timed["kernels"] <= 4 and len(timed["steps"]) > 1
