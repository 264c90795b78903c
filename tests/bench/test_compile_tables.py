"""The tables of bench/compile come out, and what they compare is the same function."""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])


def table(script, *options):
    command = [sys.executable, SOURCE / "bench" / script, "--build", BUILD, *options]
    environment = {k: v for k, v in os.environ.items() if k != "KILN_SOURCES"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kernels_by_hand(tmp_path):
    text = table("compile_kernels.py", "--only", "300,1000", "--json", tmp_path / "figures.json")
    assert re.search(r"^softmax \(300,1000\) +examples/nki +[\d.]+ +[\d.]+ +[\d.]+$", text, re.M), text
    assert "geometric mean" in text and (tmp_path / "figures.json").exists()


def test_simulated_beside_numpy():
    assert "geometric mean" in table("compile_numpy.py", "--rounds", "1")


def test_programs_as_written(tmp_path):
    rows = tmp_path / "rows.json"
    text = table("written/run.py", "outer update", "--values", "--json", rows)
    assert re.search(r"^ +[\d.]+ .*  outer update 2048 bfloat16$", text, re.M), text
    text = table("written/run.py", "outer update", "--before", rows)
    assert re.search(r" 1\.000  outer update 2048 float32$", text, re.M), text
