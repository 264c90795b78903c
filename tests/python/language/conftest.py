"""Targets and random arrays for the tests of nki.language."""

import os

import ml_dtypes
import numpy as np
import pytest

from kernels import TARGETS


@pytest.fixture(params=TARGETS)
def target(request, monkeypatch):
    """Runs a test once for every chip."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", request.param)
    return request.param


@pytest.fixture
def rng(request):
    seed = int(os.environ["KILN_SEED"])
    print(f"seed {seed}")  # pytest shows it when the test fails
    return np.random.default_rng(seed)


@pytest.fixture(params=["float32", "bfloat16", "float16"])
def float_dtype(request):
    return np.dtype(getattr(ml_dtypes, request.param, None) or request.param)
