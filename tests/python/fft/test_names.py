"""Shifts, frequencies, cosine, sine and Hankel transforms, convolutions against NumPy and SciPy."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.signal

from cases import BACKENDS, assert_close, normal, rng, wide
from kiln import fft


def test_shifts_and_frequencies():
    for shape in ((7,), (4, 5), (3, 2, 6)):
        x = rng().standard_normal(shape)
        for axes in (None, 0, -1):
            np.testing.assert_array_equal(fft.fftshift(x, axes), np.fft.fftshift(x, axes))
            np.testing.assert_array_equal(fft.ifftshift(x, axes), np.fft.ifftshift(x, axes))
    for n in (1, 8, 9):
        np.testing.assert_array_equal(fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5))
        np.testing.assert_array_equal(fft.rfftfreq(n), np.fft.rfftfreq(n))


@pytest.mark.parametrize("backend", BACKENDS)
def test_cosine_and_sine_transforms(backend):
    r = rng()
    for name, kind, n, norm in itertools.product(("dct", "idct", "dst", "idst"), (1, 2, 3, 4), (1, 2, 9, 150),
                                                 (None, "ortho", "forward")):
        if (kind, n) == (1, 1) and name.endswith("dct"):
            continue
        x = normal(r, (2, n), "float32")
        got = getattr(fft, name)(x, kind, norm=norm, backend=backend)
        assert got.dtype == np.float32
        assert_close(got, getattr(scipy.fft, name)(wide(x), kind, norm=norm), 2e-6, f"{name} {kind} {n} {norm}")


def test_cosine_transforms_along_axes():
    x = normal(rng(), (4, 6, 5), "float32")
    assert_close(fft.dct(x, axis=1, n=8), scipy.fft.dct(wide(x), axis=1, n=8))
    assert_close(fft.dctn(x, axes=(0, 2)), scipy.fft.dctn(wide(x), axes=(0, 2)), 2e-6)
    assert_close(fft.idstn(x), scipy.fft.idstn(wide(x)), 2e-6)
    with pytest.raises(ValueError, match="^type: "):
        fft.dct(x, 5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_convolutions(backend):
    r = rng()
    for n1, n2, mode, dtype in itertools.product((1, 50), (3, 81), ("full", "same", "valid"), ("float32", "complex64")):
        a, b = normal(r, n1, dtype), normal(r, n2, dtype)
        if mode != "same":
            assert_close(fft.fftconvolve(a, b, mode, backend=backend), scipy.signal.fftconvolve(wide(a), wide(b), mode),
                         2e-6, f"{n1} {n2} {mode}")
        assert_close(fft.convolve(a, b, mode, backend=backend), np.convolve(wide(a), wide(b), mode), 2e-6,
                     f"{n1} {n2} {mode}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_convolutions_are_as_exact_as_their_results(backend):
    r = rng()
    for one, other in itertools.permutations(("float16", "float32", ">f4", "complex64", "float64", "complex128"), 2):
        a, b = normal(r, (3, 50), one), normal(r, (3, 29), other)
        got = fft.fftconvolve(a, b, axes=1, backend=backend)
        assert_close(got, scipy.signal.fftconvolve(wide(a), wide(b), axes=1),
                     1e-13 if got.dtype in (np.float64, np.complex128) else 2e-6, f"{one} {other}")


def test_fast_lengths_are_those_of_scipy_and_have_plans():
    for n in [*range(1, 300), 997, 8193, 93059, 2 ** 20 + 1, 51200000, 11920928955078124, 288230376151711745]:
        for real in (False, True):
            assert fft.next_fast_len(n, real) == scipy.fft.next_fast_len(n, real)
            assert fft.prev_fast_len(n, real) == scipy.fft.prev_fast_len(n, real)
    for n in (127, 131, 997, 8193):
        assert "bluestein" not in fft.create_plan(fft.next_fast_len(n)).device()["way"]
    for wrong, error in ((0, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="^target: "):
            fft.prev_fast_len(wrong)


def test_everything_listed_is_there():
    for name in fft.__all__:
        assert getattr(fft, name) is not None


def test_arguments_of_scipy():
    """Those that change no result are taken; `orthogonalize` and lengths without axes do what they do there."""
    x = normal(rng(), (3, 4, 6), "float32")
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "fft2", "rfftn", "irfftn", "dct", "dstn"):
        want = getattr(scipy.fft, name)(wide(x))
        assert_close(getattr(fft, name)(x=x, workers=2, overwrite_x=True), want, 2e-6, name)
        assert_close(getattr(fft, name)(x, workers=-1, backend="simulator"), want, 2e-6, name)
    assert_close(fft.fft(a=x, norm="ortho"), np.fft.fft(a=wide(x), norm="ortho"))
    assert_close(fft.fft(x, plan=None), np.fft.fft(wide(x)))
    for name, kind, norm, orthogonal in itertools.product(("dct", "idct", "dst", "idst"), (1, 2, 3, 4),
                                                          (None, "ortho", "forward"), (False, True)):
        want = getattr(scipy.fft, name)(wide(x), kind, norm=norm, orthogonalize=orthogonal)
        assert_close(getattr(fft, name)(x, kind, norm=norm, orthogonalize=orthogonal), want, 2e-6,
                     f"{name} {kind} {norm} {orthogonal}")
    assert_close(fft.dctn(x, s=(3, 7)), scipy.fft.dctn(wide(x), s=(3, 7)), 2e-6)
    with pytest.raises(ValueError, match="workers"):
        fft.fft(x, workers=0)
    with pytest.raises(TypeError, match="threads"):
        fft.fft(x, threads=2)
    with pytest.raises(ValueError, match="data points"):
        fft.fftn(np.zeros((0, 4)), s=(-1, 4), axes=(0, 1))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "complex128"])
def test_native_calls_are_those_of_numpy(name, dtype):
    """Short calls do not go the long way; what they give is what NumPy gives, to the last bit."""
    x = normal(rng(), (3, 10, 12), dtype)
    if x.dtype.kind == ("c" if name in ("rfft", "ihfft") else "f") and name not in ("fft", "ifft"):
        return
    for given in ({}, {"n": 9}, {"n": 30}, {"axis": 1}, {"axis": -3, "n": 1}, {"norm": "ortho"}, {"norm": "forward"},
                  {"axis": 0, "norm": "backward", "n": 4}):
        want = getattr(np.fft, name)(x, **given)
        got = getattr(fft, name)(x, backend="native", **given)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want, err_msg=f"{given}")
        assert fft.last_call().backend == "native"
    for several in ("2", "n") if name[-4:] != "hfft" else ():
        want = getattr(np.fft, name + several)(x)
        np.testing.assert_array_equal(getattr(fft, name + several)(x, backend="native"), want, err_msg=several)
    torchs = getattr(fft, name)(x, dim=0, backend="native")
    np.testing.assert_array_equal(torchs, getattr(np.fft, name)(x, axis=0))


def test_short_calls_refuse_what_long_ones_do():
    x = np.ones((2, 4), np.complex64)
    for wrong, error in (({"n": 0}, ValueError), ({"n": 2.0}, TypeError), ({"axis": 2}, IndexError),
                         ({"norm": "sideways"}, ValueError), ({"axis": 0, "dim": 1}, ValueError)):
        for name in ("fft", "irfft", "hfft"):
            with pytest.raises(error):
                getattr(fft, name)(x, backend="native", **wrong)


@pytest.mark.parametrize("backend", BACKENDS)
def test_convolutions_along_several_axes(backend):
    r = rng()
    shapes = [((5, 6), (3, 4)), ((4, 1, 7), (2, 3, 5)), ((3, 6), (3, 4)), ((2, 2, 2), (4, 5, 6))]
    for (one, other), mode in itertools.product(shapes, ("full", "same", "valid")):
        a, b = normal(r, one, "float32"), normal(r, other)
        for axes in (None, -1, (0, 1)):
            given = {} if axes is None else {"axes": axes}
            try:
                want = scipy.signal.fftconvolve(wide(a), wide(b), mode, **given)
            except ValueError:
                with pytest.raises(ValueError):
                    fft.fftconvolve(a, b, mode, backend=backend, **given)
                continue
            got = fft.fftconvolve(a, b, mode, backend=backend, **given)
            assert_close(got, want, 2e-6, f"{one} {other} {mode} {axes}")
    with pytest.raises(ValueError, match="^in2: "):
        fft.fftconvolve(np.ones((2, 3)), np.ones(3))
    for a, b in (([], [1.0]), (np.ones((2, 0)), np.ones((3, 2)))):
        want = scipy.signal.fftconvolve(a, b)
        assert fft.fftconvolve(a, b, backend=backend).shape == want.shape == (0,)
    for a, v in (([], [1.0]), ([1.0], []), ([], [])):
        for convolve in (np.convolve, fft.convolve):
            with pytest.raises(ValueError, match="cannot be empty"):
                convolve(a, v)


@pytest.mark.parametrize("backend", BACKENDS)
def test_hankel_transforms(backend):
    r = rng()
    for n, mu, bias, offset in itertools.product((1, 2, 63, 64), (-4.0, 0.0, 0.5, 3.3, 400.0), (0.0, 1.0, -0.7),
                                                 (0.0, -0.3)):
        x = normal(r, (3, n), "float64")
        for name in ("fht", "ifht"):
            with warnings.catch_warnings(record=True) as expected:
                warnings.simplefilter("always")
                want = getattr(scipy.fft, name)(x, 0.1, mu, offset, bias)
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                got = getattr(fft, name)(x, 0.1, mu, offset, bias, backend=backend)
                single = getattr(fft, name)(x.astype("float32"), 0.1, mu, offset, bias, backend=backend)
            assert len(found) == 2 * len(expected) and single.dtype == np.float32
            if np.isfinite(want).all():
                # Logarithms of Γ near a thousand are rounded to 1e-13, in both; the kernel is one long delay, which
                # brings numbers together that the factors of the bias, up to e^3, have taken apart.
                looser = 10 if mu > 100 else 1
                assert_close(got, want, 1e-12 * looser, f"{name} {n} {mu} {bias} {offset}")
                assert_close(single, want, 3e-6 * looser, f"{name} {n} {mu} {bias} {offset}")
    for mu, bias in itertools.product((-0.7, 0.0, 2.5, 300.0), (0.0, 0.4)):
        want = scipy.fft.fhtoffset(0.07, mu, 0.3, bias)
        assert abs(fft.fhtoffset(0.07, mu, 0.3, bias) - want) < 1e-12
    for wrong in (np.ones(4, complex), np.float64(1), np.ones((2, 0))):
        with pytest.raises((TypeError, ValueError), match="^a: "):
            fft.fht(wrong, 0.1, 0.0)
