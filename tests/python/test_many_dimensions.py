"""Tensors in HBM of more dimensions than an instruction takes: inputs, outputs, parts of them, reshapes."""

import numpy as np
import pytest

import kiln
import kiln.nki as nki
import kiln.nki.isa as nisa
import kiln.nki.language as nl

SHAPE = (2, 3, 2, 2, 5, 4)
X = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def copied(take, shape, x=X):
    """What a kernel stores of take(x), through a tile."""
    @nki.jit
    def kernel(x):
        out = nl.ndarray(shape, dtype=x.dtype, buffer=nl.shared_hbm)
        part = take(x)
        rows = part.shape[0]
        tile = nl.ndarray((rows, int(np.prod(part.shape)) // rows), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=part)
        nisa.dma_copy(dst=out, src=tile)
        return out

    return nki.simulate(kernel)(x)


def test_whole():
    assert (copied(lambda x: x, SHAPE) == X).all()


@pytest.mark.parametrize("take", [
    lambda x: x[1],
    lambda x: x[1, :, :, :, :, :],
    lambda x: x[:, 2],
    lambda x: x[:, :, 1, :, 1:4, 2],
    lambda x: x[0:2, 0:3, 0:2, 0:2, 0:5, 1:3],
    lambda x: x[..., 3],
])
def test_parts(take):
    wanted = take(X)
    assert (copied(take, wanted.shape) == wanted).all()


def test_reshape():
    assert (copied(lambda x: x.reshape((6, 80)), (6, 80)) == X.reshape(6, 80)).all()
    flat = X.reshape(6, 80)
    assert (copied(lambda x: x.reshape(SHAPE)[1, 2], SHAPE[2:], flat) == X[1, 2]).all()


def test_six_dimensions_with_gaps_are_refused():
    big = np.zeros((3,) * 6, np.float32)
    with pytest.raises(kiln.NkiValidationError, match="operand.R21"):
        copied(lambda x: x[0:2, 0:2, 0:2, 0:2, 0:2, 0:2], (2, 32), big)
