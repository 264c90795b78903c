"""Functions of one operand against NumPy and SciPy."""

import numpy as np
import pytest
from scipy import special

from kernels import close, lowering, refused, run, same
from kiln.nki import language as nl


def sigmoid(x):
    return special.expit(x)


def gelu_dx(x):
    return special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


# name -> (reference in double precision, smallest and largest argument)
REFERENCES = {
    "arctan": (np.arctan, -1.57, 1.57),
    "erf": (special.erf, -4, 4),
    "erf_dx": (lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x), -4, 4),
    "exp": (np.exp, -10, 10),
    "gelu": (lambda x: x * special.ndtr(x), -5, 5),
    "gelu_apprx_sigmoid": (lambda x: x * sigmoid(1.702 * x), -5, 5),
    "gelu_apprx_sigmoid_dx": (lambda x: sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - sigmoid(1.702 * x))), -5, 5),
    "gelu_apprx_tanh": (lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), -5, 5),
    "gelu_dx": (gelu_dx, -5, 5),
    "log": (np.log, 1e-3, 1e3),
    "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), -10, 10),
    "relu": (lambda x: np.maximum(x, 0), -5, 5),
    "sigmoid": (sigmoid, -10, 10),
    "sign": (np.sign, -5, 5),
    "silu": (lambda x: x * sigmoid(x), -10, 10),
    "silu_dx": (lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))), -10, 10),
    "softplus": (lambda x: np.log1p(np.exp(x)), -10, 10),
    "sqrt": (np.sqrt, 1e-3, 6e4),
    "square": (np.square, -100, 100),
    "tanh": (np.tanh, -5, 5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-3, 6e4),
    "reciprocal": (lambda x: 1 / x, 1e-3, 6e4),
    "abs": (np.abs, -100, 100),
    "negative": (np.negative, -100, 100),
}
OTHER_INSTRUCTION = {"rsqrt": "tensor_scalar", "reciprocal": "reciprocal", "abs": "tensor_scalar",
                     "negative": "tensor_scalar"}


@pytest.mark.parametrize("name", REFERENCES)
def test_values(target, rng, float_dtype, name):
    reference, low, high = REFERENCES[name]
    shape = (int(rng.integers(1, 129)), int(rng.integers(1, 200)))
    x = rng.uniform(low, high, shape).astype(float_dtype)
    want = reference(x.astype(np.float64))
    got = run(getattr(nl, name), x)
    assert got.dtype == float_dtype
    close(got, want.astype(float_dtype))
    wide = run(lambda t: getattr(nl, name)(t, dtype=nl.float32), x)
    assert wide.dtype == np.float32
    close(wide, want, rtol=3e-6)


@pytest.mark.parametrize("name", REFERENCES)
def test_one_instruction_each(name):
    x = np.ones((3, 5), np.float32)
    assert lowering(getattr(nl, name), x) == [OTHER_INSTRUCTION.get(name, "activation")]


def test_special_values(target):
    x = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0]], np.float32)
    same(run(nl.exp, x), np.array([[np.nan, np.inf, 0, 1, 1]], np.float32))
    same(run(nl.abs, x), np.abs(x))
    same(run(nl.negative, x[:, 1:].copy()), -x[:, 1:])
    same(run(nl.square, x), x * x)


def test_rsqrt_does_not_read_psum():
    refused("operand.R5", lambda t: nl.rsqrt(nl.transpose(t)), np.ones((4, 4), np.float32))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int32])
def test_integers(target, rng, dtype):
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (5, 17), dtype, endpoint=True)
    same(run(nl.invert, x), ~x)
    if dtype == np.int32:
        x[0, 0] = 123456789
        same(run(nl.negative, x), -x)
    flags = rng.integers(0, 2, (5, 17)).astype(dtype)
    same(run(nl.logical_not, flags), 1 - flags)


def test_logical_not_of_floats_and_into_another_dtype(target, rng):
    flags = rng.integers(0, 2, (5, 17)).astype(np.float32)
    same(run(nl.logical_not, flags), 1 - flags)
    same(run(lambda t: nl.logical_not(t, dtype=nl.uint8), flags), (1 - flags).astype(np.uint8))


def test_what_is_no_tile_is_refused():
    x = np.ones((2, 2), np.float32)
    for name in [*REFERENCES, "invert", "logical_not", "sin", "cos", "tan", "floor", "ceil", "trunc"]:
        refused("nki.R27", lambda t: getattr(nl, name)(1.0), x)


def test_tokens_that_are_no_functions():
    x = np.ones((2, 2), np.float32)
    for name in ("prelu", "bypass", "average"):
        refused("nki.R1", lambda t: getattr(nl, name)(t), x)
