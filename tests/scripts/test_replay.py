"""scripts/replay finds nothing between two replays of one tree, and shows what is changed."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "scripts" / "replaying"))

import published_rows  # noqa: E402
from normal import normal, with_lines_from_the_first  # noqa: E402
from records import flat, read, write  # noqa: E402
from tree import Tree  # noqa: E402

PROGRAM = """\
kiln 1
program "scale" target trn2
tensor x: input hbm float32 [4, 8]
tensor y: output shared_hbm float32 [4, 8]
tensor a: sbuf float32 [4, 8]
dma_copy(dst=a, src=x)
tensor_scalar(dst=a, data=a, op0=multiply, operand0=2.0)
dma_copy(dst=y, src=a)
"""


KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x):
    out, t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, 2.0)
    nisa.dma_copy(out, t)
    return out
"""


def replay(*words):
    words = [SOURCE / "scripts" / "replay", *words]
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Records of a small part of this tree."""
    out = tmp_path_factory.mktemp("replay") / "records"
    done = replay("--build", BUILD, "--out", out, "--only", "test/register_move", "--only", "kiln/core0")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(p.name for p in out.rglob("*.txt")) == ["core0.kiln.txt", "register_move.test.txt"]
    return out


def compared(out, against, *more):
    return replay("--build", BUILD, "--out", out, "--only", "test/register_move", "--only", "kiln/core0", "--against",
                  against, *more)


def test_the_package_speaks_for_itself(tmp_path):
    done = replay("--build", BUILD, "--out", tmp_path / "records", "--only", "words/package")
    assert (done.returncode, done.stderr) == (0, "")
    said = read(tmp_path / "records" / "words" / "package.txt")
    assert said["kiln time kernel.py --help"].startswith("tell how long a program takes")
    assert "nki.R1" in said["explain nki.R1"]
    assert "nc_matmul(" in said["names of kiln.nki.isa"]


def test_records_say_what_is_promised(stored):
    pair = read(stored / "kiln" / "core0.kiln.txt")["core0.kiln and core1.kiln"]
    for part in ("tensor_tensor(dst=a", "programs[1].memory.sbuf.peak_bytes = ", "y: float32[4, 8] ",
                 "reports[0].total_ns = ", "reports[0].engines[1].busy_ns = ", "Critical path", "html: ", "trace: "):
        assert part in pair, part
    cases = read(stored / "test" / "register_move.test.txt")
    rejected = [text for text in cases.values() if "-- verdict\nrejected\n" in text]
    assert rejected and all('code = "' in text and 'found = "' in text for text in rejected)
    places = "".join(file.read_text() for file in stored.rglob("*.txt"))
    assert str(SOURCE) not in places and "kiln_replay_" not in places


def test_a_tree_is_equal_to_itself(tmp_path, stored):
    done = compared(tmp_path / "again", stored)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^0 of \d+ records differ, in 0 ways; 0 are gone, 0 are new$", done.stdout, re.M), done.stdout
    assert os.listdir(tmp_path) == ["again"], "nothing is left aside"


def test_other_records_are_shown(tmp_path, stored):
    older = tmp_path / "older"
    for file in stored.rglob("*.txt"):
        told = read(file)
        if "core0" in file.name:
            told = {title: text.replace('bottleneck = "dma"', 'bottleneck = "tensor"') for title, text in told.items()}
        else:
            told = {"a case that was": "text", **dict(list(told.items())[1:])}
        write(older / file.relative_to(stored), list(told.items()))
    (older / "made_by").write_text("another\n")
    done = compared(tmp_path / "newer", older)
    assert done.returncode == 1
    assert '\n-reports[0].bottleneck = "tensor"\n+reports[0].bottleneck = "dma"\n' in done.stdout
    assert "kiln/core0.kiln: core0.kiln" in done.stdout
    assert "the same change in 1 more record, of kiln/core0" in done.stdout
    assert "test/register_move.test: a case that was\ngone\n" in done.stdout
    assert "2 of" in done.stdout and "1 are gone, 1 are new" in done.stdout and "another version" in done.stdout

    done = compared(tmp_path / "newer", older, "--ignore", "bottleneck")
    assert done.returncode == 1 and "0 of" in done.stdout and "-reports" not in done.stdout


def made_up_tree(folder):
    """(build folder, program) of a tree that has one program, with everything else taken from the build under test."""
    build, source = folder / "build" / "release", folder / "source"
    (build / "python" / "kiln").mkdir(parents=True)
    (source / "programs").mkdir(parents=True)
    for entry in (BUILD / "python" / "kiln").iterdir():
        (build / "python" / "kiln" / entry.name).symlink_to(entry)
    (build / "kiln").symlink_to(BUILD / "cli" / "kiln")
    (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={source}\n")
    program = source / "programs" / "scale.kiln"
    program.write_text(PROGRAM)
    return build, program


def test_a_changed_program_is_shown(tmp_path):
    build, program = made_up_tree(tmp_path)
    first = tmp_path / "first"
    assert replay("--build", build, "--out", first, "--only", "kiln/").returncode == 0

    program.rename(tmp_path / "source" / "scale.kiln")  # another folder makes no difference
    done = replay("--build", build, "--only", "kiln/", "--against", first)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "build" / "replay" / "here" / "kiln" / "scale.kiln.txt").exists()

    (tmp_path / "source" / "scale.kiln").write_text(PROGRAM.replace("2.0", "3.0"))
    done = replay("--build", build, "--only", "kiln/", "--against", first)
    assert done.returncode == 1
    line = 'tensor_scalar(dst=a, data=a, op0=multiply, operand0={}) @ "scale.kiln":7'
    for part in ("kiln/scale.kiln: scale.kiln\n", "-" + line.format("2.0"), "+" + line.format("3.0"),
                 "\n-y: float32[4, 8] ", "\n1 of 1 records differ, in 1 ways"):
        assert part in done.stdout, part

    other = tmp_path / "other"
    other.mkdir()
    build, _ = made_up_tree(other)
    done = replay("--build", tmp_path / "build" / "release", "--only", "kiln/", "--against-build", build)
    assert done.returncode == 1 and "1 of 1 records differ" in done.stdout


def test_published_sources_are_timed_as_they_are(tmp_path):
    """A row is asked of the tree's own worker; without a folder of sources no row is asked."""
    tree = Tree(SOURCE, BUILD)
    assert "KILN_SOURCES" in os.environ or not published_rows.jobs(tree)
    copy = tmp_path / "owner+name" / "kernels" / "double.py"
    copy.parent.mkdir(parents=True)
    copy.write_text(KERNEL)
    row = {"id": "mine", "repository": "owner/name", "commit": "", "path": "kernels/double.py", "pick": "",
           "function": "double", "arguments": "float32[128,512]", "set": "", "flags": "", "target": "trn2"}
    told = published_rows.records(tree, SOURCE / "bench" / "plain" / "worker.py", tmp_path, [row, row | {"path": "no"}])
    (name, text), (_, missing) = told
    assert name == "mine" and "parts[0].total_ns = " in text and "seconds" not in text
    assert "is not in the folder" in missing


@pytest.mark.parametrize("words, message", [
    (["--build", "no_such_folder"], "no_such_folder is no build folder"),
    (["--build", BUILD, "--only", "nothing_has_this_name"], "nothing has nothing_has_this_name in its name"),
    (["--build", BUILD, "--against", "no_such_commit"], "there is no commit and no folder of records `no_such_commit`"),
])  # fmt: skip
def test_what_is_missing_is_named(tmp_path, words, message):
    done = replay("--out", tmp_path / "out", *words)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr


@pytest.mark.parametrize("text, expected", [
    (f"  --> {tempfile.gettempdir()}/kiln_replay_abcd1234/k.py:3", "  --> k.py:3"),
    ('at "kiln/isa/verify.cpp":12 and examples/cpp/gemm.cpp:20, 52', 'at "verify.cpp":12 and gemm.cpp:*'),
    ('{"seconds": 0.0031,', '{"seconds": 0,'),
    ("gemm: 24 instructions in 0.003 s", "gemm: 24 instructions in * s"),
    ("busy in 8.68 us of docs/timing.md", "busy in 8.68 us of docs/timing.md"),
])  # fmt: skip
def test_what_depends_on_the_place_is_taken_out(text, expected):
    assert normal(text) == expected


def test_lines_of_cpp_count_from_the_first():
    text = 'a @ "examples/cpp/x.cpp":65\nb @ "examples/cpp/x.cpp":70\nc @ "k.py":9\n'
    assert with_lines_from_the_first(text) == 'a @ "x.cpp":1\nb @ "x.cpp":6\nc @ "k.py":9\n'


def test_json_has_a_line_for_each_value():
    told = flat({"a": [{"b": 1.5}, {"b": 0}], "c": ["x", "y"], "d": ""}).split("\n")
    assert told[:2] == ["a[0].b = 1.5", 'c = ["x", "y"]'] and told[2].startswith("2 empty values: ")
    assert told != flat({"a": [{"b": 1.5}, {"e": 0}], "c": ["x", "y"], "d": ""}).split("\n")


def test_records_are_read_as_they_were_written(tmp_path):
    file = tmp_path / "folder" / "file.txt"
    write(file, [("one", "text\n\n=== not a title\n"), ("two", "")])
    assert read(file) == {"one": "text\n\n === not a title", "two": ""}
