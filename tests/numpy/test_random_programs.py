"""Random programs, on every backend that computes here, at targets and levels that change with the seed, in one kernel
and in several: NumPy's elements, dtypes and shapes, and the same arguments afterwards."""

import numpy as np
import pytest

import kiln
from against_numpy import SEED, narrow
from random_programs import PLAIN, Program

OPTIONS = [{"target": "trn3", "opt": 1}, {"target": "trn1"}, {"lnc": 2}, {"kernel_ops": 2}, {"opt": 1}]


def _compare(got, want, what):
    want = narrow(want)
    assert (np.shape(got), np.asarray(got).dtype) == (want.shape, want.dtype), what
    np.testing.assert_array_equal(got, want, err_msg=what)


@pytest.mark.parametrize("number", range(60))
def test_program(number):
    program = Program(np.random.default_rng([SEED, number]))
    print(f"KILN_SEED={SEED}\n{program.source}", {k: (x.dtype.name, x.shape) for k, x in program.arguments.items()})
    with np.errstate(all="ignore"):
        plain = program.copied()
        want = program.function(PLAIN)(*plain.values())
    for options in ({}, {"backend": "native"}, OPTIONS[number % len(OPTIONS)]):
        ours = program.copied()
        got = kiln.jit(program.function(kiln), **options)(*ours.values())
        for i, (mine, numpys) in enumerate(zip(got, want)):
            _compare(mine, numpys, f"result {i} with {options}")
        for name in plain:
            _compare(ours[name], plain[name], f"{name} afterwards with {options}")
