"""What the tests of kiln.blas share: random operands, and errors measured against float64."""

import os

import numpy as np

SEED = int(os.environ["KILN_SEED"])
EPS = {"float32": 2.0 ** -24, "float64": 2.0 ** -53, "complex64": 2.0 ** -24, "complex128": 2.0 ** -53}
DTYPES = ("float32", "complex64")


def rng():
    """A generator; a failing test shows the seed through the assertion's message."""
    return np.random.default_rng(SEED)


def normal(generator, shape, dtype="float32"):
    values = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(dtype)


def wide(array):
    return np.asarray(array, np.complex128 if np.asarray(array).dtype.kind == "c" else np.float64)


def assert_close(got, want, bound, what=""):
    """|got - want| <= bound everywhere; a NaN must be where one is wanted."""
    got, want = wide(got), wide(want)
    assert got.shape == want.shape, f"{what}: {got.shape}, expected {want.shape}; seed {SEED}"
    same = (np.isnan(got) & np.isnan(want)) | (got == want)
    off = np.where(same, 0, np.abs(np.where(same, 0, got) - np.where(same, 0, want)))
    assert (off <= bound).all(), f"{what}: off by {np.nanmax(off)}, allowed {np.max(bound)}; seed {SEED}"


def triangle(array, uplo, diag="nonunit"):
    """The triangular matrix that an array stands for."""
    out = np.triu(wide(array)) if uplo == "upper" else np.tril(wide(array))
    if diag == "unit":
        np.fill_diagonal(out, 1)
    return out


def symmetric(array, uplo, hermitian=False):
    """The symmetric or hermitian matrix that a triangle of an array stands for."""
    tri = triangle(array, uplo)
    other = tri - np.diag(np.diag(tri))
    if hermitian:
        return tri - 1j * np.diag(np.diag(tri).imag) + other.conj().T
    return tri + other.T


def op(array, trans):
    return {False: lambda a: a, True: lambda a: a.T, "C": lambda a: a.conj().T}[trans](wide(array))
