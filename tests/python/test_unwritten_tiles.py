"""Tiles that are read before anything writes them: `kiln check` says so before a run does."""

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

SHAPE = "float32[128,128]"


def tile(memory=nl.sbuf, dtype=nl.float32):
    return nl.ndarray((128, 128), dtype=dtype, buffer=memory)


def output():
    return tile(nl.shared_hbm)


def stores(x):
    out, t = output(), tile()
    nisa.dma_copy(dst=out, src=t)
    return out


def adds(x):
    out, t, p = output(), tile(), tile(nl.psum)
    nisa.dma_copy(dst=t, src=x)
    nisa.nc_matmul(dst=p, stationary=t, moving=t, accumulate=True)
    nisa.tensor_copy(dst=t, src=p)
    nisa.dma_copy(dst=out, src=t)
    return out


def computes(x):
    out, t, u = output(), tile(), tile()
    nisa.tensor_scalar(dst=u, data=t, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out, src=u)
    return out


def in_place(x):
    out, t = output(), tile()
    nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out, src=t)
    return out


def found(kernel):
    return [(d.code, d.severity) for d in kiln.check(kernel, SHAPE).diagnostics]


@pytest.mark.parametrize("kernel, severity", [(stores, "error"), (adds, "error"), (computes, "warning"),
                                              (in_place, "warning")])
def test_a_tile_that_nothing_has_written(kernel, severity):
    assert found(kernel) == [("flow.R5", severity)]
    assert bool(kiln.check(kernel, SHAPE)) == (severity == "warning")
    with pytest.raises(kiln.NkiValidationError):
        nki.simulate(kernel)(np.ones((128, 128), np.float32))


def half_filled(x):
    """Legal: what was not loaded is computed with, and not stored."""
    out, t = output(), tile()
    nisa.dma_copy(dst=t[0:64], src=x[0:64])
    nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out[0:64], src=t[0:64])
    nisa.dma_copy(dst=out[64:128], src=x[64:128])
    return out


def predicated(x):
    """Legal: only elements that were written are kept."""
    out, t, chosen, p = output(), tile(), tile(), tile(dtype=nl.uint8)
    nisa.dma_copy(dst=t, src=x)
    nisa.memset(dst=p, value=1)
    nisa.tensor_copy_predicated(dst=chosen, src=t, predicate=p)
    nisa.dma_copy(dst=out, src=chosen)
    return out


def first_overwrites(x):
    out, t, p = output(), tile(), tile(nl.psum)
    nisa.dma_copy(dst=t, src=x)
    for k in range(2):
        nisa.nc_matmul(dst=p, stationary=t, moving=t, accumulate=k > 0)
    nisa.tensor_copy(dst=t, src=p)
    nisa.dma_copy(dst=out, src=t)
    return out


@pytest.mark.parametrize("kernel", [half_filled, predicated, first_overwrites])
def test_what_is_written_first_is_left_alone(kernel):
    assert found(kernel) == []
    nki.simulate(kernel)(np.ones((128, 128), np.float32))
