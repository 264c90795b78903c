"""Forms that kernel libraries in the field use: they must run, and give right values."""

import numpy as np
import pytest

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

DGE_NONE = 3  # the vendor's number of dge_mode.none


@pytest.fixture(autouse=True)
def trn2(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")


def test_enums_by_the_vendors_number():
    def kernel(x, mode):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(dst=t, src=x, dge_mode=mode)
        nisa.dma_copy(dst=out, src=t, oob_mode=0)
        return out

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(nki.simulate(kernel)(x, DGE_NONE), x)
    for wrong in (4, -1, True, 3.0):
        with pytest.raises(nisa.NkiValidationError, match="dge_mode"):
            nki.simulate(kernel)(x, wrong)


def test_one_core_of_a_pair_writes_an_output():
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        if nl.program_id(0) == 1:
            t = nl.ndarray(x.shape, dtype=x.dtype)
            nisa.dma_copy(dst=t, src=x)
            nisa.dma_copy(dst=out, src=t)
        return out

    x = np.arange(30, dtype=np.int32).reshape(5, 6)
    np.testing.assert_array_equal(nki.simulate(kernel[2])(x), x)
