"""Programs and files that ask for more than there is: an answer in seconds, or an error that says what is too much."""

import os
import pathlib
import pty
import resource
import select
import subprocess
import time

import numpy as np
import pytest

from conftest import KILN
from test_cli import refused

# What a test may take; without bounds each would take far more, or never end.
SPACE = {resource.RLIMIT_AS: 8 << 30}
STEP = "reciprocal(dst=a, data=a)\n"


def program(tmp_path, body, name="p", head="", shape=(128, 8)):
    text = f"""kiln 1
program "{name}" target trn2
{head}tensor x: input hbm float32 {list(shape)}
tensor y: output shared_hbm float32 {list(shape)}
tensor a: sbuf float32 [128, 8]
dma_copy(dst=a, src=x.ap([[8, 128], [1, 8]]))
{body}dma_copy(dst=y.ap([[8, 128], [1, 8]]), src=a)
"""
    (tmp_path / f"{name}.kiln").write_text(text)
    return f"{name}.kiln"


def nest(counts, inner=STEP, between=""):
    loops = "".join(f"loop i{n} = 0 .. {count} {{\n{between}" for n, count in enumerate(counts))
    return loops + inner + "}\n" * len(counts)


def instructions(done):
    """How many instructions a report speaks of."""
    import json

    return json.loads(done.stdout)["reports"][0]["summary"]["instruction_count"]


@pytest.mark.parametrize("options", [(), ("--no-advice",)])
@pytest.mark.parametrize("counts, between", [([2] * 30, 0), ([1024] * 3, 0), ([1024] * 3, 1), ([10**6] * 2, 1),
                                             ([100] * 6, 0), ([2**31 - 1], 0)])
def test_time_of_nested_loops(kiln, tmp_path, counts, between, options):
    name = program(tmp_path, nest(counts, between=STEP * between))
    assert (tmp_path / name).stat().st_size < 1500
    done = kiln("time", name, "--json", *options, limits=SPACE)
    assert done.returncode == 0, done.stderr
    executed, passes = 2, 1
    for count in counts:
        passes *= count
        executed += between * passes
    assert instructions(done) == executed + passes


@pytest.mark.parametrize("inner", ["", "tensor t: sbuf float32 [128, 8]\n"])
def test_time_of_empty_loops(kiln, tmp_path, inner):
    without = kiln("time", program(tmp_path, "", "p")).stdout.splitlines()[:6]
    for counts in ([10**6] * 2, [2**31 - 1] * 40):
        assert kiln("time", program(tmp_path, nest(counts, inner)), limits=SPACE).stdout.splitlines()[:6] == without


def test_time_draws_nested_loops(kiln, tmp_path):
    name = program(tmp_path, nest([1024] * 3, between=STEP))
    done = kiln("time", name, "--html", "p.html", "--trace", "p.trace", limits=SPACE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.html").stat().st_size < 200 << 20


def test_time_says_which_loop_is_too_long(kiln, tmp_path):
    name = program(tmp_path, nest([2] * 30, between=STEP))
    refused(kiln("time", name, limits=SPACE), "timing.limit", "loop on `i", f"{name}:")
    short = program(tmp_path, nest([3] * 4))
    refused(kiln("time", short, "--limit", 80, limits=SPACE), "timing.limit", "loop on `i0`", "80")
    assert kiln("time", short, "--limit", 81).returncode == 0
    for wrong in ("0", "-1", "x", "99999999999999999999"):
        refused(kiln("time", short, "--limit", wrong), "cli.R1", "--limit")


# Every pass writes one element further, over and over: no two passes find the same.
def test_time_of_a_loop_that_is_never_steady(kiln, tmp_path):
    body = "loop i = 0 .. 2000000000 {\n" + "".join(
        f"loop j{n} = 0 .. {n} {{\ntensor t{n}: sbuf float32 [128, {n}]\n"
        f"dma_copy(dst=t{n}, src=x.ap([[8, 128], [1, {n}]]))\n"
        f"tensor_copy(dst=a.ap(0:128, [[1, {n}]]), src=t{n})\n}}\n"
        for n in range(1, 8)) + "}\n"
    done = kiln("time", program(tmp_path, body), "--no-advice", "--limit", 300000, limits=SPACE)
    assert done.returncode in (0, 2), done.stderr
    if done.returncode:
        refused(done, "timing.limit", "the loop on `i`")


@pytest.mark.parametrize("counts", [[2] * 60, [2**31 - 1] * 3])
def test_time_of_what_takes_longer_than_a_lifetime(kiln, tmp_path, counts):
    refused(kiln("time", program(tmp_path, nest(counts)), limits=SPACE), "timing.longest_time", "loop on `i0`")


def test_check_does_not_count(kiln, tmp_path):
    for counts in ([2] * 60, [2**31 - 1] * 3):
        assert kiln("check", program(tmp_path, nest(counts)), limits=SPACE).returncode == 0


def test_run_has_a_limit_for_all_loops(kiln, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((128, 8), np.float32))

    def run(counts, *options, **more):
        return kiln("run", program(tmp_path, nest(counts, **more)), "--in", "x=x.npy", "--print", *options,
                    limits=SPACE)

    refused(run([2] * 30), "run.R5", "loop i0", exit_code=1)
    refused(run([10**6] * 2), "run.R5", exit_code=1)
    refused(run([10, 10], "--max-passes", 109), "run.R5", "110 passes", exit_code=1)
    assert run([10, 10], "--max-passes", 110).returncode == 0
    assert run([2**31 - 1] * 40, inner="").returncode == 0
    refused(run([10], "--max-passes", "0"), "cli.R1", "--max-passes")


def test_run_counts_loops_together(kiln, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((128, 8), np.float32))
    body = "for k = 0 .. 5 {\n" + nest([4]) + "}\n"
    name = program(tmp_path, body, head="register k frozen\n")
    words = ["run", name, "--in", "x=x.npy", "--print", "--max-passes"]
    refused(kiln(*words, 24), "run.R5", exit_code=1)
    assert kiln(*words, 25).returncode == 0


def test_run_shows_how_far_it_is(tmp_path):
    """On a terminal, after the first second."""
    np.save(tmp_path / "x.npy", np.ones((128, 8), np.float32))
    name = program(tmp_path, nest([90_000_000]))
    ours, theirs = pty.openpty()
    run = subprocess.Popen([KILN, "run", name, "--in", "x=x.npy", "--print"], cwd=tmp_path, stderr=theirs,
                           stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown, until = b"", time.monotonic() + 60
    while b"%" not in shown and time.monotonic() < until and run.poll() is None:
        if select.select([ours], [], [], 0.5)[0]:
            shown += os.read(ours, 4096)
    run.kill()
    run.wait()
    os.close(ours)
    assert b"running [" in shown and b"%" in shown


# Memory.


LARGE = (100_000, 100_000)  # 37 GiB


@pytest.mark.parametrize("role, memory", [("output", "shared_hbm"), ("input", "hbm"), ("internal", "hbm"),
                                          ("internal", "shared_hbm")])
def test_run_of_large_tensors(kiln, tmp_path, role, memory):
    np.save(tmp_path / "x.npy", np.ones((128, 8), np.float32))
    np.save(tmp_path / "large.npy", np.ones((1, 1), np.float32))
    use = "dma_copy(dst=a.ap(0:1, [[1, 8]]), src=large.ap([[1, 1], [1, 8]]))\n" if role == "input" else \
        "dma_copy(dst=large.ap([[1, 1], [1, 8]]), src=a.ap(0:1, [[1, 8]]))\n"
    kind = "" if role == "internal" else role + " "
    name = program(tmp_path, use, head=f"tensor large: {kind}{memory} float32 [{LARGE[0]}, {LARGE[1]}]\n")
    words = ["run", name, "--in", "x=x.npy", "--print", *(["--in", "large=large.npy"] * (role == "input"))]
    refused(kiln(*words, "--max-memory", "20G", limits=SPACE), "limit.R1", "`large` of 37.3 GiB", "20.0 GiB")
    refused(kiln(*words, limits=SPACE), "limit.R1", "7.20 GiB")  # nine tenths of what it may have


def test_the_limit_can_be_set(kiln, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((128, 8), np.float32))
    name = program(tmp_path, "")
    words = ["run", name, "--in", "x=x.npy", "--print", "--max-memory"]
    refused(kiln(*words, "8000"), "limit.R1", "8.00 KiB", "7.81 KiB")
    assert kiln(*words, "8KiB").returncode == 0
    for wrong in ("0", "x", "8Q", "-1"):
        refused(kiln(*words, wrong), "cli.R1", "--max-memory")
    long = program(tmp_path, nest([500, 700]))
    refused(kiln("time", long, "--reorder", "--max-memory", "10M"), "limit.R1")


@pytest.mark.parametrize("words", [["check", "/dev/zero"], ["time", "/dev/zero"], ["run", "/dev/zero", "--print"],
                                   ["run", "p.kiln", "--print", "--in", "x=/dev/zero"]])
def test_inputs_without_an_end(kiln, tmp_path, words):
    program(tmp_path, "")
    done = kiln(*words, limits=SPACE)
    assert done.returncode == 2 and "error[file.R4]: `/dev/zero` has no end in sight" in done.stderr


@pytest.mark.parametrize("words", [["check", "pipe"], ["time", "pipe"],
                                   ["run", "p.kiln", "--print", "--in", "x=pipe"]])
def test_a_pipe_without_an_end(kiln, tmp_path, words):
    program(tmp_path, "")
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", "exec yes > pipe"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        done = kiln(*words, limits=SPACE)
        assert done.returncode == 2 and "error[file.R4]: `pipe` has no end in sight" in done.stderr
    finally:
        writer.kill()
        writer.wait()


def test_a_pipe_with_an_end(kiln, tmp_path):
    name = program(tmp_path, "")
    np.save(tmp_path / "x.npy", np.ones((128, 8), np.float32))
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", "cat x.npy > pipe"], cwd=tmp_path)
    assert kiln("run", name, "--in", "x=pipe", "--print").returncode == 0
    assert writer.wait() == 0


def test_an_input_file_that_is_far_too_large(kiln, tmp_path):
    name = program(tmp_path, "")
    with open(tmp_path / "x.npy", "wb") as file:
        file.truncate(40 << 30)  # takes no space on disk
    refused(kiln("run", name, "--in", "x=x.npy", "--print", limits=SPACE), "file.R4", "40.0 GiB")
    assert pathlib.Path(tmp_path / name).exists()
