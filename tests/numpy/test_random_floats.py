"""Random programs of floats, at targets and levels that change with the seed: as near to NumPy's float64 as the error
of NumPy in their own dtype, of operations that are off by a rounding, and of a rounding of the largest element
allow."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED
from random_floats import Program

OPTIONS = [{}, {"target": "trn3"}, {"opt": 1}, {"target": "trn1"}, {"lnc": 2}, {"kernel_ops": 3}, {"backend": "native"}]
# Of these together. Functions of the chip are off by some roundings of float32, which no number of 16 bits sees.
MOST = {np.dtype(np.float32): 4, np.dtype(np.float16): 2, np.dtype(ml_dtypes.bfloat16): 2}


@pytest.mark.parametrize("number", range(140))
def test_program(number):
    with np.errstate(all="ignore"):
        program = Program(np.random.default_rng([SEED, 7, number]))
    options = OPTIONS[number % len(OPTIONS)]
    print(f"KILN_SEED={SEED} {options}\n{program.source}", {k: x.shape for k, x in program.arguments.items()},
          program.dtype)
    got = kiln.jit(program.function(), **options)(*program.arguments.values())
    assert len(got) == len(program.results)
    for name, mine, (dtype, want, own, shaken) in zip(program.results, got, program.expected()):
        mine = np.asarray(mine)
        assert (mine.shape, mine.dtype) == (np.shape(want), dtype), name
        off = np.abs(mine.astype(np.float64) - want).max()
        allowed = MOST[program.dtype] * (own + shaken + program.rounding * np.abs(want).max() + program.least)
        assert off <= allowed, f"{name}: {off} from float64, where {allowed} are allowed and NumPy is {own} off"
