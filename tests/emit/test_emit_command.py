"""kiln emit, as a user types it."""

import os
import pathlib
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
PROGRAMS = pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "tests" / "cli" / "programs"
NATIVE = [BUILD / "cli" / "kiln"]
PYTHON = [sys.executable, "-m", "kiln"]

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(x.shape[0] // 128):
        tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype)
        nisa.dma_copy(dst=tile, src=x[nl.ds(i * 128, 128)])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[nl.ds(i * 128, 128)], src=tile)
    return out
"""


@pytest.fixture
def emit(tmp_path):
    def run(command, *words):
        return subprocess.run([*command, "emit", *words], cwd=tmp_path, capture_output=True, text=True)

    return run


@pytest.mark.parametrize("command", [NATIVE, PYTHON], ids=["native", "python"])
def test_a_program_to_standard_output_and_to_a_file(command, emit, tmp_path):
    printed = emit(command, PROGRAMS / "add.kiln")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert "Written by `kiln emit` from add.kiln." in printed.stdout
    assert "def add(x, y):" in printed.stdout
    written = emit(command, PROGRAMS / "add.kiln", "-o", "add.py")  # .py, and yet no kernel to trace
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "")
    assert (tmp_path / "add.py").read_text() == printed.stdout


@pytest.mark.parametrize("command", [NATIVE, PYTHON], ids=["native", "python"])
def test_a_kernel_in_python(command, emit, tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    printed = emit(command, "kernel.py", "--arg", "x=float32[512,64]")
    assert printed.returncode == 0, printed.stderr
    assert "    for i in range(4):\n" in printed.stdout
    assert printed.stdout.count("nisa.") == 3
    unrolled = emit(command, "kernel.py", "--arg", "x=float32[512,64]", "--no-roll")
    assert "for i" not in unrolled.stdout and unrolled.stdout.count("nisa.") == 3 * 4
    lacking = emit(command, "kernel.py")
    assert lacking.returncode != 0 and "double" in lacking.stderr


def test_main_runs_on_kiln(emit, tmp_path):
    assert emit(NATIVE, PROGRAMS / "add.kiln", "--main", "-o", "add.py").returncode == 0
    done = subprocess.run([*PYTHON, "run", "add.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "z (4, 8) float32\n"), done.stderr


def test_a_pair_of_programs(emit):
    done = emit(NATIVE, PROGRAMS / "core0.kiln", PROGRAMS / "core1.kiln")
    assert done.returncode == 0, done.stderr
    assert "Written by `kiln emit` from core0.kiln and core1.kiln." in done.stdout
    assert "nl.program_id(0)" in done.stdout


def test_standard_input(tmp_path):
    text = (PROGRAMS / "add.kiln").read_text()
    done = subprocess.run([*NATIVE, "emit", "-"], input=text, capture_output=True, text=True)
    assert done.returncode == 0 and "Written by `kiln emit`.\n" in done.stdout


def test_what_is_illegal_is_not_written(emit, tmp_path):
    done = emit(NATIVE, PROGRAMS / "wrong_shape.kiln", "-o", "wrong.py")
    assert done.returncode == 1 and "error[" in done.stderr
    assert not (tmp_path / "wrong.py").exists()


@pytest.mark.parametrize("command", [NATIVE, PYTHON], ids=["native", "python"])
def test_a_file_that_cannot_be_written(command, emit, tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    done = emit(command, "kernel.py", "--arg", "x=float32[128,64]", "-o", "nowhere/out.py")
    assert done.returncode == 2 and "nowhere/out.py" in done.stderr


@pytest.mark.parametrize("command", [NATIVE, PYTHON], ids=["native", "python"])
def test_the_kernel_is_not_overwritten(command, emit, tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    done = emit(command, "kernel.py", "--arg", "x=float32[128,64]", "-o", "kernel.py")
    assert done.returncode == 2 and "error[file.R3]" in done.stderr
    assert (tmp_path / "kernel.py").read_text() == KERNEL


def test_one_kernel_at_a_time(emit, tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(KERNEL)
    done = emit(NATIVE, "a.py", "b.py", "--arg", "x=float32[128,64]")
    assert done.returncode == 2 and "error[nki.R47]" in done.stderr and "`b.py`" in done.stderr
