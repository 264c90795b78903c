"""A wrong include does not compile: the compiler finds, for each folder of the library, the headers of those folders
that docs/architecture.md lets it use, and no others."""

import os
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "tests" / "layers"
FOLDERS = sorted(path.parent.name for path in SOURCE.glob("kiln/*/CMakeLists.txt"))


def allowed():
    """The table of docs/architecture.md: what each folder may use."""
    text = (SOURCE / "docs" / "architecture.md").read_text()
    table = text.split("| folder | may use |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.M)
    return {folder: set(re.findall(r"`(\w+)`", uses)) for folder, uses in rows}


def a_header(folder):
    return min((SOURCE / "kiln" / folder).rglob("*.h")).relative_to(SOURCE)


def compiler(folder, *options, code):
    includes = (BUILD / f"kiln_{folder}.includes").read_text().split()
    command = [(BUILD / "compiler").read_text(), "-std=c++20", "-x", "c++", *(f"-I{path}" for path in includes)]
    return subprocess.run([*command, *options, "-"], input=code, capture_output=True, text=True)


def test_the_table_has_every_folder():
    assert sorted(allowed()) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_sees_what_it_may_use(folder):
    code = "".join(f'#if __has_include("{a_header(other)}")\n{other}\n#endif\n' for other in FOLDERS)
    done = compiler(folder, "-E", "-P", code=code)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == allowed()[folder] | {folder}


def test_a_wrong_include_does_not_compile():
    header = a_header("sim")
    done = compiler("check", "-fsyntax-only", code=f'#include "{header}"\n')
    assert done.returncode != 0
    assert f"{header}: No such file" in done.stderr
