"""What the tests of the program `kiln` share."""

import os
import pathlib
import resource
import signal
import subprocess

import numpy as np
import pytest

KILN = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli" / "kiln"
PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture
def kiln(tmp_path):
    """Runs kiln in an empty folder. Words that end in .kiln are programs of the tests when there is such a one.
    `limits` maps a resource to its limit: a file that may not grow fails as a full disk does."""

    def set_limits(limits):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for what, limit in limits.items():
            resource.setrlimit(what, (limit, limit))

    def run(*words, input=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limits=None):
        words = [str(PROGRAMS / word) if (PROGRAMS / str(word)).is_file() else str(word) for word in words]
        return subprocess.run(
            [KILN, *words],
            cwd=tmp_path,
            input="" if input is None else input,
            stdout=stdout,
            stderr=stderr,
            text=True,
            timeout=120,
            preexec_fn=limits and (lambda: set_limits(limits)),
        )

    return run


@pytest.fixture
def x(tmp_path):
    """x.npy and its array: whole numbers, so that sums and products are exact."""
    array = np.random.default_rng(1).integers(-100, 100, (4, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", array)
    return array
