"""Kernels that fit into SBUF and PSUM only in another order, or only because bytes are used again in place."""

import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


@pytest.fixture(autouse=True)
def on_trn2(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")


@nki.jit
def four(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = []
    for i in range(4):
        tiles.append(nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf))
        nisa.dma_copy(tiles[i], x[i])
    for i in range(4):
        nisa.dma_copy(out[i], tiles[i])
    return out


FOUR = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n" + inspect.getsource(four.func)


@nki.jit
def nine(x):
    out = nl.ndarray((9, *x.shape), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, x)
    banks = []
    for i in range(9):
        banks.append(nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.psum))
        nisa.nc_matmul(banks[i], tile[:, 0:128], tile)
    for i in range(9):
        copy = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(copy, banks[i])
        nisa.dma_copy(out[i], copy)
    return out


CASES = pytest.mark.parametrize("kernel, shape, memory, written, reordered", [
    (four, (4, 128, 16384), "sbuf", 262144, 65536), (nine, (128, 512), "psum", 18432, 2048)])


@CASES
def test_check_tells_both_figures(kernel, shape, memory, written, reordered):
    spec = f"float32[{','.join(map(str, shape))}]"
    report = kiln.check(kernel, spec)
    (d,) = report.diagnostics
    assert report.ok and (d.code, d.severity) == ("memory.R8", "warning")
    assert f"need {written} bytes" in d.found and f"reordered they need {reordered}" in d.found
    assert f"{reordered} of" in report.summary() and f"{written} as written" in report.summary()
    (use,) = report.as_dict()["memory"]
    assert (use[memory]["written_bytes"], use[memory]["peak_bytes"]) == (written, reordered)
    strict = kiln.check(kernel, spec, strict_order=True)
    assert not strict.ok and [e.code for e in strict.errors] == ["memory.R8"]


@CASES
def test_a_run_warns(kernel, shape, memory, written, reordered):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        kernel(np.ones(shape, np.float32))
    texts = [str(w.message) for w in seen if "memory.R8" in str(w.message)]
    assert texts and str(written) in texts[0] and f"reordered they need {reordered}" in texts[0]


def test_strict_order_on_the_command_line(tmp_path):
    file = tmp_path / "four.py"
    file.write_text(FOUR)
    words = [sys.executable, "-m", "kiln", "check", file, "--arg", "x=float32[4,128,16384]"]
    lenient = subprocess.run(words, capture_output=True, text=True)
    strict = subprocess.run([*words, "--strict-order"], capture_output=True, text=True)
    assert lenient.returncode == 0 and "warning[memory.R8]" in lenient.stderr
    assert strict.returncode == 1 and "error[memory.R8]" in strict.stderr


@nki.jit
def rotate(x, cos, sin):
    """The rotary embedding as a public library writes it: two halves of the partitions, each made from both."""
    half, size = cos.shape
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    cosines, sines = (nl.ndarray(cos.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    for dst, src in ((tile, x), (cosines, cos), (sines, sin)):
        nisa.dma_copy(dst, src)
    odd, even_cos, odd_cos, even_sin, odd_sin = (nl.ndarray(cos.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(5))
    nisa.tensor_copy(odd, tile[half:])
    nisa.tensor_tensor(even_cos, tile[:half], cosines, nl.multiply)
    nisa.tensor_tensor(odd_cos, odd, cosines, nl.multiply)
    nisa.tensor_tensor(even_sin, tile[:half], sines, nl.multiply)
    nisa.tensor_tensor(odd_sin, odd, sines, nl.multiply)
    nisa.tensor_tensor(result[:half], even_cos, odd_sin, nl.subtract)
    nisa.tensor_tensor(result[half:], odd_cos, even_sin, nl.add)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, result)
    return out


def test_bytes_are_used_again_in_place():
    report = kiln.check(rotate, "bfloat16[128,32768]", "bfloat16[64,32768]", "bfloat16[64,32768]", strict_order=True)
    assert report.ok and not report.diagnostics, report
    assert "used again in place" in report.summary()
    assert report.as_dict()["memory"][0]["sbuf"]["peak_bytes"] == 3 * 65536


def test_a_parameter_may_have_the_name_of_an_option(tmp_path):
    file = tmp_path / "named.py"
    file.write_text(FOUR.replace("def four(x):", "def four(x, strict_order=False):"))
    done = subprocess.run([sys.executable, "-m", "kiln", "check", file, "--arg", "x=float32[4,128,16]", "--arg",
                           "strict_order=True"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
