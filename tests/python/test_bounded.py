"""Shapes larger than any machine, limits from the environment, and signals that belong to the host."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_tile(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[0:128, 0:512])
    nisa.dma_copy(dst=out, src=t)
    return out
"""
LARGE = "float32[100000,100000]"  # 37 GiB


def first_tile(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[0:128, 0:512])
    nisa.dma_copy(dst=out, src=t)
    return out


def large_output(x):
    out = nl.ndarray((100_000, 100_000), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=out[0:128, 0:512], src=t)
    return out


def command(tmp_path, *words, limit_bytes=None, **environment):
    """`kiln ...` as a process of its own, with so much address space."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    limited = ["sh", "-c", f"ulimit -v {limit_bytes >> 10} && exec \"$@\"", "sh"] if limit_bytes else []
    return subprocess.run([*limited, sys.executable, "-m", "kiln", *words], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120, env={**os.environ, **environment})


@pytest.mark.parametrize("words", [("check",), ("time", "--no-advice")])
def test_a_large_shape_takes_no_memory(tmp_path, words):
    done = command(tmp_path, words[0], "kernel.py", "--arg", f"x={LARGE}", *words[1:], limit_bytes=6 << 30)
    assert done.returncode == 0, done.stderr


def test_shapes_are_traced_without_arrays(monkeypatch):
    made = []
    monkeypatch.setattr(np, "empty", lambda *args, **kwargs: made.append(args))
    assert kiln.check(first_tile, LARGE)
    assert kiln.time(first_tile, advice=False)(LARGE).latency_us > 0
    assert "100000" in str(kiln.program(first_tile, LARGE))
    assert not made


def test_two_arguments_of_one_shape_are_two_tensors():
    def add(x, y):
        assert x.name != y.name
        return x

    shape = kiln.Spec((128, 512))
    assert len(kiln.program(add, shape, shape).tensors) == 2
    assert len(kiln.program(lambda x: x[0], (shape, shape)).tensors) == 2


def test_a_shape_has_the_dtype_that_it_says():
    names = [t["dtype"] for t in kiln.program(lambda x, y: (x, y), "float8_e4m3fn_x4[128,8]", "bfloat16[2,2]").tensors]
    assert names == ["float8_e4m3fn_x4", "bfloat16"]


def test_there_is_nothing_to_run_on():
    with pytest.raises(nisa.NkiValidationError, match="`x` is the shape"):
        nki.simulate(first_tile)(kiln.Spec((128, 512)))


def test_memory_is_checked_before_outputs_are_made(monkeypatch):
    x = np.ones((128, 512), np.float32)
    monkeypatch.setenv("KILN_MAX_MEMORY", "20G")
    with pytest.raises(nisa.NkiValidationError, match="37.3 GiB") as caught:
        nki.simulate(large_output)(x)
    assert caught.value.diagnostics[0].code == "limit.R1"
    monkeypatch.setenv("KILN_MAX_MEMORY", "511K")
    with pytest.raises(nisa.NkiValidationError, match="511 KiB"):
        nki.simulate(first_tile)(x)
    monkeypatch.setenv("KILN_MAX_MEMORY", "512K")
    np.testing.assert_array_equal(nki.simulate(first_tile)(x), x)


@pytest.mark.parametrize("word", ["0", "x", "8Q", "-1"])
def test_a_wrong_limit_of_memory(monkeypatch, word):
    monkeypatch.setenv("KILN_MAX_MEMORY", word)
    with pytest.raises(nisa.NkiValidationError, match=f"KILN_MAX_MEMORY={word}"):
        nki.simulate(first_tile)(np.ones((128, 512), np.float32))


def loop(x):
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(t, x)

    def inner(j):
        nisa.tensor_scalar(t, t, nl.multiply, 2.0)

    def outer(i):
        nl.fori_loop(0, 30, inner)

    nl.fori_loop(0, 30, outer)
    nisa.dma_copy(out, t)
    return out


def test_a_time_has_a_limit():
    assert kiln.time(loop, advice=False, limit=900)("float32[128,8]").latency_us > 0
    with pytest.raises(nisa.NkiValidationError, match="one by one") as caught:
        kiln.time(loop, advice=False, limit=899)("float32[128,8]")
    assert caught.value.diagnostics[0].code == "timing.limit"
    for wrong in (0, -1, True, "many", 1.5):
        with pytest.raises(TypeError, match="limit"):
            kiln.time(loop, limit=wrong)


def test_time_does_not_overwrite_the_kernel(tmp_path):
    for option in ("--html", "--trace"):
        done = command(tmp_path, "time", "kernel.py", "--arg", "x=float32[128,512]", option, "kernel.py")
        assert done.returncode == 2 and "error[file.R3]" in done.stderr, done.stderr
        assert (tmp_path / "kernel.py").read_text() == KERNEL


def test_a_record_without_an_end(tmp_path):
    done = command(tmp_path, "check", "kernel.py", "--record", "/dev/zero", limit_bytes=6 << 30)
    assert done.returncode == 2 and "characters" in done.stderr


def test_run_takes_limits_as_options(tmp_path):
    (tmp_path / "script.py").write_text("from os import environ\n"
                                        "print(environ['KILN_MAX_ITERATIONS'], environ['KILN_MAX_MEMORY'])")
    done = command(tmp_path, "run", "--max-passes", "12", "--max-memory", "3G", "script.py")
    assert done.stdout == "12 3G\n", done.stderr


CAUGHT = """
import re
def caught():
    with open("/proc/self/status") as file:
        text = file.read()
    masks = (int(re.search(rf"{name}:\\s*(\\w+)", text)[1], 16) for name in ("SigCgt", "SigIgn"))
    return [mask & 0x7fffffff for mask in masks]  # beyond are the C library's own
"""


def test_the_library_leaves_signals_alone(tmp_path):
    """In a host, no handler is installed: neither by importing, nor by timing, saving, or running a command."""
    (tmp_path / "p.kiln").write_text('kiln 1\nprogram "p" target trn2\ntensor t: sbuf float32 [128, 8]\n'
                                     "memset(dst=t, value=1.0)\n")
    script = CAUGHT + f"""
before = caught()
import kiln
from kiln import __main__ as command
kiln.activate()
import kernel
timing = kiln.time(kernel.first_tile)("float32[128,512]")
timing.save_html({str(tmp_path / "page.html")!r})
assert command.main(["check", "p.kiln"]) == 0
assert caught() == before, (before, caught())
"""
    (tmp_path / "kernel.py").write_text(KERNEL)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_files_are_written_completely_or_not_at_all(tmp_path):
    timing = kiln.time(first_tile, advice=False)("float32[128,512]")
    timing.save_html(tmp_path / "page.html")
    timing.save_trace(str(tmp_path / "page.trace"))
    with pytest.raises(FileNotFoundError, match="missing"):
        timing.save_html(tmp_path / "missing" / "page.html")
    with pytest.raises(IsADirectoryError):
        timing.save_html(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "page.trace"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
