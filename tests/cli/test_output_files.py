"""What `kiln` writes overwrites nothing that it reads, and leaves nothing behind when it is stopped."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from conftest import KILN, PROGRAMS
from test_cli import files, refused

ADD = ["run", "add.kiln", "--in", "x=x.npy", "--in", "y=y.npy"]


@pytest.fixture
def add(tmp_path, x):
    """A copy of the program with its inputs, and what all of them contain."""
    shutil.copy(PROGRAMS / "add.kiln", tmp_path / "program.kiln")
    np.save(tmp_path / "y.npy", x)
    return {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}


def unchanged(folder, before):
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert [n for n in files(folder) if n.startswith(".kiln")] == []


RUN = ["run", "program.kiln", "--in", "x=x.npy", "--in", "y=y.npy"]


@pytest.mark.parametrize("out", ["x.npy", "y.npy", "program.kiln", "./x.npy", "link", "hard"])
def test_run_does_not_overwrite_what_it_reads(kiln, tmp_path, add, out):
    (tmp_path / "link").symlink_to("y.npy")
    os.link(tmp_path / "x.npy", tmp_path / "hard")
    refused(kiln(*RUN, "--out", f"z={out}"), "file.R3", out)
    unchanged(tmp_path, add)


@pytest.mark.parametrize("option", ["--html", "--trace"])
@pytest.mark.parametrize("words", [["program.kiln"], ["other.kiln", "--compare", "program.kiln"]])
def test_time_does_not_overwrite_a_program(kiln, tmp_path, add, option, words):
    shutil.copy(PROGRAMS / "add.kiln", tmp_path / "other.kiln")
    refused(kiln("time", *words, option, "program.kiln"), "file.R3", "program.kiln")
    unchanged(tmp_path, add)


def test_the_program_kiln_is_not_overwritten(kiln, tmp_path, add):
    own = tmp_path / "kiln"
    shutil.copy(KILN, own)
    before = own.read_bytes()
    for words in (["time", "program.kiln", "--html", "kiln"], [*RUN, "--out", "z=kiln"]):
        done = subprocess.run([own, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        refused(done, "file.R3", "kiln")
    assert own.read_bytes() == before


def test_a_tensor_may_be_updated_in_its_file(kiln, tmp_path, x):
    words = ["run", "double_in_place.kiln", "--in", "x=x.npy", "--out", "x=x.npy"]
    assert kiln(*words).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), 2 * x)


def test_devices_are_both(kiln, x):
    assert kiln("run", "add.kiln", "--in", "x=x.npy", "--in", "y=x.npy", "--out", "z=/dev/null").returncode == 0


# Stopped while it writes: to a pipe that nobody empties, after the other output was written beside its place.


@pytest.fixture
def writing(tmp_path):
    """kiln in the middle of writing, with a temporary file in its folder."""
    rows, columns = 128, 4096
    (tmp_path / "two.kiln").write_text(f"""kiln 1
program "two" target trn2
tensor p: output shared_hbm float32 [{rows}, {columns}]
tensor q: output shared_hbm float32 [{rows}, {columns}]
tensor t: sbuf float32 [{rows}, {columns}]
memset(dst=t, value=1.0)
dma_copy(dst=p, src=t)
dma_copy(dst=q, src=t)
""")
    os.mkfifo(tmp_path / "pipe")
    started = []

    def start(command, folder="."):
        (tmp_path / folder).mkdir(exist_ok=True)
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        run = subprocess.Popen([*command, "run", "two.kiln", "--out", f"p={folder}/p.npy", "--out", "q=pipe"],
                               cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        started.append((run, reader))
        until = time.monotonic() + 60
        while not any(n.startswith(".kiln") for n in files(tmp_path / folder)) and time.monotonic() < until:
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.01)
        return run

    yield start
    for run, reader in started:
        run.kill()
        run.communicate()
        os.close(reader)


NATIVE, PYTHON = [str(KILN)], [sys.executable, "-m", "kiln"]


@pytest.mark.parametrize("command", [NATIVE, PYTHON])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_temporary_file(tmp_path, writing, command, number):
    run = writing(command)
    run.send_signal(number)
    assert run.wait(timeout=60) == -number
    assert files(tmp_path) == ["pipe", "two.kiln"]


def test_a_file_that_may_not_grow_is_an_error(tmp_path, x):
    """SIGXFSZ would end the process; the test's own runs ignore it."""
    words = ["run", PROGRAMS / "add.kiln", "--in", "x=x.npy", "--in", "y=x.npy", "--out", "z=z.npy"]
    done = subprocess.run([KILN, *words], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_DFL),
                                              resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))))
    refused(done, "file.R2", "z.npy")
    assert files(tmp_path) == ["x.npy"]


def test_what_a_dead_process_left_is_removed_by_the_next(kiln, tmp_path, writing, x):
    run = writing(NATIVE)
    run.kill()
    run.wait()
    left = [n for n in files(tmp_path) if n.startswith(".kiln")]
    assert len(left) == 1
    assert kiln("run", "add.kiln", "--in", "x=x.npy", "--in", "y=x.npy", "--out", "z=z.npy").returncode == 0
    assert files(tmp_path) == ["pipe", "two.kiln", "x.npy", "z.npy"]


def test_what_a_living_process_writes_is_left_alone(kiln, tmp_path, writing, x):
    run = writing(NATIVE)
    assert kiln("run", "add.kiln", "--in", "x=x.npy", "--in", "y=x.npy", "--out", "z=z.npy").returncode == 0
    assert len([n for n in files(tmp_path) if n.startswith(".kiln")]) == 1
    run.terminate()
    assert run.wait(timeout=60) == -signal.SIGTERM


def test_signals_that_are_ignored_stay_ignored(tmp_path, writing):
    run = writing(["env", "--ignore-signal=HUP", *NATIVE])
    run.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(timeout=1)
