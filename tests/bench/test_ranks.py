"""bench/ranks works, and reports every program that does not fit together. How fast it is is no question for a test."""

import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
SEED = int(os.environ["KILN_SEED"])


def test_quick_run_writes_every_figure(tmp_path):
    output = tmp_path / "ranks.json"
    print(f"KILN_SEED={SEED}")
    subprocess.run([sys.executable, SOURCE / "bench" / "ranks.py", "--quick", "--build", BUILD, "--output", output,
                    "--seed", str(SEED)], check=True)
    figures = {figure["name"]: figure for figure in json.loads(output.read_text())}
    assert {"all_reduce", "together.mlp", "together.layers", "together.steps", "growth", "mismatches"} <= set(figures)
    assert figures["mismatches"]["value"] == 0, f"KILN_SEED={SEED}"
    assert os.listdir(tmp_path) == ["ranks.json"]
