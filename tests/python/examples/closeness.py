"""How close a kernel's result is to NumPy's."""

import warnings

import numpy as np

# Rounding of the results' dtype, and of intermediate values that a kernel keeps in the inputs' dtype.
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 3e-3}


def normal(rng, shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


def run(kernel, *args, **kwargs):
    """The kernel's result; a warning is an error: examples are written as the manual advises."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kernel(*args, **kwargs)


def assert_close(got, want, dtype="float32", factor=1):
    """The largest error, relative to the largest value, fits the dtype."""
    got, want = np.asarray(got).astype(np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error <= factor * TOLERANCE[str(np.dtype(dtype))], f"error {error:.1e}"
