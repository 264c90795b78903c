"""Many short rows that meet a small matrix, and channels that lie beside each other: NumPy's values, in a few passes
over what DMAs load as it lies."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

SHAPES = [(20000, 3, 3), (16411, 4, 4), (16384, 16, 4), (40000, 3, 1), (16896, 1, 5), (8, 4096, 2, 30)]


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-6), (ml_dtypes.bfloat16, 1e-2)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(shape, dtype, tolerance, target):
    random = np.random.default_rng(SEED)
    x = random.standard_normal(shape[:-1]).astype(dtype)
    w = random.standard_normal(shape[-2:]).astype(dtype)
    want = x.astype(np.float64) @ w.astype(np.float64)
    for f in lambda x: x @ w, lambda x, w: x @ w:  # a constant, or not
        got = kiln.jit(f, target=target)(*((x,) if f.__code__.co_argcount == 1 else (x, w)))
        assert got.dtype == dtype
        assert np.abs(got.astype(np.float64) - want).max() < tolerance * np.abs(want).max()


def test_what_is_no_number_stays_in_its_row():
    x = np.random.default_rng(SEED).standard_normal((20000, 3)).astype(np.float32)
    x[::7, 1], x[3::11, 2] = np.nan, np.inf
    w = np.array([[1, 2, -3], [0.5, 0, 1], [2, -1, 0]], np.float32)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(kiln.jit(lambda x, w: x @ w)(x, w), x @ w, rtol=1e-4, atol=1e-5)


# With a turn for each 128 rows, or a transfer for each element, 4.1, 8.0, 1.5 and 0.08 ms.
TIMES = {
    "points": (lambda x, w: x @ w, ("float32[1048576,3]", "float32[3,3]"), 90e3),
    "colours": (lambda x, w: x.astype(np.float32) @ w, ("uint8[1080,1920,3]", "float32[3,3]"), 200e3),
    "lengths": (lambda x: np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + x[:, 2] ** 2), ("float32[1048576,3]",), 90e3),
    "channels first": (lambda x: np.moveaxis(x.astype(np.float32) / 255, -1, -3), ("uint8[8,224,224,3]",), 40e3),
}


@pytest.mark.parametrize("name", TIMES)
def test_times(name):
    f, shapes, most = TIMES[name]
    assert kiln.jit(f).lower(*shapes, target="trn2").report()["time_ns"] < most
