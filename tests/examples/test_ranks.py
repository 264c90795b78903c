"""The examples for several ranks against NumPy in float64 on the whole problem."""

import importlib
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import kiln

FOLDER = pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "examples" / "ranks"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "parts")
SEED = int(os.environ["KILN_SEED"])
MANY = {"tensor_parallel_mlp": dict(tokens=8, width=16, features=64), "expert_parallel": dict(width=8, capacity=1),
        "all_gather_matmul": dict(rows=128, depth=8, columns=64, chunks=2), "ring_attention": dict(rows=2, depth=4)}


@pytest.fixture(scope="module", autouse=True)
def modules():
    """The examples import nki and their neighbours by name."""
    kiln.activate()
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
    for name in (*EXAMPLES, "parts"):
        sys.modules.pop(name, None)
    kiln.deactivate()


def compare(example, ranks, **sizes):
    results, want = importlib.import_module(example).run(ranks, seed=SEED, **sizes)
    assert len(results) == len(want) == ranks
    for rank, (got, whole) in enumerate(zip(results, want)):
        allowed = 2e-5 * max(1, np.abs(whole).max())
        np.testing.assert_allclose(got, whole, rtol=0, atol=allowed, err_msg=f"rank {rank}, KILN_SEED={SEED}")


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("example", EXAMPLES)
def test_example_is_right(example, ranks):
    compare(example, ranks)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_is_right_on_64_ranks(example):
    compare(example, 64, **MANY.get(example, {}))


@pytest.mark.parametrize("example", EXAMPLES)
def test_threads_do_not_matter(example, monkeypatch):
    given = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("KILN_THREADS", threads)
        given.append(importlib.import_module(example).run(4, seed=SEED)[0])
    for other in given[1:]:
        for a, b in zip(given[0], other):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize("example", ["data_parallel", "tensor_parallel_mlp"])
def test_example_in_cpp_is_right(example, ranks):
    program = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "examples" / "cpp" / "ranks" / f"ranks_{example}"
    done = subprocess.run([program, "--ranks", str(ranks), "--seed", str(SEED)], capture_output=True, text=True)
    assert done.returncode == 0, f"KILN_SEED={SEED}\n{done.stdout}{done.stderr}"
    assert f"on {ranks} ranks" in done.stdout
