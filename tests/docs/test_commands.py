"""Runs every ```sh block of the documentation, so that what a reader is told to type works.

Each document gets its own copy of the source tree, with build/release being the build under test and .venv its
environment, which is activated; its blocks run there from top to bottom. An ```output block right after a ```sh block
is what the reader should see: a line that is only `...` stands for any number of lines, and `...` within a line for any
text. In a block that begins with `# make is not run: reason` the `make` lines are left out; their targets must exist.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
ENVIRONMENT = pathlib.Path(sys.prefix)
NO_MAKE = "# make is not run:"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def documents():
    return sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")])


def blocks(text):
    """(line, shell text, expected output or None) of each ```sh block."""
    found = []
    end_of_last = None
    for match in FENCE.finditer(text):
        language, body = match.groups()
        if language == "sh":
            found.append([text.count("\n", 0, match.start()) + 1, body, None])
            end_of_last = match.end()
        elif language == "output":
            assert end_of_last is not None and not text[end_of_last : match.start()].strip(), "output of no command"
            found[-1][2] = body
    return found


def matches(expected, printed):
    def line_pattern(line):
        return ".*".join(map(re.escape, line.split("...")))

    lines = expected.rstrip("\n").split("\n")
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else line_pattern(line) + r"\n" for line in lines)
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


ALL_BLOCKS = [
    pytest.param(path, *block, id=f"{path.relative_to(SOURCE)}:{block[0]}")
    for path in documents()
    for block in blocks(path.read_text())
]
WITHOUT_MAKE = [block for block in ALL_BLOCKS if block.values[2].startswith(NO_MAKE)]


def without_make(script):
    return "".join(line for line in script.splitlines(keepends=True) if not line.startswith("make "))


@pytest.fixture(scope="session")
def copy_of(tmp_path_factory):
    """The copy of the source tree that belongs to one document."""
    copies = {}

    def get(document):
        if document not in copies:
            copy = tmp_path_factory.mktemp(document.stem) / "kiln"
            ignored = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__")
            shutil.copytree(SOURCE, copy, ignore=ignored)
            (copy / "build").mkdir()
            (copy / "build" / "release").symlink_to(BUILD)
            (copy / ".venv").symlink_to(ENVIRONMENT)
            copies[document] = copy
        return copies[document]

    return get


@pytest.mark.parametrize("document, line, script, expected", ALL_BLOCKS)
def test_command_works(copy_of, document, line, script, expected):
    if script.startswith(NO_MAKE):
        script = without_make(script)
    path = ":".join(folder for folder in os.environ["PATH"].split(":") if folder != str(ENVIRONMENT / "bin"))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f". .venv/bin/activate\n{script}"],
        cwd=copy_of(document),
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    if expected is not None:
        assert matches(expected, done.stdout), f"printed:\n{done.stdout}\ndocumented:\n{expected}"


@pytest.mark.parametrize("document, line, script, expected", WITHOUT_MAKE)
def test_make_that_is_not_run_has_such_a_target(document, line, script, expected):
    first, *lines = script.splitlines()
    commands = [command for command in lines if command.startswith("make ")]
    assert first.removeprefix(NO_MAKE).strip(), "say why make is not run"
    assert commands
    for command in commands:
        assert re.fullmatch(r"make( [\w.=/-]+)+", command), command
        dry = subprocess.run([*command.split(), "--dry-run"], cwd=SOURCE, capture_output=True, text=True)
        assert dry.returncode == 0, dry.stderr


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_shell_blocks_say_sh(document):
    languages = {match.group(1) for match in FENCE.finditer(document.read_text())}
    assert not languages & {"bash", "shell", "console", "zsh"}, "mark shell blocks as ```sh so that they are run"


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_links_lead_somewhere(document):
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", document.read_text()))  # C++ lambdas look like links
    for target in re.findall(r"\]\(([^)#\s]+)", prose):
        if not re.match(r"[a-z]+:", target):
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_named_in_the_text_exist(document):
    for name in re.findall(r"`((?:kiln|cli|cmake|docs|examples|scripts|tests)/[\w./-]+)`", document.read_text()):
        assert (SOURCE / name).exists(), name


def test_readme_names_the_two_commands():
    commands = [line for path, _, script, _ in (block.values for block in ALL_BLOCKS)
                if path.name == "README.md" for line in script.splitlines()]
    assert "make demo" in commands and "make test" in commands


@pytest.mark.parametrize(
    "expected, printed, same",
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\nc\n", False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("took ... us (x)\n", "took 12.5 us (x)\n", True),
        ("took ... us (x)\n", "took 12.5 ms (x)\n", False),
    ],
)
def test_output_is_compared(expected, printed, same):
    assert matches(expected, printed) is same
