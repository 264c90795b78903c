"""Python that lies in the current folder is not executed by `kiln`, whatever it is called; that beside a kernel only
when the kernel imports it."""

import os
import pathlib
import subprocess
import sys

import pytest

NATIVE = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli" / "kiln"

KERNEL = """
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl
import nki.typing as nt


@nki.jit
def copy(x: nt.tensor[4, 8]):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.dma_copy(out, t)
    return out


if __name__ == "__main__":
    print(copy(np.ones((4, 8), np.float32)).sum())
"""
BROKEN = KERNEL.replace("dma_copy(out, t)", "dma_copy(out, t[0:2])")

# Everything that a start of Python, the package or NumPy may want, and names that an interpreter looks for by itself.
NAMES = sorted({*sys.stdlib_module_names, "kiln", "ml_dtypes", "nki", "numpy", "sitecustomize", "usercustomize"})
COMMANDS = [["check", "{kernel}"], ["check", "{kernel}", "--json"], ["check", "{kernel}", "--target", "all"],
            ["check", "{kernel}", "--record", "{calls}"], ["time", "{kernel}"], ["time", "{kernel}", "--target", "all"],
            ["time", "{kernel}", "--compare", "{kernel}"], ["run", "{kernel}"], ["{kernel}"],
            ["explain", "language.R1"], ["explain", "nki.R16"], ["check", "{broken}"], ["time", "{broken}"]]


def lay_traps(folder, but=()):
    for name in set(NAMES) - set(but):
        (folder / f"{name}.py").write_text(f"open({str(folder / 'executed')!r}, 'a').write('{name}\\n')\n")


@pytest.fixture
def kernels(tmp_path):
    """A folder with a legal kernel, an illegal one and a file of calls."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "copy_kernel.py").write_text(KERNEL)
    (folder / "broken_kernel.py").write_text(BROKEN)
    done = run([sys.executable, "-m", "kiln"], ["run", folder / "copy_kernel.py"], tmp_path,
               KILN_RECORD=str(folder / "calls.json"))
    assert done.returncode == 0, done.stderr
    return folder


def run(command, words, folder, **environment):
    return subprocess.run([*map(str, command), *map(str, words)], cwd=folder, capture_output=True, text=True,
                          timeout=120, env={**os.environ, "KILN_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1",
                               **environment})


def words_of(command, kernels):
    names = {"kernel": kernels / "copy_kernel.py", "broken": kernels / "broken_kernel.py",
             "calls": kernels / "calls.json"}
    return [word.format(**names) for word in command]


def executed(folder):
    trap = folder / "executed"
    return trap.read_text().split() if trap.exists() else []


@pytest.mark.parametrize("path", [None, "{package}:", ":{package}", "{package}::"])
@pytest.mark.parametrize("words", [["check", "{kernel}"], ["explain", "language.R1"]])
def test_an_empty_part_of_the_search_path_is_not_the_current_folder(tmp_path, kernels, words, path):
    here = tmp_path / "here"
    here.mkdir()
    lay_traps(here)
    package = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "python"
    environment = {} if path is None else {"PYTHONPATH": path.format(package=package)}
    done = run([NATIVE], words_of(words, kernels), here, **environment)
    assert executed(here) == [] and done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_of_the_current_folder_is_executed(tmp_path, kernels, words):
    here = tmp_path / "here"
    here.mkdir()
    lay_traps(here)
    done = run([NATIVE], words_of(words, kernels), here)
    assert executed(here) == []
    assert done.returncode == int("{broken}" in words), done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_beside_the_kernel_is_executed_that_it_does_not_import(kernels, words):
    lay_traps(kernels)
    done = run([NATIVE], words_of(words, kernels), kernels)
    assert executed(kernels) == []
    assert done.returncode == int("{broken}" in words), done.stderr


def wanted_by_python_m():
    """What `python -m` itself imports, before any code of the package."""
    done = run([sys.executable, "-I", "-c"], ["import runpy, pkgutil, sys; print(*sys.modules)"], pathlib.Path.cwd())
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("command", ["check", "time", "run"])
def test_python_m_takes_nothing_from_the_current_folder_but_a_package_of_this_name(tmp_path, kernels, command):
    here = tmp_path / "here"
    here.mkdir()
    lay_traps(here, but={"kiln", *wanted_by_python_m()})
    done = run([sys.executable, "-m", "kiln"], [command, kernels / "copy_kernel.py"], here)
    assert executed(here) == [] and done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["check", "time", "run"])
def test_a_kernel_imports_what_lies_beside_it(kernels, command):
    (kernels / "sizes.py").write_text("ROWS = 4\n")
    (kernels / "copy_kernel.py").write_text("import sizes\n" + KERNEL.replace("tensor[4,", "tensor[sizes.ROWS,"))
    done = run([NATIVE], [command, kernels / "copy_kernel.py"], kernels.parent)
    assert done.returncode == 0, done.stderr


def test_a_module_is_found_from_the_current_folder_when_it_is_asked_for(kernels):
    done = run([NATIVE], ["run", "-m", "copy_kernel"], kernels)
    assert (done.returncode, done.stdout) == (0, "32.0\n"), done.stderr
