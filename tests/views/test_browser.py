"""The page in a real browser: it loads without a word on the console and without the network, zooms, moves, and tells
what is under the mouse. Screenshots stay in the build folder under tests/views/screenshots."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys

import pytest

from browser import Browser

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))

import rank_sum  # noqa: E402

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
SCREENSHOTS = BUILD / "tests" / "views" / "screenshots"


class Shown:
    def __init__(self, folder, events):
        seed = 2026  # another one may hide an event below its neighbour
        print(f"seed {seed}")
        subprocess.run([BUILD / "tests" / "views" / "write_views", str(events), str(seed), folder], check=True)
        self.expected = json.loads((folder / "expected.json").read_text())
        self.browser = Browser(folder)
        self.seconds = self.browser.open(folder / "made.html")
        self.frame()

    def __getattr__(self, name):
        return getattr(self.browser, name)

    def view(self):
        self.frame()
        return self.evaluate("timeline.view")

    def canvas(self):
        return self.evaluate("(({left, top}) => [left, top])(timeline.canvas.getBoundingClientRect())")

    def middle_of(self, event):
        """Where the middle of an event is drawn, in the window."""
        ns = (event["start_ps"] + event["occupied_ps"] / 2) / 1000
        found = self.evaluate(
            f"""(() => {{
              for (const place of timeline.places) {{
                if (place.track.name !== {json.dumps(event["lane"])}) continue;
                const index = place.row.at({ns}, 0);
                if (index >= 0 && Math.abs(place.row.start[index] - {event["start_ps"] / 1000}) < 1e-6)
                  return [timeline.x({ns}), place.y + ROW / 2];
              }}
            }})()""")
        assert found, event
        left, top = self.canvas()
        return left + found[0], top + found[1]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    shown = Shown(tmp_path_factory.mktemp("page"), 2000)
    yield shown
    shown.close()


@pytest.fixture(autouse=True)
def start_over(page):
    page.evaluate("chooseSlice(null); timeline.showAll(); timeline.onlyCritical = false; window.scrollTo(0, 0)")


def wheel(page, x, y, delta):
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta)


def test_loads_without_a_word_and_without_the_network(page):
    assert page.console == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []


def test_shows_the_answers(page):
    text = page.evaluate("document.body.innerText")
    for words in ["made </script> on trn2", "bottleneck:", 'program "made </script>" target trn2', "Roofline", "Advice",
                  "kernels that were made up"]:
        assert words in text, words
    assert page.evaluate("document.querySelectorAll('#engines tr').length") == 1 + 4  # a heading, three engines, DMA
    assert page.evaluate("document.querySelectorAll('tr.timed').length") == 5
    assert page.evaluate("document.getElementById('roofline').childElementCount") == 1


def test_every_slice_is_there(page):
    count = "timeline.tracks.flatMap((t) => t.rows).reduce((n, row) => n + row.count, 0)"
    assert page.evaluate(count) == len(page.expected["events"])
    assert page.view() == [0, page.expected["total_ps"] / 1000]
    assert page.evaluate("timeline.drawnSlices") > 100


def test_wheel_zooms_around_the_mouse(page):
    left, top = page.canvas()
    x, y = left + 700, top + 60
    before = page.evaluate(f"timeline.ns({x - left})")
    width = page.view()[1]
    wheel(page, x, y, -400)
    view = page.view()
    assert 0 < view[1] - view[0] < 0.7 * width
    assert page.evaluate(f"timeline.ns({x - left})") == pytest.approx(before, rel=1e-9)
    wheel(page, x, y, 4000)
    assert page.view() == [0, width]


def test_zoom_ends_at_half_a_nanosecond(page):
    left, top = page.canvas()
    for _ in range(40):
        wheel(page, left + 600, top + 60, -900)
    view = page.view()
    assert view[1] - view[0] == pytest.approx(0.5)


def test_dragging_moves_and_double_click_shows_all(page):
    left, top = page.canvas()
    page.evaluate("timeline.setView(1000, 2000)")
    page.mouse("mouseMoved", left + 600, top + 60)
    page.mouse("mousePressed", left + 600, top + 60, button="left", clickCount=1)
    page.mouse("mouseMoved", left + 500, top + 60, button="left", buttons=1)
    page.mouse("mouseReleased", left + 500, top + 60, button="left", clickCount=1)
    shift = 100 / (page.evaluate("timeline.width") - 150) * 1000
    assert page.view() == pytest.approx([1000 + shift, 2000 + shift])
    for clicks in [1, 2]:
        page.mouse("mousePressed", left + 500, top + 60, button="left", clickCount=clicks)
        page.mouse("mouseReleased", left + 500, top + 60, button="left", clickCount=clicks)
    assert page.view()[0] == 0


def test_keys(page):
    page.evaluate("timeline.canvas.focus()")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="+", text="+")
    view = page.view()
    assert view[1] - view[0] == pytest.approx(0.7 * page.expected["total_ps"] / 1000)
    page.send("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert page.view()[0] > view[0]
    page.send("Input.dispatchKeyEvent", type="keyDown", key="Home")
    assert page.view()[0] == 0


def test_hover_tells_instruction_line_and_wait(page):
    waits = [e for e in page.expected["events"] if e["because"] >= 0 and e["occupied_ps"] > 1000]
    for event in random.sample(waits, 8):
        start, duration = event["start_ps"] / 1000, event["occupied_ps"] / 1000
        page.evaluate(f"timeline.setView({start - duration}, {start + 2 * duration})")
        page.frame()
        page.mouse("mouseMoved", *page.middle_of(event))
        text = page.evaluate("document.getElementById('tooltip').innerText")
        assert text.startswith(f"{event['name']} on {event['lane']}, made.kiln:{event['line']}"), text
        assert f"{event['name']}(" in text
        other = page.expected["events"][event["because"]]
        before = f"{other['name']} on {other['lane']}, made.kiln:{other['line']},"
        assert re.search(rf"waited \S+ .?s for [a-zA-Z' ]+: {before}", text), text
    page.mouse("mouseMoved", 5, 5)
    assert page.evaluate("document.getElementById('tooltip').hidden")


def test_click_brings_out_the_line(page):
    event = next(e for e in page.expected["events"] if e["occupied_ps"] > 1000)
    page.click(*page.middle_of(event))
    chosen = page.evaluate("[...timeline.chosen].map((i) => picture.labels[i].line)")
    assert chosen == [event["line"]]
    assert page.evaluate("document.querySelectorAll('tr.chosen').length") == 1
    assert page.evaluate("window.scrollY") == 0, "the timeline stays in sight"
    left, top = page.canvas()
    page.click(left + 300, top + 5)  # the axis: no slice
    assert page.evaluate("timeline.chosen === null && !document.querySelector('tr.chosen')")


def chain_of(page, event):
    """Of an event: itself, what let it start, what let that start and so on."""
    chain = [event]
    while chain[-1]["because"] >= 0:
        chain.append(page.expected["events"][chain[-1]["because"]])
    return chain


def test_click_shows_the_chain_back_to_the_start(page):
    event = max(page.expected["events"], key=lambda e: (len(chain_of(page, e)), e["occupied_ps"]))
    chain = chain_of(page, event)
    assert len(chain) > 5
    start, duration = event["start_ps"] / 1000, event["occupied_ps"] / 1000
    page.evaluate(f"timeline.setView({start - duration}, {start + 2 * duration})")
    page.click(*page.middle_of(event))
    shown = page.evaluate("timeline.chain.map(({place, from, to}) => [place.track.name, from, to])")
    assert [(lane, start) for lane, start, _ in shown] == [(e["lane"], e["start_ps"] / 1000) for e in chain]
    ends = [start + duration, *(start for _, start, _ in shown)]
    assert [to for _, _, to in shown] == pytest.approx(ends[:-1]), "each lasts until the next one starts"
    names = page.evaluate("[...document.querySelectorAll('#chain tr td:nth-child(3)')].map((cell) => cell.innerText)")
    counts = [int(name.partition(" × ")[2] or 1) for name in names]
    assert sum(counts) == len(chain), "equal ones in a row share a line"
    page.evaluate("timeline.showAll()")
    page.frame()
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(SCREENSHOTS / "chain.png")
    page.evaluate("document.querySelector('#chain button').click()")
    assert page.evaluate("byId('chain').hidden && timeline.chain.length === 0 && !document.querySelector('tr.chosen')")


def test_a_step_of_the_chain_leads_to_its_line(page):
    listed = page.evaluate("MAX_STEPS")
    whole = [e for e in page.expected["events"] if len(chain_of(page, e)) <= listed]  # whose chains are listed
    event = max(whole, key=lambda e: (len(chain_of(page, e)), e["occupied_ps"]))
    start, duration = event["start_ps"] / 1000, event["occupied_ps"] / 1000
    page.evaluate(f"timeline.setView({start - duration}, {start + 2 * duration})")
    page.click(*page.middle_of(event))
    first = chain_of(page, event)[-1]
    page.evaluate("[...document.querySelectorAll('#chain tr')].at(-1).click()")
    from_ns, to_ns = page.view()
    assert from_ns <= first["start_ps"] / 1000 <= to_ns
    assert page.evaluate("document.querySelector('tr.chosen td').innerText") == str(first["line"])
    assert page.evaluate("timeline.chain.length > 5"), "the chain stays"


def test_every_lane_is_explained(page):
    for names, about in page.evaluate("[...document.querySelectorAll('#lanes dt')].map("
                                      "(dt) => [dt.textContent, dt.nextSibling.textContent])"):
        assert names and len(about) > 20
    lanes = page.evaluate("[...timeline.tracks, ...picture.curves].map(({name, about}) => [name, about])")
    assert {lane["lane"] for lane in page.expected["events"]} | {"SBUF", "PSUM", "HBM"} == {name for name, _ in lanes}
    assert all(about for _, about in lanes)
    left, top = page.canvas()
    y = page.evaluate("timeline.tracks[0].y + ROW / 2")
    page.mouse("mouseMoved", left + 20, top + y)
    assert page.evaluate("byId('tooltip').innerText") == "\n".join(lanes[0])


TIME = re.compile(r"([\d.]+)(?: (ns|us|ms|s))?\b")
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, None: 1}


def test_every_bar_is_its_share_of_the_whole_time(page):
    page.click(*page.middle_of(page.expected["events"][0]))  # with the list of a chain
    bars = page.evaluate("[...document.querySelectorAll('.meter')].map((meter) => [meter.innerText, "
                         "parseFloat(meter.querySelector('i').style.width), meter.closest('table').id])")
    total = page.expected["total_ps"] / 1000
    assert len(bars) > 15
    for text, width, table in bars:
        if table == "ceilings":
            assert width == pytest.approx(float(text.rstrip(" %")), abs=0.51), text
        elif text:
            value, unit = TIME.match(text).groups()
            share = 100 * float(value) * NS[unit] / total
            assert width == pytest.approx(min(100, share), rel=0.01, abs=0.01), text
    words = page.evaluate("[...document.querySelectorAll('.bars')].map((hint) => hint.innerText)")
    assert len(words) == 3 and all(w.startswith("A full bar is the kernel's whole time, ") for w in words)


def test_screenshots_of_light_and_dark(page):
    SCREENSHOTS.mkdir(exist_ok=True)
    for scheme in ["light", "dark"]:
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.evaluate("timeline.measure(); timeline.draw()")
        page.frame()
        page.screenshot(SCREENSHOTS / f"{scheme}.png")
        assert (SCREENSHOTS / f"{scheme}.png").stat().st_size > 20_000
    page.send("Emulation.setEmulatedMedia", features=[])


SCALES = {"": 1, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "%": 0.01, "B": 1, "KiB": 2**10, "MiB": 2**20,
          "GiB": 2**30, "flop": 1, "kflop": 1e3, "Mflop": 1e6, "Gflop": 1e9, "Tflop": 1e12, "flop/B": 1}
TIMES, SIZES, WORK = "ns us ms s", "B KiB MiB GiB", "flop kflop Mflop Gflop Tflop"
UNIT_OF = {"_time": TIMES, "_latency": TIMES, "_low": TIMES, "_high": TIMES, "_bytes": SIZES, "_flops": WORK,
           "_percent": "%", "_count": "", "_intensity": "flop/B", "_ratio": "flop/B"}


def test_figures_have_units_and_are_those_of_json(tmp_path):
    (tmp_path / "matmul.kiln").write_text(MATMUL)
    done = subprocess.run([BUILD / "cli" / "kiln", "time", "matmul.kiln", "--html", "matmul.html", "--json"],
                          cwd=tmp_path, check=True, capture_output=True)
    summary = json.loads(done.stdout)["reports"][0]["summary"]
    browser = Browser(tmp_path)
    try:
        browser.open(tmp_path / "matmul.html")
        rows = browser.evaluate("[...document.querySelectorAll('#figures tr')].slice(1).map("
                                "(row) => [...row.children].map((cell) => cell.innerText))")
    finally:
        browser.close()
    assert [key for _, _, key in rows] == list(summary)
    for label, text, key in rows:
        value, _, unit = text.partition(" ")
        assert label and (unit in UNIT_OF[key[key.rindex("_"):]].split(" ") or value == "0"), (label, text)
        assert float(value) * SCALES[unit] == pytest.approx(summary[key], rel=0.05, abs=0.0006 * SCALES[unit]), key


MATMUL = """kiln 1
program "matmul" target trn2
tensor x: input hbm bfloat16 [128, 512]
tensor w: input hbm bfloat16 [128, 128]
tensor y: output shared_hbm float32 [128, 512]
tensor a: sbuf bfloat16 [128, 512]
tensor b: sbuf bfloat16 [128, 128]
tensor p: psum float32 [128, 512]
tensor c: sbuf float32 [128, 512]
dma_copy(dst=a, src=x)
dma_copy(dst=b, src=w)
nc_matmul(dst=p, stationary=b, moving=a)
tensor_copy(dst=c, src=p)
dma_copy(dst=y, src=c)
"""

PROGRAMS = pathlib.Path(__file__).parent.parent / "cli" / "programs"


@pytest.mark.parametrize("names", [["add.kiln"], ["core0.kiln", "core1.kiln"], ["long.kiln"]], ids="+".join)
def test_pages_of_kernels(names, tmp_path):
    page, files = tmp_path / "page.html", [PROGRAMS / name for name in names]
    subprocess.run([BUILD / "cli" / "kiln", "time", *files, "--html", page], check=True, stdout=subprocess.DEVNULL)
    browser = Browser(tmp_path)
    try:
        browser.open(page)
        browser.frame()
        assert browser.console == []
        assert browser.evaluate("timeline.drawnSlices") > 0
        lanes = browser.evaluate("[...timeline.tracks, ...picture.curves].map((lane) => lane.name)")
        cores = {name[:7] for name in lanes if name != "HBM" and name.startswith("core ")}
        assert cores == ({"core 0 ", "core 1 "} if len(files) == 2 else set())
        assert len(files) == 1 or all(name.startswith("core ") for name in lanes if name != "HBM"), lanes
        text = browser.evaluate("document.getElementById('source').innerText")
        for path in files:
            assert path.read_text().splitlines()[-1].strip() in text
    finally:
        browser.close()


def test_lanes_of_ranks_and_links(tmp_path):
    (tmp_path / "sum.kiln").write_text(rank_sum.text(128, 512))
    subprocess.run([BUILD / "cli" / "kiln", "time", "sum.kiln", "--ranks", "4", "--html", "sum.html"], cwd=tmp_path,
                   check=True, stdout=subprocess.DEVNULL)
    browser = Browser(tmp_path)
    try:
        browser.open(tmp_path / "sum.html")
        browser.frame()
        assert browser.console == []
        lanes = browser.evaluate("timeline.tracks.map((lane) => lane.name)")
        assert "ranks 0-3 links" in lanes and all(name.startswith("ranks 0-3 ") for name in lanes)
        drawn = browser.evaluate("timeline.tracks.find((t) => t.name.endsWith('links')).rows[0].count")
        assert drawn == 1
        about = browser.evaluate("timeline.tracks.find((t) => t.name.endsWith('links')).about")
        assert "collectives" in about
    finally:
        browser.close()


LOOP = """kiln 1
program "loop" target trn2
tensor y: output shared_hbm float32 [128, 512]
tensor t: sbuf float32 [128, 512]
memset(dst=t, value=1.0)
loop i = 0 .. 1000000 {
  tensor_scalar(dst=t, data=t, op0=multiply, operand0=2.0)
}
dma_copy(dst=y, src=t)
"""


def test_iterations_that_are_not_drawn(tmp_path):
    (tmp_path / "loop.kiln").write_text(LOOP)
    subprocess.run([BUILD / "cli" / "kiln", "time", "loop.kiln", "--html", "loop.html"], cwd=tmp_path, check=True,
                   stdout=subprocess.DEVNULL)
    browser = Browser(tmp_path)
    try:
        browser.open(tmp_path / "loop.html")
        browser.frame()
        assert browser.console == []
        track = browser.evaluate("timeline.tracks.filter((track) => track.leftOut).map((track) => track.name)")
        assert track == ["iterations not drawn"]
        assert browser.evaluate("timeline.view[1]") < 0.01 * browser.evaluate("timeline.total"), "the drawn part"
        assert browser.evaluate("timeline.drawnSlices") > 3
        browser.evaluate("timeline.showAll()")
        browser.frame()
        assert browser.evaluate("timeline.view[1] === timeline.total")
    finally:
        browser.close()


def test_a_hundred_thousand_slices(tmp_path):
    large = Shown(tmp_path, 100_000)
    try:
        assert large.console == []
        draw = "(() => { const t = performance.now(); timeline.draw(); return performance.now() - t; })()"
        milliseconds = sorted(large.evaluate(draw) for _ in range(9))[4]
        size = (tmp_path / "made.html").stat().st_size
        print(f"loaded in {large.seconds:.2f} s, drawn in {milliseconds:.1f} ms, {size / 1e5:.1f} bytes a slice")
        assert size < 50 * 100_000
        drawn = "(() => { const row = timeline.tracks[0].rows[0]; timeline.chooseChain(chainOf(timeline, " \
                "row.first + row.count - 1)); timeline.draw(); return timeline.drawnSlices; })()"
        assert large.evaluate(drawn) < 20_000, "pixels bound the work, with a chain too"
        large.evaluate("timeline.chooseChain([])")
        assert large.seconds < 20
        assert milliseconds < 200, "a frame while zooming"
        event = large.expected["events"][77_777]
        start, duration = event["start_ps"] / 1000, event["occupied_ps"] / 1000
        large.evaluate(f"timeline.setView({start - duration}, {start + 2 * duration})")
        large.frame()
        large.mouse("mouseMoved", *large.middle_of(event))
        assert large.evaluate("document.getElementById('tooltip').innerText").startswith(event["name"])
        SCREENSHOTS.mkdir(exist_ok=True)
        large.evaluate("timeline.showAll()")
        large.frame()
        large.screenshot(SCREENSHOTS / "hundred_thousand.png")
    finally:
        large.close()
