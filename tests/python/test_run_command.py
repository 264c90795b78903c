"""`kiln run script.py`: options of kiln are taken or refused, those of the script come after `--`, and the target that
kernels run for is told."""

import os
import pathlib
import subprocess
import sys

import pytest

NATIVE = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli" / "kiln"

SCRIPT = """
import os
import sys

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def newest(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    if {condition}:
        nisa.exponential(t, t)
    nisa.dma_copy(out, t)
    return out


if __name__ == "__main__":
    print(sys.argv[1:], os.environ.get("KILN_THREADS"))
    if "none" not in sys.argv:
        newest(np.ones((4, 8), np.float32))
        newest(np.ones((4, 8), np.float32))
"""
COMMANDS = [(sys.executable, "-m", "kiln"), (NATIVE,)]


@pytest.fixture(params=COMMANDS, ids=["module", "program"])
def kiln(request, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.format(condition="True"))

    def run(*words, **environment):
        return subprocess.run([*map(str, request.param), *words], cwd=tmp_path, capture_output=True, text=True,
                              timeout=120, env={**os.environ, "KILN_PYTHON": sys.executable, **environment})

    return run


def test_the_target_is_told_once(kiln):
    told = [line for line in kiln("run", "script.py").stderr.splitlines() if "kernels are for" in line]
    assert told == ["kiln run: kernels are for trn3, the default; --target trn1|trn2|trn3 chooses"]
    assert "kernels are for trn3\n" in kiln("run", "script.py", "--target", "trn3").stderr
    assert "kernels are for trn3\n" in kiln("run", "script.py", NEURON_PLATFORM_TARGET_OVERRIDE="gen4").stderr


def test_a_target_after_the_file_is_taken(kiln):
    done = kiln("run", "script.py", "--target", "trn1")
    assert done.returncode == 1 and "exponential" in done.stderr and "trn1" in done.stderr
    assert kiln("script.py", "--target", "trn1").returncode == 1


def test_older_generations_that_would_refuse_a_kernel_are_named(kiln, tmp_path):
    done = kiln("run", "script.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("`newest` would be refused on trn2: ") == 1, done.stderr
    assert done.stderr.count("`newest` would be refused on trn1: ") == 1
    assert "script.py:17" in done.stderr
    assert "refused" not in kiln("run", "script.py", "--target", "trn3").stderr
    (tmp_path / "script.py").write_text(SCRIPT.format(condition="False"))
    assert "refused" not in kiln("run", "script.py").stderr


def test_a_kernel_that_asks_for_the_chip_is_not_judged_by_the_program_for_another_one(kiln, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.format(condition="nisa.get_nc_version() >= nisa.nc_version.gen4"))
    assert "refused" not in kiln("run", "script.py").stderr
    assert kiln("run", "script.py", "--target", "trn1").returncode == 0


def test_options_of_kiln_are_taken_or_refused(kiln):
    assert kiln("run", "script.py", "--threads", "3").stdout == "[] 3\n"
    for option in (["--in", "x=x.npy"], ["--out", "y=y.npy"], ["--print"], ["--plain"], ["--json"]):
        done = kiln("run", "script.py", *option)
        assert done.returncode == 2
        assert f"`{option[0]}` goes with programs in text form only" in done.stderr + done.stdout
    done = kiln("run", "script.py", "--arg", "x=float32[4,8]")
    assert done.returncode == 2 and "`--arg` goes with FILE.py:FUNCTION only" in done.stderr
    assert "kiln check, kiln time and kiln emit have `--arg`" in done.stderr


def test_options_of_the_script_come_after_two_dashes(kiln):
    done = kiln("run", "script.py", "word", "--", "--epochs", "3", "--target", "x", "--", "none")
    assert (done.returncode, done.stdout) == (0, "['word', '--epochs', '3', '--target', 'x', '--', 'none'] None\n")
    done = kiln("run", "script.py", "--epochs", "3")
    assert done.returncode == 2 and "kiln run has no option `--epochs`" in done.stderr
    assert "kiln run script.py -- --epochs" in done.stderr
    done = kiln("run", "-m", "script", "word", "--", "-x", "none")
    assert (done.returncode, done.stdout) == (0, "['word', '-x', 'none'] None\n"), done.stderr


def test_a_script_that_calls_no_kernel_is_told_so(kiln):
    done = kiln("run", "script.py", "none")
    assert done.returncode == 0 and "warning: no kernel was called" in done.stderr and "newest" in done.stderr


def test_a_script_that_does_not_exist(kiln):
    done = kiln("run", "lost.py")
    assert done.returncode == 2 and "there is no file `lost.py`" in done.stderr and "-->" not in done.stderr
