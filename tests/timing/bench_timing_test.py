"""bench/timing on the rows it ships with: every row is predicted, the answer does not change, bars that hold stay."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path.insert(0, str(ROOT / "bench"))

import timing_examples  # noqa: E402


def run(path):
    command = [sys.executable, str(ROOT / "bench" / "timing.py"), "--build", str(BUILD), "--json", str(path),
               "--rows-only"]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(path.read_text())


def test_rows_and_bars(tmp_path):
    first, second = run(tmp_path / "a.json"), run(tmp_path / "b.json")
    assert len(first["rows"]) > 100
    for a, b in zip(first["rows"], second["rows"]):
        assert "problem" not in a, a["id"]
        assert a["predicted_ns"] == b["predicted_ns"], a["id"]
        assert a["source"]
    figures = {f["name"].split(" (")[0]: f for f in first["bars"]}
    for name in (
        "trn2 instructions, median",
        "trn2 instructions, 95th percentile",
        "trn2 fixed DMA latencies, median",
        "trn2 kernels bound by the tensor engine, median",
        "trn2 kernels bound by DMA, median",
        "trn1 kernels, median",
        "trn3 rows, median",
        "class A kernels, mean",
        "class A kernels, worst, without old and spilling ones",
        "trn2 small kernel bodies, median",
        "Kendall tau, mean",
        "bottleneck right",
        "measurement inside the band",
    ):
        assert figures[name]["met"], figures[name]


def test_every_example_is_timed():
    in_cpp = {path.name.removesuffix("_main.cpp") for path in (ROOT / "examples" / "cpp").glob("*_main.cpp")}
    assert in_cpp == timing_examples.LARGE.keys()
    seconds = timing_examples.example_seconds(BUILD)
    assert in_cpp < seconds.keys() and all(value >= 0 for value in seconds.values())
    calls = {name.removesuffix(".py") for name in seconds if name.endswith(".py")}
    for script in (ROOT / "examples" / "nki").glob("*.py"):
        if "def main()" in script.read_text():
            assert any(f"def {name}(" in script.read_text() for name in calls), script


def test_a_missing_build_is_told_of(tmp_path):
    command = [sys.executable, str(ROOT / "bench" / "timing.py"), "--build", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode != 0
    assert "timing_rows" in result.stderr
