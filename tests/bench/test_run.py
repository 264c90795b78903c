"""bench/run works and its figures have the promised form. How fast things are is not a question for a test."""

import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])


def test_quick_run_writes_every_figure(tmp_path):
    output = tmp_path / "bench.json"
    command = [sys.executable, SOURCE / "bench" / "run.py", "--quick", "--build", BUILD, "--output", output]
    subprocess.run(command, check=True)
    figures = json.loads(output.read_text())
    names = [figure["name"] for figure in figures]
    assert len(set(names)) == len(names)
    assert {"gemm_f32", "softmax", "small_instructions"} <= set(names)
    if any((BUILD / "python" / "kiln").glob("_kiln*")):
        assert {"python_import", "python_small_instructions", "python_matmul", "python_attention"} <= set(names)
    for figure in figures:
        assert set(figure) == {"name", "value", "limit", "unit"}
        assert figure["value"] > 0 and figure["limit"] > 0
        assert figure["unit"] in ("ratio", "gain", "instructions/s", "s")
    assert os.listdir(tmp_path) == ["bench.json"]


def test_a_name_that_is_none_is_refused():
    command = [sys.executable, SOURCE / "bench" / "run.py", "--build", BUILD, "--only", "softmax", "no_such_program"]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 2 and not told.stdout
    assert "there is no no_such_program; programs are gemm_f32" in told.stderr
