"""Rows and columns in the other order: the bits are NumPy's, and no element is a DMA transfer of its own."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

CASES = {
    "both": (lambda x: x[::-1, ::-1] * 1, (300, 301)),
    "steps": (lambda x: x[::-2, ::-3], (300, 301)),
    "some columns": (lambda x: x[:, 200:10:-1], (301, 300)),
    "all of three": (np.flip, (20, 33, 77)),
    "first and last": (lambda x: np.flip(x, (0, 2)) + x, (20, 33, 77)),
    "colours": (lambda x: x[..., ::-1], (101, 99, 3)),
    "a quarter": (np.rot90, (200, 301)),
    "rolled": (lambda x: np.roll(x, (7, -9), (0, 1)), (130, 257)),
}


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.uint8], ids=["float32", "bfloat16", "uint8"])
@pytest.mark.parametrize("name", CASES)
def test_the_other_order(name, dtype, target):
    f, shape = CASES[name]
    x = np.random.default_rng(SEED).integers(0, 200, shape).astype(dtype)
    assert np.asarray(kiln.jit(f, target=target)(x)).tobytes() == np.ascontiguousarray(f(x)).tobytes()


@pytest.mark.parametrize("f", [lambda x: x[::-1, ::-1] * 1.0, lambda x: np.flip(x, 1), np.rot90])
def test_time_is_that_of_moving_it(f):
    report = kiln.jit(f).lower("bfloat16[3000,3000]", target="trn2").report()
    assert report["time_ns"] < 2 * report["roofline_ns"]
