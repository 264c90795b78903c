"""nki.simulate end to end: values, in-place updates, return containers, errors at the user's line."""

import ml_dtypes
import numpy as np
import pytest

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


@nki.jit
def add_kernel(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(0, a.shape[0], 128):
        rows = min(128, a.shape[0] - start)
        x = nl.ndarray((rows, a.shape[1]), dtype=a.dtype)
        y = nl.ndarray((rows, a.shape[1]), dtype=a.dtype)
        nisa.dma_copy(dst=x, src=a[start:start + rows])
        nisa.dma_copy(dst=y, src=b[nl.ds(start, rows), :])
        nisa.tensor_tensor(x, x, y, op=nl.add)
        nisa.dma_copy(dst=out[start:start + rows, ...], src=x)
    return out


@pytest.mark.parametrize("shape", [(1, 1), (128, 512), (300, 77)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_add(shape, dtype):
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    got = nki.simulate(add_kernel)(a, b)
    want = (a.astype(np.float32) + b.astype(np.float32)).astype(dtype)
    assert got.dtype == want.dtype and got.shape == shape
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


def scale_in_place(x, factor):
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, factor)
    nisa.dma_copy(x, t)


def test_inputs_are_updated_in_place():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert nki.simulate(scale_in_place)(x, 2.0) is None
    np.testing.assert_array_equal(x, 2 * np.arange(12).reshape(3, 4))


def test_strided_inputs_are_updated_in_place():
    whole = np.arange(24, dtype=np.float32).reshape(3, 8)
    nki.simulate(scale_in_place)(whole[:, ::2], factor=3.0)
    want = np.arange(24, dtype=np.float32).reshape(3, 8)
    want[:, ::2] *= 3
    np.testing.assert_array_equal(whole, want)


def test_kernel_returns_the_container_it_returned():
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        return [out, (out.reshape((x.shape[1], x.shape[0])), x)]

    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    first, (second, third) = nki.simulate(kernel)(x)
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(second, x.reshape(3, 2))
    assert third is x


def test_an_error_names_the_users_line():
    def kernel(x):
        t = nl.ndarray((128, 640), dtype=nl.float32)
        p = nl.ndarray((128, 640), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(p, t[:, 0:200], t)  # this line
        return x

    with pytest.raises(nisa.NkiValidationError) as caught:
        nki.simulate(kernel)(np.zeros((128, 640), np.float32))
    first = caught.value.diagnostics[0]
    assert first.loc.file == __file__
    assert "# this line" in open(__file__).read().splitlines()[first.loc.line - 1]
    assert "p" in first.context


def test_an_uninitialised_value_that_reaches_an_output_is_an_error():
    def kernel(x):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(t[:, 0:2], x[:, 0:2])
        nisa.dma_copy(out, t)
        return out

    with pytest.raises(nisa.NkiValidationError) as caught:
        nki.simulate(kernel)(np.zeros((4, 3), np.float32))
    assert caught.value.code.startswith("run.")
    assert "`t`" in str(caught.value)


def test_the_process_stays_usable_after_an_error():
    def kernel(x):
        nl.ndarray((1,), dtype=nl.float32)
        return x

    for _ in range(3):
        with pytest.raises(nisa.NkiValidationError):
            nki.simulate(kernel)(np.zeros((4, 3), np.float32))
    test_add((128, 512), np.float32)


def test_a_kernel_without_effect_is_refused():
    with pytest.raises(nisa.NkiValidationError, match="returns nothing"):
        nki.simulate(lambda x: None)(np.zeros((2, 2), np.float32))


def test_outputs_in_memory_of_one_core_are_refused():
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
        nisa.dma_copy(dst=out, src=x)
        return out

    told = r"(?s)`out` is returned from nl\.hbm.*buffer=nl\.shared_hbm"
    with pytest.raises(nisa.NkiValidationError, match=told) as e:
        nki.simulate(kernel)(np.zeros((2, 3), np.float32))
    assert e.value.code == "nki.R16"


def test_lnc2_cores_share_the_output():
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        half = x.shape[0] // nl.num_programs(axes=0)
        rows = nl.ds(nl.program_id(axis=0) * half, half)
        t = nl.ndarray((half, x.shape[1]), dtype=x.dtype)
        nisa.dma_copy(t, x[rows])
        nisa.tensor_scalar(t, t, nl.add, float(nl.program_id(0)))
        nisa.dma_copy(out[rows], t)
        return out

    x = np.ones((8, 4), np.float32)
    want = x.copy()
    want[4:] += 1
    import os
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn2"
    try:
        np.testing.assert_array_equal(nki.simulate(kernel[2])(x), want)
    finally:
        del os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"]
