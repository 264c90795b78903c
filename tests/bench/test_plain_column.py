"""The plain column of bench/timing: sources in a folder are found, timed and compared; what cannot be, says why."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path.insert(0, str(ROOT / "bench" / "plain"))

import column  # noqa: E402

TEXT = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def double(a):
    WIDTH = 256
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(a.shape[1] // WIDTH):
        x = nl.load(a[:, nl.ds(i * WIDTH, WIDTH)])
        nl.store(out[:, nl.ds(i * WIDTH, WIDTH)], value=x + x)
    return out
"""
ROW = {"id": "MADE-1", "target": "trn2", "trust": "A", "use": "check", "metric": "benchmark", "measured_ns": "20000",
       "bottleneck": "", "family": "", "repository": "someone/something", "commit": "HEAD", "path": "k.py", "pick": "",
       "function": "double", "arguments": "float32[128,1024]", "set": "", "flags": ""}


def metric(name, part):
    return part[f"{name}_ns"]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "someone+something"
    place.mkdir()
    (place / "k.py").write_text(TEXT)
    return tmp_path


def results(folder, *rows):
    return column.compared(rows, column.answers(str(folder), BUILD, rows, {}, 1), metric)


def test_a_source_is_timed(folder):
    narrow, wide = results(folder, ROW, ROW | {"id": "MADE-2", "set": "WIDTH=1024"})
    assert narrow["exact"] and narrow["api"] == "old" and not narrow["spilled"]
    assert wide["total_ns"] != narrow["total_ns"] < narrow["predicted_ns"]
    assert wide["part"]["instructions"] == 3
    assert narrow["error"] == pytest.approx(narrow["predicted_ns"] / 20000 - 1)
    assert narrow["part"]["instructions"] == 12


def test_a_git_directory_serves_as_well(folder):
    place = folder / "someone+something"
    git = ["git", "-C", str(place), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "k.py"], ["commit", "-q", "-m", "kernel"]):
        subprocess.run([*git, *command], check=True)
    (place / "k.py").unlink()
    assert "error" in results(folder, ROW)[0]


def test_what_is_missing_says_so(folder):
    no_file, no_function = results(folder, ROW | {"path": "other.py"}, ROW | {"id": "MADE-2", "function": "triple"})
    assert "other.py is not in the folder" in no_file["problem"]
    assert "triple" in no_function["problem"]


def test_rows_of_the_table_have_a_measurement():
    import csv

    with open(ROOT / "bench" / "timing_rows.csv", newline="") as file:
        rows = column.source_rows(list(csv.DictReader(file)))
    assert len(rows) > 100
    assert all(float(r["measured_ns"]) > 0 and len(r["commit"]) == 40 for r in rows)
