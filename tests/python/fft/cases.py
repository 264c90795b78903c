"""What the tests of kiln.fft share: random numbers, and errors relative to the largest number of a result."""

import os

import numpy as np

SEED = int(os.environ["KILN_SEED"])
BACKENDS = ("native", "simulator")


def rng():
    return np.random.default_rng(SEED)


def normal(generator, shape, dtype="complex64"):
    values = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(dtype)


def wide(array):
    array = np.asarray(array)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def error(got, want):
    """max |got - want| / max |want|"""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, (got.shape, want.shape)
    return float(np.abs(wide(got) - want).max() / max(np.abs(want).max(), 1e-300))


def assert_close(got, want, bound=1e-6, what=""):
    found = error(got, want)
    assert found <= bound, f"{what}: error {found:.2e} of the largest number, expected at most {bound:.0e}; seed {SEED}"
