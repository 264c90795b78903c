"""Every test that Python drives: which build it tests, and the seed of what is random.

CTest names the build and runs the tests in its environment. By hand, with an activated environment, it is the build
that the environment has. KILN_SEED repeats a run; without it, each run draws another one.
"""

import importlib.util
import os
import pathlib
import random

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def build_of_this_python():
    """The build whose kiln is imported here; None when there is none (the folder kiln of the sources is none)."""
    found = importlib.util.find_spec("kiln")
    return pathlib.Path(found.origin).parents[2] if found and found.origin else None


def pytest_configure(config):
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import settings

        settings.register_profile("kiln", derandomize="KILN_SEED" in os.environ)
        settings.load_profile("kiln")
    os.environ.setdefault("KILN_SEED", str(random.SystemRandom().getrandbits(32)))
    os.environ.setdefault("KILN_SOURCE_DIR", str(SOURCE))
    build = build_of_this_python()
    if build is None:  # one without the Python package, as those with sanitizers are
        return
    named = os.environ.setdefault("KILN_BUILD_DIR", str(build))
    if not build.samefile(named):
        pytest.exit(f"kiln comes from {build}, and the tests are of {named}; run CMake there again", returncode=2)


def pytest_report_header():
    return f"KILN_SEED={os.environ['KILN_SEED']}"


def pytest_terminal_summary(terminalreporter):
    if terminalreporter.stats.get("failed"):  # -q shows no header
        terminalreporter.write_line(f"KILN_SEED={os.environ['KILN_SEED']} repeats this run")
