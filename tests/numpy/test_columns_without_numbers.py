"""Columns that are worked on as rows, with NaN and infinities among them, on a chip whose tensor engine multiplies to
transpose: what is no number stays where it is."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED, same


def masked(x, keep, number):
    return np.where(keep, x, np.asarray(number, x.dtype))


FUNCTIONS = {
    "nanmax": lambda x, keep: np.nanmax(masked(x, keep, np.nan), axis=0),
    "nanmin of an argument": lambda x, keep: np.nanmin(x, axis=0),
    "argmax": lambda x, keep: masked(x, keep, -np.inf).argmax(axis=0),
    "sort": lambda x, keep: np.sort(masked(x, keep, np.inf), axis=0),
    "sort of an argument": lambda x, keep: np.sort(x, axis=0),
    "largest so far": lambda x, keep: np.maximum.accumulate(masked(x, keep, -np.inf), axis=0),
    "smallest so far, rows": lambda x, keep: np.minimum.accumulate(np.pad(x, 1, constant_values=np.inf), axis=0) * 2,
    "turned": lambda x, keep: (masked(x, keep, -np.inf) + 1).T * 2,
    "all are finite": lambda x, keep: np.isfinite(x * 2).all(axis=0),
    "softmax": lambda x, keep: (lambda e: e / e.sum(axis=0))(
        (lambda z: np.exp(z - z.max(axis=0)))(masked(np.nan_to_num(x, nan=0), keep, -np.inf).astype(np.float32))),
}
SHAPES = [(200, 77), (131, 9), (40, 300), (257, 515)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns(name, shape):
    random = np.random.default_rng([SEED, *shape])
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        x = random.normal(size=shape).astype(dtype)
        if name.endswith("argument") or name == "all are finite":
            x[random.random(shape) < 0.1] = np.nan
        keep = random.random(shape) < 0.7
        keep[0] = True
        with np.errstate(all="ignore"):
            want = FUNCTIONS[name](x.astype(np.float32), keep)  # NumPy does not know where NaN of bfloat16 goes
        for opt in (1, 2):
            low = kiln.jit(FUNCTIONS[name]).lower(x, keep, target="trn1", opt=opt)
            assert low.check()
            got = low(x, keep)
            same(got, want.astype(got.dtype if want.dtype == np.float32 else want.dtype))
