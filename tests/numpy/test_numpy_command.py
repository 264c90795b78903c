"""kiln compile, check, run, time and emit of file.py:function."""

import json
import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
TEXT = """import numpy as np
import kiln


def layer(x, w, scale=2.0):
    print("traced")
    return np.tanh(x @ w) * scale + np.arange(w.shape[1])


def branch(x):
    if x.sum() > 0:
        return x
    return -x


step = kiln.jit(lambda x: np.tanh(x))


@kiln.numpy.sequence
def model(x):
    return step(step(x))
"""
SHAPES = ["--arg", "x=float32[64,32]", "--arg", "w=float32[32,48]"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    return path


def kiln_command(*words, ok=True, **options):
    environment = {**os.environ, "KILN_PYTHON": sys.executable}
    done = subprocess.run([BUILD / "cli" / "kiln", *map(str, words)], capture_output=True, text=True, env=environment,
                          **options)
    assert (done.returncode == 0) == ok, done.stderr + done.stdout
    return done.stdout if ok else done.stdout + done.stderr


def test_compile(file, tmp_path):
    assert kiln_command("compile", f"{file}:layer", *SHAPES).startswith('kiln 1\nprogram "layer" target trn2')
    report = kiln_command("compile", f"{file}:layer", *SHAPES, "--arg", "scale=3", "--report", "-O", "1")
    assert "layer for trn2" in report and "matmul tanh" in report
    kiln_command("compile", f"{file}:layer", *SHAPES, "--target", "trn3", "-o", tmp_path / "layer.py")
    assert "import nki" in (tmp_path / "layer.py").read_text()
    kiln_command("compile", f"{file}:layer", *SHAPES, "-o", tmp_path / "layer.kiln")
    assert "layer for trn2: ok" in kiln_command("check", tmp_path / "layer.kiln")
    assert (tmp_path / "layer.const0.npy").exists()


def test_check_run_time_emit(file):
    assert "layer for trn2: ok" in kiln_command("check", f"{file}:layer", *SHAPES)
    assert "from NumPy" in kiln_command("run", f"{file}:layer", *SHAPES)
    assert "layer for trn2" in kiln_command("time", f"{file}:layer", *SHAPES)
    assert json.loads(kiln_command("time", f"{file}:layer", *SHAPES, "--json"))["ok"]
    assert "nisa.nc_matmul" in kiln_command("emit", f"{file}:layer", *SHAPES)


@pytest.mark.parametrize("command, option", [("compile", "-o"), ("emit", "-o"), ("time", "--html")])
def test_the_file_of_the_function_stays(file, command, option):
    assert "would overwrite the input" in kiln_command(command, f"{file}:layer", *SHAPES, option, file, ok=False)
    assert file.read_text() == TEXT


def test_functions_say_themselves_what_they_overwrite(file):
    assert "x[...] = " in kiln_command("compile", f"{file}:layer", *SHAPES, "--donate", "x", ok=False)


def test_options_of_the_function_hold_unless_the_command_says(file):
    file.write_text(TEXT + "\n\n@kiln.jit(target='trn3', opt=1)\ndef own(x):\n    return x + 1\n")
    words = [f"{file}:own", "--arg", "x=float32[4,4]"]
    assert "own for trn3" in kiln_command("check", *words) and "own for trn3" in kiln_command("time", *words)
    assert "target trn3" in kiln_command("compile", *words)
    assert "own for trn1" in kiln_command("check", *words, "--target", "trn1")
    assert "from NumPy" in kiln_command("run", *words, "--target", "trn1")


def test_a_sequence(file):
    assert "in 2 calls" in kiln_command("time", f"{file}:model", "--arg", "x=float32[64,32]")
    told = json.loads(kiln_command("time", f"{file}:model", "--arg", "x=float32[64,32]", "--json"))
    assert len(told["steps"]) == 2


@pytest.mark.parametrize("function, words, said", [
    ("branch", ["--arg", "x=float32[4,4]"], "if x.sum() > 0"), ("layr", SHAPES, "did you mean `layer`"),
    ("layer", SHAPES[:2], "nothing says what `w`"), ("layer", [*SHAPES, "--arg", "z=1"], "no parameter `z`"),
    ("layer", ["--arg", "x=float32[4,4]", "--arg", "w=float32[5,4]"], "model.py:7"),
    ("layer", ["--arg", "x=float64[4,4]", "--arg", "w=float32[4,4]"], "numpy.R1"),
    ("layer", ["--arg", "x=float32[4,4", SHAPES[2], SHAPES[3]], "`float32[4,4` is no shape"),
    ("layer", ["--arg", "x"], "NAME=VALUE")])
@pytest.mark.parametrize("command", ["compile", "check", "run", "time", "emit"])
def test_errors(file, command, function, words, said):
    assert said in kiln_command(command, f"{file}:{function}", *words, ok=False)


def test_errors_do_not_point_at_the_launcher(file):
    script = pathlib.Path(sysconfig.get_path("scripts")) / "kiln"
    done = subprocess.run([script if script.exists() else BUILD / "cli" / "kiln", "check", f"{file}:layer", "--arg",
                           "x=float64[4,4]", "--arg", "w=float32[4,4]"], capture_output=True, text=True)
    assert done.returncode == 2 and "numpy.R1" in done.stderr
    assert [line for line in done.stderr.splitlines() if "-->" in line] == [f"  --> {file}:5"]  # the function itself


def test_no_file():
    assert "there is no file" in kiln_command("compile", "nowhere.py:f", ok=False)


def test_rules_are_explained():
    from kiln.numpy._rules import RULES

    assert len({rule.number for rule in RULES}) == len(RULES)
    said = kiln_command("explain", "numpy.R2")
    assert "numpy.R2: Python decides nothing" in said and "np.where" in said
    assert "no label numpy.R999" in kiln_command("explain", "numpy.R999", ok=False)


KERNELS = """import nki
import nki.isa as nisa
import nki.language as nl
from nki import jit as kernel


@nki.jit
def doubled(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=y, src=t)
    return y


@kernel
def wrong(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((256, 8), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    nisa.dma_copy(dst=y, src=t)
    return y
"""


@pytest.mark.parametrize("command, said", [
    ("check", "doubled for trn"), ("time", "doubled for trn"), ("emit", "def doubled(x):"),
    ("run", "result: float32[128, 8], 0.25146, -0.26421, 1.28085, 0.2098, ...")])
def test_an_nki_kernel_by_its_name(tmp_path, command, said):
    (tmp_path / "two.py").write_text(KERNELS)
    assert said in kiln_command(command, tmp_path / "two.py:doubled", "--arg", "x=float32[128,8]")


def test_an_nki_kernel_by_its_name_is_checked(tmp_path):
    (tmp_path / "two.py").write_text(KERNELS)
    assert "wrong: 1 error" in kiln_command("check", tmp_path / "two.py:wrong", "--arg", "x=float32[256,8]", ok=False)
    said = kiln_command("check", tmp_path / "two.py:doubld", "--arg", "x=float32[128,8]", ok=False)
    assert "did you mean `doubled`" in said
