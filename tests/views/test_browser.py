"""The page in a real browser: it loads without a word on the console and without the network, zooms, moves, and tells
what is under the mouse. Screenshots stay in the build folder under tests/views/screenshots."""

import json
import os
import pathlib
import random
import subprocess

import pytest

from browser import Browser

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
SCREENSHOTS = BUILD / "tests" / "views" / "screenshots"


class Shown:
    def __init__(self, folder, events):
        seed = random.SystemRandom().randrange(2**31)
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
    page.evaluate("timeline.showAll(); timeline.choose(null); timeline.onlyCritical = false; window.scrollTo(0, 0)")


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
        assert f"{event['name']}(" in text and "waited " in text
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


def test_screenshots_of_light_and_dark(page):
    SCREENSHOTS.mkdir(exist_ok=True)
    for scheme in ["light", "dark"]:
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.evaluate("timeline.measure(); timeline.draw()")
        page.frame()
        page.screenshot(SCREENSHOTS / f"{scheme}.png")
        assert (SCREENSHOTS / f"{scheme}.png").stat().st_size > 20_000
    page.send("Emulation.setEmulatedMedia", features=[])


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
        text = browser.evaluate("document.getElementById('source').innerText")
        for path in files:
            assert path.read_text().splitlines()[-1].strip() in text
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
        print(f"loaded in {large.seconds:.2f} s, drawn in {milliseconds:.1f} ms")
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
