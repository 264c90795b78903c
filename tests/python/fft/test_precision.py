"""Precision modes: each keeps what docs/fft.md says of it, on both backends and at lengths beyond one product."""

import numpy as np
import pytest

from cases import BACKENDS, SEED, assert_close, error, normal, rng, wide
from kiln import fft

# Errors relative to the largest number: what the modes are for.
BOUNDS = {"fast": 1e-6, "kahan": 1e-6, "double": 1e-12, "bf16": 2e-2, "bf16_refined": 1e-6, "ozaki": 1.6e-5,
          "ozaki_hq": 1e-6}


@pytest.fixture(autouse=True)
def clean():
    fft.set_ozaki_product_precision_verified(True)
    yield
    fft.set_precision("fast")
    fft.set_ozaki_product_precision_verified(False)


def errors(mode, n, backend):
    x = normal(rng(), (4, n), "complex128" if mode == "double" else "complex64")
    return error(fft.fft(x, precision=mode, backend=backend), np.fft.fft(wide(x)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [64, 256, 600, 1024, 4099])
@pytest.mark.parametrize("mode", BOUNDS)
def test_every_mode_keeps_its_bound(mode, n, backend):
    found = errors(mode, n, backend)
    assert found <= BOUNDS[mode], f"{found:.2e}, seed {SEED}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [64, 128, 256, 2048])
def test_refining_refines(n, backend):
    plain = errors("bf16", n, backend)
    assert plain > 1e-4, "bf16 rounds to 8 bits"
    assert errors("bf16_refined", n, backend) < 1e-2 * plain
    assert errors("ozaki_hq", n, backend) < errors("ozaki", n, backend) < 0.1 * plain


def test_modes_for_all_calls():
    assert fft.get_precision() == "fast"
    fft.set_precision("bf16")
    x = normal(rng(), (2, 64))
    assert error(fft.fft(x), np.fft.fft(wide(x))) > 1e-4
    assert error(fft.fft(x, precision="fast"), np.fft.fft(wide(x))) < 1e-6
    with pytest.raises(ValueError, match="^precision: 'single'"):
        fft.set_precision("single")
    assert fft.get_precision() == "bf16"


@pytest.mark.parametrize("mode", ["ozaki", "ozaki_hq"])
def test_ozaki_modes_are_opened_first(mode):
    fft.set_ozaki_product_precision_verified(False)
    x = normal(rng(), (2, 64))
    with pytest.warns(RuntimeWarning, match=f"'{mode}'"):
        y = fft.fft(x, precision=mode)
    np.testing.assert_array_equal(y, fft.fft(x, precision="bf16"))


def test_double_of_single_numbers_rounds_once():
    x = normal(rng(), (2, 8193))
    for backend in BACKENDS:
        y = fft.fft(x, precision="double", backend=backend)
        assert y.dtype == np.complex64 and error(y, np.fft.fft(wide(x))) < 1e-7


@pytest.mark.parametrize("mode", ["double", "kahan", "bf16", "bf16_refined", "ozaki", "ozaki_hq"])
@pytest.mark.parametrize("n", [600, 4099, 20000])
def test_modes_are_one_launch(mode, n):
    """A call is a program of the whole transform, not a product for each factor."""
    wide_mode = mode == "double"
    x = normal(rng(), (3, n), "complex128" if wide_mode else "complex64")
    for name, given in (("fft", x), ("rfft", x.real), ("irfft", x)):
        length = {"n": n} if name == "irfft" else {}
        got = getattr(fft, name)(given, precision=mode, backend="simulator", **length)
        assert fft.last_call().operation == name, "the last launch, and the only one"
        assert got.dtype == (given.real.dtype if name == "irfft" else x.dtype)
        found = error(got, getattr(np.fft, name)(wide(given), **length))
        assert found <= BOUNDS[mode], f"{name}: {found:.2e}, seed {SEED}"


@pytest.mark.parametrize("n", [48, 1000, 1031])
def test_double_of_any_scale(n):
    """Rows are divided by powers of two of their own: neither their range nor their neighbours matter."""
    x = normal(rng(), (7, n), "complex128")
    x[0] *= 1e300
    x[1] *= 1e-300
    x[2] = 0
    x[3, 5] = np.nan
    x[4] = 3  # one number of the spectrum
    x[5] = 0
    x[5, 7] = 1j
    for name in ("fft", "ifft"):
        got = getattr(fft, name)(x, precision="double", backend="simulator", norm="ortho")
        want = getattr(np.fft, name)(x, norm="ortho")
        assert (got[2] == 0).all() and np.isnan(got[3]).all(), name
        for row in (0, 1, 4, 5, 6):
            assert_close(got[row], want[row], 1e-12, what=f"{name} {row}")


def test_double_of_arrays_that_are_not_in_order():
    x = normal(rng(), (5, 6, 40), "complex128")
    for name, axis in (("fft", 0), ("ifft", 1), ("irfft", 1)):
        for given in (x, x[::-1, :, ::2], x.swapaxes(0, 2)):
            got = getattr(fft, name)(given, axis=axis, backend="simulator")
            assert_close(got, getattr(np.fft, name)(given, axis=axis), 1e-12, what=f"{name} {given.strides}")
    real = x.real.swapaxes(1, 2)
    assert_close(fft.rfftn(real, backend="simulator"), np.fft.rfftn(real), 1e-12)
