"""Transposes whose rows are longer than what a partition holds: the bits are NumPy's, at every level."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

CASES = {
    "channels first": ((128, 1024, 32), (2, 0, 1)),
    "channels first, odd blocks": ((99, 1408, 24), (2, 0, 1)),
    "of a batch": ((2, 40000, 64), (0, 2, 1)),
}


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_long_rows(name, dtype, level):
    shape, perm = CASES[name]
    x = np.random.default_rng(SEED).integers(-200, 200, shape).astype(dtype)
    for target in ("trn2", "trn3") if level == 2 else ("trn2",):
        found = np.asarray(kiln.jit(lambda x: np.transpose(x, perm), target=target, opt=level)(x))
        assert found.tobytes() == np.ascontiguousarray(np.transpose(x, perm)).tobytes()
