"""`kiln explain` shows a wrong and a right example for every code, and each of them is what it says."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import kiln
import run_examples
from kiln import _kiln, lint
from kiln.__main__ import main
from kiln._trace import rules
from kiln.numpy import _rules as numpy_rules

SOURCES, BUILD = (pathlib.Path(os.environ[name]) for name in ("KILN_SOURCE_DIR", "KILN_BUILD_DIR"))
FILES = pathlib.Path(__file__).parent / "files"
EXAMPLES = _kiln.rule_examples()
IN_CPP = [code for code, form, *_ in EXAMPLES if form == "c++"]
# Codes without an example. docs/status.md names them, and the list may only become shorter.
WITHOUT = {"internal", "nki.R0", "mpi.R2", "mpi.R3"}
NEEDS_PYTHON = {"language.R42": (3, 12)}  # syntax that older ones do not have


def codes():
    done = subprocess.run([sys.executable, "-m", "kiln", "explain", "--json"], capture_output=True, check=True)
    native = [rule["code"] for rule in json.loads(done.stdout)]
    return [*native, *{rule.label for rule in (*lint.RULES, *rules.RULES, *numpy_rules.RULES)}, *_kiln.rules()]


def test_every_code_has_one_example():
    listed = [code for code, *_ in EXAMPLES]
    assert len(listed) == len(set(listed))
    assert set(listed) | WITHOUT == set(codes()), "a new rule needs an example in cli/rule_examples"
    assert not set(listed) & WITHOUT, "it has an example now: take it off the list"


def test_codes_without_an_example_are_few_and_told():
    assert len(WITHOUT) <= 4
    status = (SOURCES / "docs" / "status.md").read_text()
    assert [code for code in sorted(WITHOUT) if f"`{code}`" not in status] == []


def test_an_example_stands_in_the_file_of_its_table():
    for path in (SOURCES / "cli" / "rule_examples").glob("*.txt"):
        heads = re.findall(r"^== (\S+)", path.read_text(), re.M)
        assert heads and {code.partition(".")[0] for code in heads} == {path.stem}


@pytest.fixture
def folders(tmp_path):
    """Two folders with what the commands of examples take."""
    made = []
    for name in ("wrong", "right"):
        folder = tmp_path / name
        shutil.copytree(SOURCES / "tests" / "cli" / "programs", folder)
        shutil.copytree(FILES, folder, dirs_exist_ok=True)
        for array in ("x", "y"):
            np.save(folder / f"{array}.npy", np.ones((4, 8), np.float32))
        made.append(folder)
    return made


@pytest.fixture(autouse=True)
def active(monkeypatch):
    monkeypatch.setenv("PATH", f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(variable, "1")
    kiln.activate(force=True)
    yield
    kiln.deactivate()


@functools.cache
def starts_processes():
    return shutil.which("mpirun") and not subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "true"],
                                                         capture_output=True, timeout=120).returncode


RUN_HERE = [example for example in EXAMPLES if example[1] != "c++"]


@pytest.mark.parametrize("code, form, wrong, right, also", RUN_HERE, ids=[code for code, *_ in RUN_HERE])
def test_wrong_breaks_the_rule_and_right_keeps_all(code, form, wrong, right, also, folders):
    if sys.version_info < NEEDS_PYTHON.get(code, ()):
        pytest.skip(f"{code} is about syntax of a later Python")
    if "mpirun" in wrong and not starts_processes():
        pytest.skip("mpirun is not installed (openmpi-bin), or does not start processes here")
    assert wrong != right
    found = run_examples.both(code, form, wrong, right, folders)
    assert found == ({code, *also}, set())


def test_examples_in_cpp_are_run_by_their_own_test():
    done = subprocess.run([BUILD / "tests" / "explain" / "cpp_examples_test", "--gtest_list_tests"],
                          capture_output=True, text=True, check=True)
    assert {line.strip() for line in done.stdout.splitlines()[1:] if line.startswith(" ")} == {
        code.replace(".", "_") for code in IN_CPP}


@pytest.mark.parametrize("code", ["nc_matmul.R3", "language.R10", "nki.R16", "cli.R7", "text.R5", "numpy.R2"])
def test_explain_shows_both(code, capfd):
    assert main(["explain", code]) == 0
    shown = capfd.readouterr().out
    _, _, wrong, right, also = next(example for example in EXAMPLES if example[0] == code)
    head = f"  wrong{', which breaks ' + ' and '.join(also) + ' too' if also else ''}:\n"
    assert shown.count(head) == 1 and shown.count("  right:\n") == 1
    before, _, after = shown.partition(head)[2].partition("  right:\n")
    for text, part in ((wrong, before), (right, after)):
        assert [line[4:] for line in part.splitlines()] == text.splitlines()


def test_explain_json_has_both():
    done = subprocess.run(["kiln", "explain", "nc_matmul.R3", "--json"], capture_output=True, check=True)
    example = json.loads(done.stdout)["example"]
    assert (example["form"], example["also"]) == ("kernel", ["nc_matmul.R9"])
    assert "nisa.nc_matmul(" in example["wrong"] and example["wrong"] != example["right"]
