"""A program's text may name any file of the machine as its source: only what lies beside it, or in a folder that the
user names, is shown."""

import os

import pytest

SECRET = "the secret of another folder"
PROGRAM = """kiln 1
program "p" target trn2
tensor x: input hbm float32 [300, 4]
tensor t: sbuf float32 [128, 4]
dma_copy(dst=t, src=x) @ "{file}":1
"""


@pytest.fixture
def inside(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path):
    file = tmp_path / "outside.txt"
    file.write_text(SECRET + "\n")
    return file


def written(folder, file):
    path = folder / "p.kiln"
    path.write_text(PROGRAM.format(file=file))
    return path


@pytest.mark.parametrize("path", ["absolute", "relative", "link"])
def test_a_diagnostic_does_not_show_it(kiln, inside, outside, path):
    (inside / "link").symlink_to(outside)
    file = {"absolute": outside, "relative": f"{inside}/../outside.txt", "link": inside / "link"}[path]
    done = kiln("check", written(inside, file))
    assert done.returncode == 1
    assert f"--> {file}:1" in done.stderr
    assert SECRET not in done.stderr + done.stdout


def test_the_page_does_not_show_it(kiln, inside, outside, tmp_path):
    program = written(inside, outside)
    program.write_text(program.read_text().replace("300", "128"))
    assert kiln("time", program, "--html", "p.html").returncode == 0
    assert SECRET not in (tmp_path / "p.html").read_text()
    assert kiln("time", program, "--html", "p.html", "--source-root", tmp_path).returncode == 0
    assert SECRET in (tmp_path / "p.html").read_text()


def test_what_lies_beside_the_program_or_in_a_named_folder_is_shown(kiln, inside, outside, tmp_path):
    (inside / "kernel.py").write_text("nisa.dma_copy(t, x)\n")
    assert "1 | nisa.dma_copy(t, x)" in kiln("check", written(inside, inside / "kernel.py")).stderr
    done = kiln("check", written(inside, outside), "--source-root", tmp_path)
    assert f"1 | {SECRET}" in done.stderr


def test_a_folder_before_the_program_leaves_the_program(kiln, inside, outside, tmp_path):
    done = kiln("check", "--source-root", inside, "--source-root", tmp_path, written(inside, outside))
    assert done.returncode == 1
    assert f"1 | {SECRET}" in done.stderr


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin", "/proc/self/environ"])
def test_devices_are_not_read(kiln, inside, file):
    done = kiln("check", written(inside, file), "--source-root", "/")
    assert done.returncode == 1
    assert f"--> {file}:1\n   |" in done.stderr


def test_a_pipe_does_not_stop_it(kiln, inside):
    os.mkfifo(inside / "pipe")
    assert kiln("check", written(inside, inside / "pipe")).returncode == 1
