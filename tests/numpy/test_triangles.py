"""Triangles, given and made: large ones are comparisons, and the bits are NumPy's."""

import numpy as np
import pytest

import kiln


@pytest.mark.parametrize("shape", [(300, 301), (300, 257), (257, 300), (2, 300, 300), (70000, 3), (40, 50)])
@pytest.mark.parametrize("k", [0, 1, -1, 5, -7, 290, -256, 1000, -1000, 2**24])
def test_parts_of_a_matrix(shape, k):
    x = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    for f in (np.tril, np.triu):
        np.testing.assert_array_equal(kiln.jit(lambda x, f=f: f(x, k))(x), f(x, k))


@pytest.mark.parametrize("k", [0, 3, -4, 255, -300])
@pytest.mark.parametrize("shape", [(300, 301), (400, 256)])
def test_given_masks(shape, k):
    x = np.ones(shape, np.float32)
    mask = np.tri(*shape, k=k, dtype=bool)
    other = mask.copy()
    other[shape[0] // 2, shape[1] // 3] ^= True  # no triangle any more
    for m in (mask, ~mask, other, mask[::-1].copy(), mask[:, ::-1].copy(), np.ones(shape, bool)):
        np.testing.assert_array_equal(kiln.jit(lambda x, m=m: np.where(m, x, -1))(x), np.where(m, x, -1))


def test_a_large_one_is_no_constant():
    assert not kiln.jit(np.tril).lower("float32[4000,4000]").constants
    assert len(kiln.jit(lambda x: np.where(np.tri(3000, dtype=bool), x, 0)).lower("float32[3000,3000]").ir) < 2000
