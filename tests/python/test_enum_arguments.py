"""Enum arguments are members, not numbers; the two numbers of dge_mode that public kernels keep still work."""

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.arange(32, dtype=np.float32).reshape(4, 8)


def copy_with(**arguments):
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x, **arguments)
        return out
    return nki.simulate(kernel)(X)


def refused(call):
    with pytest.raises(kiln.NkiValidationError) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize("arguments", [{"dge_mode": 1}, {"dge_mode": 2}, {"oob_mode": 0}, {"oob_mode": 1},
                                       {"engine": 0}, {"dge_mode": "hwdge"}, {"dge_mode": nisa.oob_mode.skip}], ids=str)
def test_numbers_and_other_enums_are_refused(arguments):
    assert refused(lambda: copy_with(**arguments)) == "nki.R10"


@pytest.mark.parametrize("number", [0, 3])
def test_unknown_and_none_may_be_numbers(number):
    assert np.array_equal(copy_with(dge_mode=number), X)


def test_a_member_is_no_priority(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    assert refused(lambda: copy_with(priority=nisa.oob_mode.skip)) == "nki.R10"
    assert np.array_equal(copy_with(priority=1), X)


def test_scales_is_a_list():
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_compute(out, [x, x], nl.add, scales=1.0)
        return out

    assert refused(lambda: nki.simulate(kernel)(X)) == "nki.R10"
