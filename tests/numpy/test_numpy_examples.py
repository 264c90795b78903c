"""examples/numpy: every example agrees with NumPy in float64 and passes the check."""

import importlib
import os
import pathlib
import sys

import numpy as np
import pytest

import kiln

FOLDER = pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "examples" / "numpy"
sys.path.insert(0, str(FOLDER))

import comparing  # noqa: E402
import qwen3  # noqa: E402

FUNCTIONS = {"softmax": "softmax", "layer_norm": "layer_norm", "attention_with_cache": "attention", "rope": "rope",
             "swiglu": "swiglu", "mixture_of_experts": "mixture", "delta_net": "delta_net", "cnn": "cnn",
             "k_means": "k_means", "heat": "heat", "adamw": "adamw", "qwen3": "layer"}


def test_all_are_here():
    assert {p.stem for p in FOLDER.glob("*.py")} == {*FUNCTIONS, "comparing"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example(name):
    module = importlib.import_module(name)
    function = getattr(module, FUNCTIONS[name])
    arguments = module.arguments(np.random.default_rng(1))
    assert comparing.error_of(function, arguments) < 1e-4
    assert kiln.jit(function).lower(*arguments).check()


def test_a_step_of_decoding():
    arguments = qwen3.decode_arguments(np.random.default_rng(1))
    assert comparing.error_of(qwen3.decode, arguments) < 1e-4


def test_the_whole_model_has_a_time():
    timing = qwen3.model.time(length=64, vocabulary=1024)
    assert [s.name for s in timing.steps] == ["embedded", *["layer"] * 28, "logits"]
    assert timing.band_us[0] < timing.latency_us < timing.band_us[1]
