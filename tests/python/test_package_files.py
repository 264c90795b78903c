"""Kernels in files of a package: `kiln check` and `kiln time` import them as Python would."""

import subprocess
import sys

import pytest

KERNEL = """
import nki
import nki.language as nl
{imports}

@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), FACTOR))
    return out
"""


def make(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run(folder, *words):
    return subprocess.run([sys.executable, "-m", "kiln", *words], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("init", [True, False])
@pytest.mark.parametrize("command", ["check", "time"])
def test_relative_imports(tmp_path, init, command):
    make(tmp_path, {"made/ops/double.py": KERNEL.format(imports="from ..sizes import FACTOR"),
                    "made/sizes.py": "FACTOR = 2.0"})
    if init:
        make(tmp_path, {"made/__init__.py": "", "made/ops/__init__.py": ""})
    done = run(tmp_path, command, "made/ops/double.py", "--arg", "x=float32[128,64]")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "double for trn3" in done.stdout


def test_absolute_imports_of_the_package(tmp_path):
    make(tmp_path, {"made/double.py": KERNEL.format(imports="from made.sizes import FACTOR"),
                    "made/sizes.py": "FACTOR = 2.0", "made/__init__.py": ""})
    done = run(tmp_path / "made", "check", "double.py", "--arg", "x=float32[128,64]")
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_package_of_a_taken_name_is_read_as_single_files(tmp_path):
    make(tmp_path, {"nki/double.py": KERNEL.format(imports="FACTOR = 2.0"), "nki/__init__.py": ""})
    done = run(tmp_path, "check", "nki/double.py", "--arg", "x=float32[128,64]")
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_package_in_a_folder_of_its_name(tmp_path):
    make(tmp_path, {"made/made/ops/double.py": KERNEL.format(imports="from ..sizes import FACTOR"),
                    "made/made/sizes.py": "FACTOR = 2.0", "made/made/__init__.py": "", "made/made/ops/__init__.py": ""})
    done = run(tmp_path, "check", "made/made/ops/double.py", "--arg", "x=float32[128,64]")
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_failing_import_tells_its_line(tmp_path):
    make(tmp_path, {"made/double.py": KERNEL.format(imports="from .lost import FACTOR"), "made/__init__.py": ""})
    done = run(tmp_path, "check", "made/double.py", "--arg", "x=float32[128,64]")
    assert done.returncode == 1 and "nki.R72" in done.stderr and "made.lost" in done.stderr
    assert "double.py:4" in done.stderr
