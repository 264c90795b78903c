"""Packed values as arguments: integers that say which packed dtype they hold."""

import ml_dtypes
import numpy as np
import pytest

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

_ELEMENTS = {
    nl.float8_e4m3fn_x4: (ml_dtypes.float8_e4m3fn, np.uint32),
    nl.float8_e5m2_x4: (ml_dtypes.float8_e5m2, np.uint32),
}


@pytest.fixture(autouse=True)
def trn3(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")


def product(a, a_scale, b, b_scale):
    """a.T @ b of packed HBM tensors that keep their dtype on the way to the tensor engine."""
    tiles = []
    for x in (a, b, a_scale, b_scale):
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        tiles.append(tile)
    total = nl.ndarray((a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul_mx(total, *tiles)
    result = nl.ndarray(total.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=total)
    out = nl.ndarray(total.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out


@pytest.mark.parametrize("dtype", _ELEMENTS)
def test_a_packed_argument_keeps_its_dtype_in_the_kernel(dtype):
    element, bits = _ELEMENTS[dtype]
    rng = np.random.default_rng(8)
    values = [rng.integers(-4, 5, (32, columns, 4)).astype(element) for columns in (16, 24)]
    packed = [v.view(bits)[..., 0].view(dtype) for v in values]
    one = np.full((4, 24), 127, np.uint8)
    got = nki.simulate(product)(packed[0], one[:, :16], packed[1], one)
    wide = [v.astype(np.float64).transpose(0, 2, 1).reshape(128, -1) for v in values]
    np.testing.assert_array_equal(got, wide[0].T @ wide[1])


def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out


def test_numpy_knows_the_packed_names_and_results_are_their_bits():
    bits = np.random.default_rng(9).integers(0, 1 << 16, (4, 6)).astype(np.uint16)
    packed = np.zeros((4, 6), dtype=nl.float4_e2m1fn_x4)
    packed[...] = bits.view(nl.float4_e2m1fn_x4)
    got = nki.simulate(copied)(np.concatenate([packed, packed]))
    assert got.dtype == np.uint16
    np.testing.assert_array_equal(got, np.concatenate([bits, bits]))
