"""Every test that Python drives: which build it tests.

CTest names the build and runs the tests in its environment. By hand, with an activated environment, it is the build
that the environment has.
"""

import importlib.util
import os
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def build_of_this_python():
    """The build whose kiln is imported here; None when there is none (the folder kiln of the sources is none)."""
    found = importlib.util.find_spec("kiln")
    return pathlib.Path(found.origin).parents[2] if found and found.origin else None


def pytest_configure():
    os.environ.setdefault("KILN_SOURCE_DIR", str(SOURCE))
    build = build_of_this_python()
    if build is None:  # one without the Python package, as those with sanitizers are
        return
    named = os.environ.setdefault("KILN_BUILD_DIR", str(build))
    if not build.samefile(named):
        pytest.exit(f"kiln comes from {build}, and the tests are of {named}; run CMake there again", returncode=2)
