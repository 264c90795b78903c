"""An advice has one gain: kiln.time, `kiln time` on the same kernel in Python, and on its program as text."""

import json
import pathlib
import subprocess
import sys

import pytest

import kiln
from kiln import _kiln
from kiln._trace import record
from kiln.commands import kernel_file
from kiln.commands import time as time_command

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples" / "nki"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "tiles")


@pytest.fixture(scope="module")
def with_advice():
    """Scripts one of whose kernels got an advice."""
    found = set()
    yield found
    assert len(found) > len(SCRIPTS) // 2


def advice_of(report):
    return [(a["rule"], a["gain_ns"]) for a in report["advice"]]


def report_of(run, capfd):
    """What a command printed."""
    capfd.readouterr()
    assert run() == 0
    return json.loads(capfd.readouterr().out)["reports"][0]


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_road_gives_the_same_gains(monkeypatch, tmp_path, capfd, with_advice, name):
    path, calls = FOLDER / f"{name}.py", tmp_path / "calls.json"
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    monkeypatch.setenv("KILN_RECORD", str(calls))
    subprocess.run([sys.executable, "-m", "kiln", "run", path], check=True, capture_output=True)
    monkeypatch.delenv("KILN_RECORD")
    options = time_command._parser().parse_args([str(path), "--record", str(calls)])
    first = {call.kernel.func.__name__: call for call in reversed(kernel_file.calls(str(path), options)[0])}
    assert set(first) <= {c["kernel"] for c in record.read(calls)}
    for kernel, call in first.items():
        program = kiln.program(call.kernel, *call.args, **call.kwargs)
        programs = program if isinstance(program, tuple) else (program,)
        if any(p.device_loops for p in programs):
            continue  # how often its loops run is not known from shapes
        files = [str(tmp_path / f"{kernel}{i}.kiln") for i in range(len(programs))]
        program.save(*files)
        roads = [lambda: time_command._time(call, ["--json"]), lambda: _kiln.cli(["time", *files, "--json"], {}, 0),
                 lambda: _kiln.cli(["time", *files, "--json", "--html", str(tmp_path / "page.html")], {}, 0)]
        expected = kiln.time(call.kernel)(*call.args, **call.kwargs).as_dict()
        for road in roads:
            report = report_of(road, capfd)
            assert (report["total_ns"], advice_of(report)) == (expected["total_ns"], advice_of(expected))
        if expected["advice"]:
            with_advice.add(name)
