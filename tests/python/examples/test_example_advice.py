"""An advice has one gain: kiln.time, `kiln time` on the same kernel in Python, and on its program as text."""

import json
import pathlib
import subprocess
import sys

import pytest

import kiln
from kiln import _kiln
from kiln.__main__ import main
from kiln.commands import kernel_file
from kiln.commands.options import Options

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


def the_call(words):
    """The one that a command line means."""
    options = Options(_kiln.cli(words))
    with kernel_file.opened(options.files[0], options.kernel) as file:
        [call], _ = file.calls(options, {})
    return call


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_road_gives_the_same_gains(monkeypatch, tmp_path, capfd, with_advice, name):
    path, calls = FOLDER / f"{name}.py", tmp_path / "calls.json"
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    monkeypatch.setenv("KILN_RECORD", str(calls))
    subprocess.run([sys.executable, "-m", "kiln", "run", path], check=True, capture_output=True)
    monkeypatch.delenv("KILN_RECORD")
    recorded = json.loads(calls.read_text())
    for kernel in dict.fromkeys(call["kernel"] for call in recorded["calls"]):
        first = next(call for call in recorded["calls"] if call["kernel"] == kernel)
        calls.write_text(json.dumps({**recorded, "calls": [first]}))
        words = ["time", str(path), "--kernel", kernel, "--record", str(calls), "--json"]
        call = the_call(words)
        program = kiln.program(call.kernel, *call.args, **call.kwargs)
        programs = program if isinstance(program, tuple) else (program,)
        if any(p.device_loops for p in programs):
            continue  # how often its loops run is not known from shapes
        files = [str(tmp_path / f"{kernel}{i}.kiln") for i in range(len(programs))]
        program.save(*files)
        roads = [lambda: main(words), lambda: main(["time", *files, "--json"]),
                 lambda: main(["time", *files, "--json", "--html", str(tmp_path / "page.html")])]
        expected = kiln.time(call.kernel)(*call.args, **call.kwargs).as_dict()
        for road in roads:
            report = report_of(road, capfd)
            assert (report["total_ns"], advice_of(report)) == (expected["total_ns"], advice_of(expected))
        if expected["advice"]:
            with_advice.add(name)
