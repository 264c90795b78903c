"""`pip install .` into a fresh environment, and a kernel run from there. Objects come from ccache when the build made
them, so sources are compiled one by one; test_together.py is about the large pieces."""

import os
import re

from fresh_environment import BUILD, KERNEL, SOURCE, environment_with, run

WHEEL = BUILD.parent / f"{BUILD.name}-wheel"  # beside the build: ccache compares paths relative to it
# The name that the build calls the compiler by: ccache takes another name for another compiler.
CACHE = (BUILD / "CMakeCache.txt").read_text()
COMPILER = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", CACHE, re.M)[1]


def test_pip_installs_the_source_tree(tmp_path):
    builder = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings = ("-C", f"build-dir={WHEEL}", "-C", "cmake.define.KILN_UNITY=OFF")
    fresh = environment_with(tmp_path / "fresh", *settings, SOURCE, env={**builder, "CXX": COMPILER})
    files = run(fresh / "bin" / "python", "-m", "pip", "show", "--files", "kiln-nki").split("Files:")[1].split()
    assert any(f.startswith("kiln/_kiln.") for f in files)
    assert [f for f in files if not f.startswith(("kiln/", "kiln_nki-", "../../../bin/kiln"))] == []
    (tmp_path / "double.py").write_text(KERNEL)
    assert str(fresh) in run(fresh / "bin" / "kiln", "run", "double.py", cwd=tmp_path)
