"""Arguments that are neither NumPy's nor torch's, taken through DLPack, and results handed out through it."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


class Foreign:
    """An array of another library: memory, a shape, and DLPack."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(Foreign):
    """One whose memory DLPack does not hand out."""

    def __dlpack__(self, **options):
        raise BufferError("the memory is on a device")


class Convertible(Foreign):
    """One that NumPy takes as an array only, as it does with small floats."""

    def __array__(self, dtype=None, copy=None):
        return self.array


@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, x)
    return out


@nki.jit
def doubled_in_place(x):
    tile = nl.load(x)
    nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
    nl.store(x, tile)
    return x


@pytest.mark.parametrize("dtype", "float32 float16 int32 uint32 int16 uint16 int8 uint8 bool".split())
def test_arrays_of_other_libraries_are_read(dtype):
    a = np.random.default_rng(17).integers(0, 2 if dtype == "bool" else 99, (3, 5)).astype(dtype)
    for view in (a, a.T, a[::2, 1:]):
        result = copied(Foreign(view))
        assert result.dtype == view.dtype
        np.testing.assert_array_equal(result, view)


def test_special_values_keep_their_bits():
    a = np.array([[0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45]], np.float32)
    assert copied(Foreign(a)).tobytes() == a.tobytes()


def test_they_are_updated_in_place():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    foreign = Foreign(a)
    assert doubled_in_place(foreign) is foreign
    np.testing.assert_array_equal(a, 2 * np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_small_floats_come_as_arrays_to_read(dtype):
    a = np.arange(6).reshape(2, 3).astype(dtype)
    result = copied(Convertible(a))
    assert result.dtype == a.dtype and result.tobytes() == a.tobytes()
    with pytest.raises(kiln.NkiConfigError, match="`x` is a read-only array"):
        doubled_in_place(Convertible(a))
    assert a.flags.writeable and a.tobytes() == np.arange(6).reshape(2, 3).astype(dtype).tobytes()


@pytest.mark.parametrize("bad, found", [
    (Foreign(np.zeros((2, 2))), "`x` is an array of float64"),
    (Foreign(np.zeros((2, 2), np.complex64)), "`x` is an array of complex64"),
    (Elsewhere(np.zeros((2, 2), np.float32)), "`x` is a Elsewhere: the memory is on a device"),
    (Foreign(np.zeros((2, 2), ml_dtypes.bfloat16)), "`x` is a Foreign: "),
])
def test_what_cannot_be_taken_is_named(bad, found):
    with pytest.raises(kiln.NkiConfigError) as caught:
        copied(bad)
    assert found in str(caught.value) and "test_dlpack.py" in str(caught.value)


def test_results_go_out_through_dlpack():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(np.from_dlpack(copied(a)), a)
