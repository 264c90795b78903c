"""`pip install .` compiles the sources of a folder in a few large pieces (KILN_UNITY). Whether each piece is C++ as a
whole is asked without making objects, which would take five times as long."""

import concurrent.futures
import json
import shlex
import subprocess

import pytest

from fresh_environment import BUILD, SOURCE, run
from test_pip_install import CACHE, COMPILER

PYTHON = next(line.partition("=")[2] for line in CACHE.splitlines() if line.startswith("KILN_PYTHON:"))


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """[(name, command)] of the pieces, in a build that is configured only."""
    build = tmp_path_factory.mktemp("together")
    run("cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", "-D", "KILN_UNITY=ON", "-D", "CMAKE_BUILD_TYPE=Release",
        "-D", f"CMAKE_CXX_COMPILER={COMPILER}", "-D", f"KILN_PYTHON={PYTHON}", "-D", "CMAKE_EXPORT_COMPILE_COMMANDS=ON",
        *(f"-DKILN_{part}=OFF" for part in ("BENCH", "EXAMPLES", "TESTS")))
    commands = json.loads((build / "compile_commands.json").read_text())
    return [(c["file"], shlex.split(c["command"]), build) for c in commands if "/Unity/" in c["file"]]


def compiled(piece):
    name, command, build = piece
    done = subprocess.run([*command, "-fsyntax-only"], cwd=build, capture_output=True, text=True)
    return f"{name}\n{done.stderr}" if done.returncode else ""


def test_pieces_are_compiled_as_a_whole(pieces):
    assert len(pieces) > 8, BUILD
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [text for text in pool.map(compiled, pieces) if text]
    assert not problems, "\n".join(problems)[:4000]
