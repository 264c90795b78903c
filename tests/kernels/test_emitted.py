"""Every kernel as NKI source: traced again, it gives the same bits. Inputs are random; KILN_SEED repeats a run."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "emit"))

import round_trip  # noqa: E402

SEED = int(os.environ["KILN_SEED"])
KERNELS = {"blas": 24, "fft": 27, "sparse": 20}
LIMITS = {"limits": np.array([[1e-12, 3]], np.float32)}  # a tolerance that is not met, passes of a solver


@pytest.fixture(scope="module", params=KERNELS)
def library(request, tmp_path_factory):
    """The name of a library, and a folder with its programs."""
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([BUILD / "tests" / "kernels" / f"write_{request.param}_programs", folder], check=True)
    return request.param, folder


@pytest.mark.parametrize("target", ["trn1", "trn3"])  # trn2 has the programs of trn3
def test_the_same_bits(library, target, tmp_path):
    print(f"KILN_SEED={SEED}")  # pytest shows it when a test fails
    name, folder = library
    files = sorted(folder.glob(f"*.{target}.kiln"))
    assert len(files) == KERNELS[name]
    for file in files:
        ours, theirs = round_trip.both_results(file, tmp_path, SEED, LIMITS)
        assert ours == theirs, file.name
