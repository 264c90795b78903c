"""The trace opens in the Perfetto UI: its engine finds nothing wrong with it and holds every slice, flow and counter,
and the tracks are on the page. A screenshot stays in the build folder under tests/views/screenshots."""

import json
import os
import pathlib
import subprocess

import pytest

from perfetto_ui import PerfettoUi

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ui")
    seed = int(os.environ["KILN_SEED"]) % 2**31
    print(f"seed {seed}")
    subprocess.run([BUILD / "tests" / "views" / "write_views", "2000", str(seed), folder], check=True)
    ui = PerfettoUi(folder, folder / "made.perfetto-trace")
    yield ui, json.loads((folder / "expected.json").read_text())
    ui.close()


def test_the_engine_has_no_complaints(shown):
    ui, _ = shown
    assert ui.query("select name, value from stats where severity != 'info' and value > 0") == []
    assert not [entry for entry in ui.console if entry[0] == "exception"]


def test_slices_are_the_events(shown):
    ui, expected = shown
    rows = ui.query("select ts, dur, name, extract_arg(arg_set_id, 'source.line_number') from slice order by ts, name")

    def ns(ps):
        return (ps + 500) // 1000

    first = min(r[0] for r in rows)  # a clock of the UI's own may stand before the times
    made = sorted((ns(e["start_ps"]), e["name"], ns(e["start_ps"] + e["occupied_ps"]) - ns(e["start_ps"]), e["line"])
                  for e in expected["events"])
    assert sorted((ts - first + made[0][0], name, dur, line) for ts, dur, name, line in rows) == made


def test_flows_and_counters(shown):
    ui, expected = shown
    waits = [e for e in expected["events"] if e["because"] >= 0 and e["wait"] != "engine"]
    assert ui.query("select count(*) from flow") == [[len(waits)]]
    counters = dict(ui.query(
        "select t.name, count(*) from counter c join counter_track t on c.track_id = t.id group by 1"))
    assert set(counters) == {"SBUF", "PSUM", "HBM"}
    assert counters["SBUF"] == counters["PSUM"] == len(expected["memory"])


def test_tracks_are_on_the_page(shown):
    ui, expected = shown
    text = ui.evaluate("document.body.innerText")
    for name in {e["lane"] for e in expected["events"]} | {"SBUF", "PSUM", "HBM"}:
        assert name in text.splitlines(), name
    folder = BUILD / "tests" / "views" / "screenshots"
    folder.mkdir(exist_ok=True)
    ui.screenshot(folder / "perfetto-ui.png")
