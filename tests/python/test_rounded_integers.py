"""Integers that float32 does not hold are warned about where an engine computes with them in float32."""

import os
import warnings

import numpy as np
import pytest

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

PHILOX = np.uint32(0xD2511F53)


def product(x, y, engine):
    a, b, t = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(3))
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=a, src=x)
    nisa.dma_copy(dst=b, src=y)
    nisa.tensor_tensor(dst=t, data1=a, data2=b, op=nl.multiply, engine=engine)
    nisa.dma_copy(dst=out, src=t)
    return out


def test_a_round_of_philox_in_float32_is_warned_about():
    x = np.full((4, 8), PHILOX)
    y = np.arange(32, dtype=np.uint32).reshape(4, 8)
    with pytest.warns(nki.NkiWarning, match=r"run\.R13") as caught:
        got = nki.simulate(product)(x, y, nisa.engine.vector)
    assert len(caught) == 1
    assert f"is {PHILOX}, which float32 rounds to {int(np.float32(PHILOX))}" in str(caught[0].message)
    assert (got != x * y).any()


def test_the_same_on_gpsimd_is_exact_and_silent():
    x = np.full((4, 8), PHILOX)
    y = np.arange(32, dtype=np.uint32).reshape(4, 8) * np.uint32(0x9E3779B9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = nki.simulate(product)(x, y, nisa.engine.gpsimd)
    np.testing.assert_array_equal(got, x * y)


def test_small_integers_are_silent():
    rng = np.random.default_rng(int(os.environ["KILN_SEED"]))
    x, y = (rng.integers(0, 4097, (4, 8), dtype=np.uint32) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = nki.simulate(product)(x, y, nisa.engine.vector)
    np.testing.assert_array_equal(got, x * y)
