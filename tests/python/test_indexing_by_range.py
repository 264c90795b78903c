"""Ranges as indices: kernels in the wild write x[nl.affine_range(n), ...] for a slice."""

import numpy as np
import pytest

from kiln import nki
from kiln._trace.errors import NkiValidationError
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def copy_part(x, rows, columns):
    out = nl.ndarray((max(len(rows), 1), len(columns)), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x[rows, columns])
    return out


@pytest.mark.parametrize("rows, columns", [(range(7), range(9)), (range(2, 5), range(1, 9, 3))])
def test_range_is_a_slice(rows, columns):
    x = np.arange(63, dtype=np.float32).reshape(7, 9)
    got = nki.simulate(copy_part)(x, rows, columns)
    np.testing.assert_array_equal(got, x[np.ix_(rows, columns)])


@pytest.mark.parametrize("rows", [range(8), range(3, 3), range(5, 0, -1)])
def test_range_outside_the_dimension(rows):
    x = np.zeros((7, 9), np.float32)
    with pytest.raises(NkiValidationError, match="nki.R11"):
        nki.simulate(copy_part)(x, rows, range(9))
