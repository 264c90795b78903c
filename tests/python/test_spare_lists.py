"""What a traced program leaves to the next one is room, never contents; programs that are kept stay as they are."""

import gc

import numpy as np

import kiln

kiln.activate()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402


def kernel_of(count, number):
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(dst=tile, src=x)
        for _ in range(count):
            made = nl.ndarray(x.shape, dtype=x.dtype)
            nisa.tensor_scalar(dst=made, data=tile, op0=nl.add, operand0=number)
            tile = made
        nisa.dma_copy(dst=out, src=tile)
        return out

    return kernel


def test_programs_do_not_meet():
    x = np.zeros((128, 8), np.float32)
    kept = kiln.program(kernel_of(300, 1.0), x)
    text = str(kept)
    for count in (2000, 3, 500, 0, 40):
        assert np.all(kernel_of(count, 2.0)(x) == 2 * count)
        gc.collect()
        short = kiln.program(kernel_of(count, 2.0), x)
        assert str(short).count("tensor_scalar") == count
        assert str(kept) == text
