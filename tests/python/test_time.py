"""kiln.time: predictions of Python kernels, with bands, lines of the user's source, pages and traces."""

import contextlib
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


@nki.jit
def scale(x, factor=2.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, x.shape[0], 128):
        t = nl.ndarray((128, x.shape[1]), dtype=x.dtype)
        nisa.dma_copy(t, x[start:start + 128])  # load
        nisa.tensor_scalar(t, t, nl.multiply, factor)
        nisa.dma_copy(out[start:start + 128], t)
    return out


@nki.jit
def repeat(x, n):
    t, count = nl.ndarray(x.shape, dtype=x.dtype), nl.ndarray((1, 1), dtype=n.dtype)
    nisa.dma_copy(t, x)
    nisa.dma_copy(count, n)
    register = nisa.register_alloc()
    nisa.register_load(register, count)

    def body(i):
        nisa.tensor_scalar(t, t, nl.multiply, 1.0)

    nl.fori_loop(0, register, body)
    nisa.dma_copy(x, t)


def test_a_prediction_has_a_band_and_a_bottleneck():
    timing = kiln.time(scale)("float32[512,1024]")
    low, high = timing.band_us
    assert 0 < low <= timing.latency_us <= high
    # 2 MiB in and 2 MiB out cannot take less than HBM allows, and not a hundred times more.
    assert 4 * 2**20 / 2e6 < timing.latency_us < 100 * 4 * 2**20 / 1e5
    assert timing.bottleneck and timing.target == "trn3"
    assert "us" in repr(timing) and "bound by" in repr(timing)


def test_arrays_and_shapes_give_the_same_time():
    by_array = kiln.time(scale)(np.ones((512, 1024), np.float32))
    assert by_array.latency_us == kiln.time(scale)("float32[512,1024]").latency_us
    assert kiln.profile(scale)("float32[512,1024]").as_dict() == by_array.as_dict()


def test_lines_are_those_of_the_kernel():
    text = json.dumps(kiln.time(scale)("float32[512,1024]").as_dict())
    line = next(i for i, text in enumerate(open(__file__), 1) if text.rstrip().endswith("# load"))
    assert os.path.basename(__file__) in text and f'"line": {line}' in text


def test_more_work_takes_longer_and_what_if_answers():
    small, large = (kiln.time(scale)(f"float32[{n},1024]") for n in (512, 2048))
    assert large.latency_us > 2 * small.latency_us
    faster = kiln.time(scale, what_if="dma_bandwidth=4x")("float32[2048,1024]")
    assert faster.latency_us < large.latency_us
    assert "this" in large.compare(faster)
    with pytest.raises(nisa.NkiValidationError, match="dma_bandwith"):
        kiln.time(scale, what_if="dma_bandwith=4x")("float32[512,1024]")


def test_trip_counts_are_measured_or_given():
    x = np.ones((128, 512), np.float32)
    few, many = (kiln.time(repeat)(x, np.array([[n]], np.int32)) for n in (2, 200))
    assert many.latency_us > few.latency_us
    np.testing.assert_array_equal(x, 1)
    given = kiln.time(repeat, trip_counts={"r1": 200})("float32[128,512]", "int32[1,1]")
    assert given.latency_us == many.latency_us
    with pytest.raises(nisa.NkiValidationError, match="trip"):
        kiln.time(repeat)("float32[128,512]", "int32[1,1]")


def test_a_kernel_that_breaks_a_rule_is_not_timed():
    def too_large(x):
        tiles = [nl.ndarray((128, 30_000), dtype=nl.float32) for _ in range(3)]
        for t in tiles:
            nisa.memset(t, 0.0)
        for t in tiles + tiles:  # twice, so that no other order needs less
            nisa.dma_copy(x, t[:, 0:4])

    with pytest.raises(nisa.NkiValidationError) as caught:
        kiln.time(too_large)("float32[128,4]")
    assert caught.value.code.startswith("memory.")


def test_pages_and_traces_are_written_whole(tmp_path):
    timing = kiln.time(scale)("float32[512,1024]")
    timing.save_html(tmp_path / "page.html")
    timing.save_trace(tmp_path / "trace.perfetto-trace")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!") and "tensor_scalar" in page and "# load" in page
    assert (tmp_path / "trace.perfetto-trace").stat().st_size > 1000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "trace.perfetto-trace"]
    for name in ["nowhere/page.html", "folder"]:
        (tmp_path / "folder").mkdir(exist_ok=True)
        with pytest.raises(OSError) as caught:
            timing.save_html(tmp_path / name)
        assert caught.value.filename == str(tmp_path / name) and str(tmp_path / name) in str(caught.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "page.html", "trace.perfetto-trace"]
    assert "<iframe" in timing._repr_html_()


def test_the_dictionary_has_the_documented_keys():
    text = (pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "docs" / "time-command.md").read_text()
    documented = re.findall(r"^\| `([\w.\[\]]+)` \|", text, re.M)
    report = kiln.time(scale)("float32[512,1024]").as_dict()
    assert list(report) == [key.removeprefix("reports[].") for key in documented if key.startswith("reports[].")]
    for part in ["band", "roofline"]:
        inside = [key for key in documented if key.startswith(part + ".") and "[]" not in key]
        assert [f"{part}.{key}" for key in report[part]] == inside
    waits = re.search(r"Reasons to wait: (.*?)\n\n", text, re.S).group(1)
    found = {wait for engine in report["engines"] for wait in engine["waiting_ns"]}
    assert found and found <= set(re.findall(r"`(\w+)`", waits))


def test_benchmark_gives_a_latency():
    latency = kiln.benchmark(scale)("float32[512,1024]")
    assert latency.low_us <= latency.get_latency_percentile(50) == float(latency) <= latency.high_us
    with pytest.raises(ValueError):
        latency.get_latency_percentile(101)


def run_kiln(*words):
    return subprocess.run([sys.executable, "-m", "kiln", *words], capture_output=True, text=True, timeout=120)


def test_the_command_times_a_file(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n@nki.jit\ndef copy(x):\n"
                    "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n    nisa.dma_copy(out, x)\n"
                    "    return out\n")
    done = run_kiln("time", str(file), "--arg", "x=float32[512,512]", "--json", "--html", str(tmp_path / "p.html"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] and (tmp_path / "p.html").exists()
    assert "kernel.py" in done.stdout
    lacking = run_kiln("time", str(file))
    assert lacking.returncode == 2 and "--arg" in lacking.stderr


@pytest.mark.parametrize("options, match", [
    ({"trip_counts": {"nobody": 4}}, "no loop runs on a register `nobody`"),
    ({"trip_counts": {"r1": -4}}, "`r1` runs -4 times"),
    ({"what_if": ["dma_bandwith=2x"]}, "dma_bandwith"),
    ({"what_if": "dma_bandwidth"}, "dma_bandwidth")])
def test_bad_options_are_refused(options, match):
    with pytest.raises(kiln.NkiConfigError, match=match):
        kiln.time(repeat, **options)("float32[128,512]", "int32[1,1]")


def test_arguments_of_the_wrong_type_are_refused(tmp_path):
    with pytest.raises(TypeError, match="dma_bandwidth=2x"):
        kiln.time(scale, what_if=[2])
    timing = kiln.time(scale)("float32[128,128]")
    with pytest.raises(TypeError, match="compared with a Timing"):
        timing.compare(3)
    with pytest.raises(OSError):
        timing.save_html(tmp_path / "missing" / "page.html")
    assert list(tmp_path.iterdir()) == []


@nki.jit
def two_chains(x, order):
    """On the vector engine: a copy that waits for a load, then one that waits for nothing."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a, b, c, d = [nl.ndarray(x.shape, dtype=x.dtype) for _ in range(4)]
    nisa.dma_copy(a, x)
    nisa.memset(c, 1.0, engine=nisa.gpsimd_engine)
    with nl.no_reorder() if order == "no_reorder" else contextlib.nullcontext():
        first = nisa.tensor_copy(b, a, engine=nisa.vector_engine, name="waits")
        second = nisa.tensor_copy(d, c, engine=nisa.vector_engine, name="waits for nothing")
    if order == "depends_on":
        second.depends_on(first)
    nisa.tensor_tensor(b, b, d, nl.add)
    nisa.dma_copy(out, b)
    return out


def time_of(kernel, order, **options):
    return kiln.time(kernel, **options)("float32[128,4096]", order).latency_us


def test_only_order_that_the_kernel_leaves_open_is_changed():
    in_order = time_of(two_chains, "none", reorder=False)
    assert time_of(two_chains, "none", reorder=True) == time_of(two_chains, "none") < in_order
    scheduled = two_chains.with_schedule([("waits for nothing", "waits")])
    for kernel, order in [(two_chains, "no_reorder"), (two_chains, "depends_on"), (scheduled, "none")]:
        assert time_of(kernel, order) == time_of(kernel, order, reorder=False) == in_order


def test_the_order_is_told_and_long_kernels_keep_theirs():
    @nki.jit
    def long(x, passes):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)

        def body(i):
            nisa.tensor_scalar(t, t, nl.multiply, 1.0)

        nl.fori_loop(0, passes, body)
        nisa.dma_copy(x, t)

    for passes, order, words in [(100, "reordered", "reordered as the vendor's compiler may"),
                                 (400_000, "program", "in the order of the program")]:
        timing = kiln.time(long, advice=False)("float32[128,8]", passes)
        assert timing.as_dict()["order"] == order and words in str(timing)


def test_the_command_keeps_the_schedule(tmp_path):
    (tmp_path / "pinned.py").write_text(
        "import contextlib\nfrom kiln import nki\nfrom kiln.nki import isa as nisa, language as nl\n"
        + inspect.getsource(two_chains.func)
        + '\nfree = two_chains\npinned = two_chains.with_schedule([("waits for nothing", "waits")])\n')
    times = []
    for name in ["free", "pinned"]:
        command = [sys.executable, "-m", "kiln", "time", "pinned.py", "--kernel", name, "--arg", "x=float32[128,4096]",
                   "--arg", "order='none'", "--reorder", "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        times.append(json.loads(done.stdout)["reports"][0]["summary"]["kernel_time"])
    assert times[0] < times[1]
