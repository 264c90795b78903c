"""The example kernels against NumPy in float64, on odd shapes and on every chip; and their programs as a user meets
them.

An example prints its kernel (`--text`); `kiln` checks and runs it. It must be legal without any diagnostic. Tolerances
stand with each oracle. Inputs are random; KILN_SEED repeats a run.
"""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import scipy.special

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
KILN = BUILD / "cli" / "kiln"
SEED = int(os.environ["KILN_SEED"])
TARGETS = ["trn1", "trn2", "trn3"]


def program(example):
    return BUILD / "examples" / "cpp" / example


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)


def normal(rng, *shape, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(np.float32)


# Each oracle makes inputs for sizes and gives the outputs as {name: (expected, allowed difference)}.

SUM = 2e-6  # of the sum of absolute products: float32 products added in float32
EXP = 4e-6  # of the value: float32 exp, reciprocal and a few products


def row_sum(C):
    """Of the value: float32 numbers of one sign added one after the other, roundings to either side."""
    return 4 * np.sqrt(C) * 2.0**-24


def tensor_add(rng, R, C):
    x, y = normal(rng, R, C), normal(rng, R, C)
    return {"x": x, "y": y}, {"out": (x + y, 0)}


def product(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return a @ b, SUM * (abs(a) @ abs(b))


def gemm(rng, M, K, N):
    a_t, b = normal(rng, K, M), normal(rng, K, N)
    return {"a_t": a_t, "b": b}, {"c": product(a_t.T, b)}


def complex_gemm(rng, M, K, N):
    x = {name: normal(rng, K, M if name[0] == "a" else N) for name in ["a_re", "a_im", "b_re", "b_im"]}
    a, b = x["a_re"].T + 1j * x["a_im"].T.astype(np.float64), x["b_re"] + 1j * x["b_im"].astype(np.float64)
    c, allowed = a @ b, 2 * SUM * (abs(a) @ abs(b))
    return x, {"c_re": (c.real, allowed), "c_im": (c.imag, allowed)}


def softmax(rng, R, C):
    x = normal(rng, R, C, scale=rng.choice([1, 30]))  # 30: exp overflows unless the maximum is taken off
    out = scipy.special.softmax(x.astype(np.float64), axis=1)
    below_max = x.max(axis=1, keepdims=True) - x  # rounded to float32 before exp
    return {"x": x}, {"out": (out, out * (EXP + row_sum(C) + 2.0**-24 * below_max) + 1e-37)}


def rms_norm(rng, R, C):
    x, gain = normal(rng, R, C, scale=rng.choice([0.01, 100])), normal(rng, C)
    out = x / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=1, keepdims=True) + 1e-6) * gain
    return {"x": x, "gain": gain}, {"out": (out, (EXP + row_sum(C)) * abs(out))}


def attention(rng, H, S, D):
    q_t, k_t, v = normal(rng, H, D, S, scale=rng.choice([1, 5])), normal(rng, H, D, S), normal(rng, H, S, D)
    scores = np.einsum("hds,hdt->hst", q_t.astype(np.float64), k_t.astype(np.float64)) / np.sqrt(D)
    out = scipy.special.softmax(scores, axis=2) @ v
    return {"q_t": q_t, "k_t": k_t, "v": v}, {"out": (out, 1e-5 * abs(v).max() * (1 + abs(scores).max() / 16))}


def block_sparse(rng, row_blocks, column_blocks, block_count, N):
    rows = np.sort(rng.integers(row_blocks, size=block_count))
    row_start = np.searchsorted(rows, np.arange(row_blocks + 1)).astype(np.int32)
    column = rng.integers(column_blocks, size=block_count).astype(np.int32)
    blocks, b = normal(rng, block_count, 128, 128), normal(rng, column_blocks * 128, N)
    c, allowed = np.zeros((2, row_blocks, 128, N))
    for row, col, block in zip(rows, column, blocks):
        value, error = product(block.T, b[col * 128 : col * 128 + 128])
        c[row] += value
        allowed[row] += error
    out = (c.reshape(-1, N), allowed.reshape(-1, N))
    return {"blocks": blocks, "row_start": row_start, "column": column, "b": b}, {"c": out}


SIZES = {
    tensor_add: [(1, 1), (127, 2049), (128, 2048), (129, 4096), (500, 513), (513, 5000)],
    gemm: [(1, 1, 1), (127, 129, 500), (128, 128, 512), (129, 127, 513), (500, 513, 129), (513, 500, 1),
           (256, 384, 1025)],
    complex_gemm: [(1, 1, 1), (127, 129, 500), (129, 127, 513), (128, 256, 512), (300, 500, 129)],
    softmax: [(1, 1), (127, 500), (128, 513), (129, 8192), (500, 129), (1, 8193), (129, 20000)],
    rms_norm: [(1, 1), (127, 500), (128, 513), (129, 8192), (500, 129), (1, 8193), (129, 20000)],
    attention: [(1, 1, 1), (1, 127, 64), (2, 129, 80), (1, 128, 128), (1, 500, 64), (2, 513, 128), (3, 256, 127)],
    block_sparse: [(1, 1, 1, 1), (7, 3, 5, 127), (3, 5, 40, 513), (4, 4, 16, 512), (9, 2, 1, 129)],
}
CASES = [
    pytest.param(oracle, sizes, target, id=f"{oracle.__name__}-{'x'.join(map(str, sizes))}-{target}")
    for oracle, shapes in SIZES.items()
    for sizes in shapes
    for target in TARGETS
]
EXAMPLES = [oracle.__name__ for oracle in SIZES]


@pytest.mark.parametrize("oracle, sizes, target", CASES)
def test_values(tmp_path, oracle, sizes, target):
    print("KILN_SEED", SEED)
    inputs, outputs = oracle(np.random.default_rng([SEED, *sizes]), *sizes)
    text = call(program(oracle.__name__), "--text", "--target", target, "--sizes", *sizes)
    assert (text.returncode, text.stderr) == (0, "")
    kernel = tmp_path / "kernel.kiln"
    kernel.write_text(text.stdout)

    verdict = json.loads(call(KILN, "check", kernel, "--json").stdout)
    assert verdict["ok"] and verdict["programs"][0]["diagnostics"] == [], verdict

    files = {name: tmp_path / f"{name}.npy" for name in [*inputs, *outputs]}
    for name, array in inputs.items():
        np.save(files[name], array)
    words = [word for name in inputs for word in ("--in", f"{name}={files[name]}")]
    words += [word for name in outputs for word in ("--out", f"{name}={files[name]}")]
    done = call(KILN, "run", kernel, *words)
    assert (done.returncode, done.stderr) == (0, "")

    for name, (expected, allowed) in outputs.items():
        got = np.load(files[name])
        assert got.dtype == np.float32 and got.shape == expected.shape
        excess = abs(got - expected) - allowed
        assert not (excess > 0).any() and np.isfinite(got).all(), f"{name}: {excess.max()} too much"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_program_agrees_with_its_reference(example, target):
    done = call(program(example), "--target", target, "--seed", SEED)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert f"legal on {target}" in done.stdout and "within" in done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_wrong_usage(example):
    count = len(SIZES[globals()[example]][0])
    for words in [
        ["--bogus"],
        ["--target", "trn9"],
        ["--threads", "-1"],
        ["--sizes", *["1"] * (count - 1)],
        ["--sizes", *["0"] * count],
        ["--sizes", *["-3"] * count],
        ["--sizes", *["many"] * count],
        ["--sizes", *["9" * 30] * count],
    ]:
        done = call(program(example), *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr, words


@pytest.mark.parametrize("example", EXAMPLES)
def test_help(example):
    done = call(program(example), "--help")
    assert done.returncode == 0 and "--sizes" in done.stdout


def test_a_shape_that_does_not_fit_is_a_diagnostic():
    done = call(program("attention"), "--sizes", 1, 128, 200)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[memory.R1]" in done.stderr
    assert "examples/cpp/attention.cpp:" in done.stderr, "the place in the kernel's source"


def test_threads_do_not_change_the_result():
    outs = [call(program("attention"), "--threads", threads).stdout for threads in [1, 2]]
    assert outs[0] == outs[1] != ""


def test_demo(tmp_path):
    done = call(program("attention"), "--demo", "--page", tmp_path / "attention.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert "allowed is" in done.stdout and done.stdout.count("error[") == 2
    for words in ["Is it legal?", "SBUF", "PSUM", "tensor", "nc_matmul.R3", "for trn3", "expected between",
                  str(tmp_path / "attention.html")]:
        assert words in done.stdout
    page = (tmp_path / "attention.html").read_text()
    assert "examples/cpp/attention.cpp" in page and "nc_matmul" in page
