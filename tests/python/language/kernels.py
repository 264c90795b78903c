"""Running nl functions on arrays: each is loaded, the function applied, its result stored."""

import re

import numpy as np
import pytest

from kiln import nki
from kiln._trace import env, traced_kernel
from kiln.nki import language as nl

TARGETS = ("trn1", "trn2", "trn3")


def _kernel(function):
    def kernel(*tensors):
        result = function(*[nl.load(t) for t in tensors])
        if result.buffer == nl.psum:
            result = nl.copy(result)
        out = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=result)
        return out

    return kernel


def run(function, *arrays):
    """function(tiles...) as an array."""
    return nki.simulate(_kernel(function))(*arrays)


def run_kernel(kernel, *arrays):
    """A kernel that returns tensors in HBM, as arrays."""
    return nki.simulate(kernel)(*arrays)


def instructions(kernel, *arrays):
    """The names of the instructions that a kernel issues, in order."""
    text = str(traced_kernel.TracedKernel(kernel, arrays, {}, env.target()).program())
    return re.findall(r"^\s*(\w+)\(dst=", text, re.M)


def lowering(function, *arrays):
    """The instructions between the loads and the store."""
    return instructions(_kernel(function), *arrays)[len(arrays):-1]


def refused(code, function, *arrays, help=None):
    """Asserts that a rule refuses the function, with a remedy."""
    with pytest.raises(nki.isa.NkiValidationError) as caught:
        run(function, *arrays)
    first = caught.value.diagnostics[0]
    assert first.code == code, str(caught.value)
    assert first.loc.file == function.__code__.co_filename and first.help
    if help:
        assert help in first.help, first.help


def same(got, want):
    """Asserts equality of bits but for NaN payloads."""
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))
    if got.dtype.kind not in "iub":
        np.testing.assert_array_equal(np.signbit(got.astype(np.float32)), np.signbit(want.astype(np.float32)))


def close(got, want, rtol=2e-6, atol=1e-6):
    """Asserts closeness, with the rounding of 16-bit results allowed for."""
    assert got.shape == want.shape
    if got.dtype.itemsize == 2 and got.dtype.kind != "i":
        rtol = 2.0 ** (-7 if got.dtype.name == "bfloat16" else -9)
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)
