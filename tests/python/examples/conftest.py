"""The example kernels import `nki`, and each other."""

import os
import pathlib
import sys

import ml_dtypes
import numpy as np
import pytest

import kiln

kiln.activate()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "nki"))


@pytest.fixture(params=["trn2", "trn3"])
def target(request, monkeypatch):
    """Runs a test once for every chip that is sold."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", request.param)
    return request.param


@pytest.fixture
def rng():
    seed = int(os.environ["KILN_SEED"])
    print(f"seed {seed}")  # pytest shows it when the test fails
    return np.random.default_rng(seed)


@pytest.fixture(params=["float32", "bfloat16", "float16"])
def dtype(request):
    return np.dtype(getattr(ml_dtypes, request.param, None) or request.param)
