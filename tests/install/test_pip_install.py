"""`pip install .` into a fresh environment, and a kernel run from there.

The environment sees the packages of .venv, so nothing is fetched; objects come from ccache when the build made them."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
WHEEL = BUILD.parent / f"{BUILD.name}-wheel"  # beside the build: ccache compares paths relative to it
# The name that the build calls the compiler by: ccache takes another name for another compiler.
CACHE = (BUILD / "CMakeCache.txt").read_text()
COMPILER = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", CACHE, re.M)[1]

KERNEL = '''
import sys

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, 2.0)
    nisa.dma_copy(out, t)
    return out


x = np.arange(8, dtype=np.float32).reshape(2, 4)
np.testing.assert_array_equal(double(x), 2 * x)
print(sys.argv[1:], nki.__file__)
'''


def run(*words, **more):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["CXX"] = COMPILER
    done = subprocess.run([str(w) for w in words], env=environment, text=True, capture_output=True, timeout=800, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A new environment with kiln installed in it."""
    folder = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    packages = [folder for folder in sys.path if folder.endswith("-packages")]  # without the kiln of the build
    (pathlib.Path(site) / "packages_of_the_tests.pth").write_text("\n".join(packages) + "\n")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "-C", f"build-dir={WHEEL}", SOURCE)
    return folder


def test_only_the_package_is_installed(fresh):
    files = run(fresh / "bin" / "python", "-m", "pip", "show", "--files", "kiln").split("Files:")[1].split()
    assert any(f.startswith("kiln/_kiln.") for f in files) and "kiln/py.typed" in files
    foreign = [f for f in files if not f.startswith(("kiln/", "kiln-", "../../../bin/kiln"))]
    assert foreign == []


def test_a_kernel_runs_from_there(fresh, tmp_path):
    (tmp_path / "double.py").write_text(KERNEL)
    for command in ([fresh / "bin" / "kiln", "run"], [fresh / "bin" / "python", "-m", "kiln"]):
        printed = run(*command, "double.py", "--times", "3", cwd=tmp_path)
        assert printed.startswith("['--times', '3']") and str(fresh) in printed


def test_the_command_knows_text_programs(fresh):
    assert "nc_matmul" in run(fresh / "bin" / "kiln", "isa", "nc_matmul")


def test_pytest_leaves_nki_alone_unless_asked(fresh, tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import importlib.util\n\n\ndef test_it():\n    assert importlib.util.find_spec('nki') is None\n")
    run(fresh / "bin" / "python", "-m", "pytest", "-q", "test_it.py", cwd=tmp_path)
    (tmp_path / "test_it.py").write_text("import nki\n\n\ndef test_it():\n    assert nki.__name__ == 'kiln.nki'\n")
    run(fresh / "bin" / "python", "-m", "pytest", "-q", "-p", "kiln", "test_it.py", cwd=tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nkiln_activate = true\n")
    run(fresh / "bin" / "python", "-m", "pytest", "-q", "test_it.py", cwd=tmp_path)
