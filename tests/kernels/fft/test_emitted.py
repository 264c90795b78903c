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

SEED = int(os.environ.get("KILN_SEED", np.random.SeedSequence().entropy % 2**32))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([BUILD / "tests" / "kernels" / "fft" / "write_fft_programs", folder], check=True)
    return folder


@pytest.mark.parametrize("target", ["trn1", "trn3"])  # trn2 has the programs of trn3
def test_the_same_bits(folder, target, tmp_path):
    print(f"KILN_SEED={SEED}")  # pytest shows it when a test fails
    files = sorted(folder.glob(f"*.{target}.kiln"))
    assert len(files) == 9
    for file in files:
        ours, theirs = round_trip.both_results(file, tmp_path, SEED)
        assert ours == theirs, file.name
