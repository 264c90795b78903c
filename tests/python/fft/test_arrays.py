"""Arrays of every kind that NumPy and SciPy take: elements, memory, `out`, and what their functions do with them."""

import itertools
import os

import numpy as np
import pytest
import scipy.fft

from cases import BACKENDS, assert_close, normal, rng, wide
from kiln import fft

COMPLEX = ("fft", "ifft", "irfft", "hfft", "fft2", "ifftn", "irfftn", "hfft2")
REAL = ("rfft", "ihfft", "rfft2", "rfftn", "ihfftn")
WIDE = {"longdouble": ("longdouble", "clongdouble"), "clongdouble": ("longdouble", "clongdouble"),
        "float16": ("float32", "complex64"), "int8": ("float64", "complex128"), "bool": ("float64", "complex128"),
        "uint64": ("float64", "complex128")}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", WIDE)
def test_elements_of_every_kind(dtype, backend):
    x = normal(rng(), (4, 6), "complex128" if dtype[0] == "c" else "float64")
    x = (10 * x).astype(dtype) if dtype != "uint64" else (100 * abs(x)).astype(dtype)
    for name in (*COMPLEX, *REAL):
        if dtype[0] == "c" and name in REAL:
            continue
        got, want = getattr(fft, name)(x, backend=backend), getattr(scipy.fft, name)(x)
        assert got.dtype == want.dtype == WIDE[dtype][want.dtype.kind == "c"], name
        assert_close(got, want, 1e-6 if dtype == "float16" else 1e-14, name)
    for name in ("dct", "idst", "dctn"):
        for kind in (1, 2, 3, 4):
            got, want = getattr(fft, name)(x, kind, backend=backend), getattr(scipy.fft, name)(x, kind)
            assert got.dtype == want.dtype, name
            assert_close(got, want, 2e-6 if dtype == "float16" else 1e-14, f"{name} {kind}")


def test_long_doubles_are_computed_as_such_natively():
    x = normal(rng(), (3, 60), "float64").astype(np.longdouble) / 3
    if np.finfo(np.longdouble).eps == np.finfo(np.float64).eps:
        return
    bound = 20 * np.finfo(np.longdouble).eps
    for name, given in (("rfft", x), ("fft", x), ("irfft", np.fft.rfft(x)), ("dct", x), ("idct", x), ("dst", x)):
        want = getattr(scipy.fft, name)(given)
        assert np.abs(getattr(fft, name)(given) - want).max() <= bound * np.abs(want).max(), name
    for name, kind in itertools.product(("dct", "idct", "dst", "idst"), (1, 2, 3, 4)):
        want = getattr(scipy.fft, name)(x, kind, norm="ortho")
        got = getattr(fft, name)(x, kind, norm="ortho")
        assert np.abs(got - want).max() <= bound * np.abs(want).max(), f"{name} {kind}"


def _memory(x):
    """The same numbers in memory of other kinds."""
    padded = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    padded[::2, 1::3] = x
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    shifted[:] = x
    read_only = x.copy()
    read_only.setflags(write=False)
    return {"columns": np.asfortranarray(x), "steps": padded[::2, 1::3], "backwards": x[::-1, ::-1].copy()[::-1, ::-1],
            "other bytes": x.astype(x.dtype.newbyteorder("S")), "between words": shifted, "read-only": read_only,
            "list": x.tolist()}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_memory_of_every_kind(dtype, backend):
    x = normal(rng(), (6, 8), dtype)
    bound = 1e-6 if dtype in ("float32", "complex64") else 1e-14
    for (what, given), name in itertools.product(_memory(x).items(), (*COMPLEX, *REAL, "dct", "dstn")):
        if dtype[0] == "c" and name in REAL:
            continue
        before = np.array(given)
        got = getattr(fft, name)(given, overwrite_x=what != "read-only", backend=backend)
        want = getattr(scipy.fft, name)(wide(x))
        assert what == "list" or got.dtype == getattr(scipy.fft, name)(x).dtype, f"{name} {what}"
        assert_close(got, want, bound, f"{name} {what}")
        np.testing.assert_array_equal(np.array(given), before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_written_where_the_caller_says(backend):
    x = normal(rng(), (6, 8), "complex128")
    for name, axis in itertools.product(("fft", "ifft"), (0, 1)):
        want = getattr(np.fft, name)(x, axis=axis)
        for out_of in (lambda v: v, lambda v: v.T, lambda v: v[::-1]):
            given = normal(rng(), (8, 8), "complex128")
            out = out_of(given)
            expected = getattr(np.fft, name)(given, axis=axis)
            assert getattr(fft, name)(given, axis=axis, out=out, backend=backend) is out  # over its own numbers
            assert_close(out, expected, 1e-14)
        out = np.zeros((8, 6), "complex128").T
        assert getattr(fft, name)(x, axis=axis, out=out, backend=backend) is out
        assert_close(out, want, 1e-14)
    half = np.zeros((6, 5), "complex128")
    assert fft.rfftn(x.real, s=(6, 8), axes=(0, 1), out=half, backend=backend) is half
    assert_close(half, np.fft.rfftn(x.real), 1e-14)
    real = np.zeros((6, 8))
    assert fft.irfftn(half, out=real, backend=backend) is real
    assert_close(real, x.real, 1e-14)
    with pytest.raises(TypeError, match="^out: str"):
        fft.fft(x, out="")


def test_axes_that_repeat_are_transformed_again_as_numpy_has_it():
    x = normal(rng(), (2, 3), "float64")
    for name in ("fftn", "rfftn", "ifftn", "irfftn"):
        want = getattr(np.fft, name)(x, axes=(0, 0, 1), s=(10, 20, 40))
        assert_close(getattr(fft, name)(x, axes=(0, 0, 1), s=(10, 20, 40)), want, 1e-14, name)


def test_axes_of_what_scipy_alone_has_do_not_repeat():
    for name in ("hfft2", "hfftn", "ihfft2", "ihfftn"):
        for module in (scipy.fft, fft):
            with pytest.raises(ValueError, match="unique|repeat"):
                getattr(module, name)(np.ones((3, 4)), axes=(1, -1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_axes_of_a_plane_are_all_axes(backend):
    x = normal(rng(), (3, 4, 6), "complex128")
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"):
        given = x.real if name in ("rfft2", "ihfft2") else x
        module = np.fft if hasattr(np.fft, name) else scipy.fft
        for options in ({"axes": None}, {"axes": None, "s": (5, 2)}, {"axes": None, "s": (2, 3, 5)}):
            if module is np.fft and "s" in options:
                options["axes"] = tuple(range(-len(options["s"]), 0))  # which NumPy asks for
            want = getattr(module, name)(given, **options)
            if "s" in options:
                options["axes"] = None
            assert_close(getattr(fft, name)(given, backend=backend, **options), want, 1e-14, name)


def test_lengths_and_axes_may_be_numbers_of_numpy():
    x = normal(rng(), (3, 4, 6), "float64")
    assert_close(fft.fftn(x, np.array([2, 5]), np.array([0, -1])), np.fft.fftn(x, (2, 5), (0, 2)), 1e-14)
    assert_close(fft.fftn(x, np.int64(5), np.int32(1)), np.fft.fft(x, 5, 1), 1e-14)
    assert_close(fft.fftn(x, (None, -1), (0, 1)), np.fft.fftn(x, axes=(0, 1)), 1e-14)
    assert_close(fft.dctn(x, s=np.array([2, 5]), axes=np.array([0, 1])), scipy.fft.dctn(x, s=(2, 5), axes=(0, 1)),
                 1e-14)
    np.testing.assert_array_equal(fft.fftshift(x, np.int64(1)), np.fft.fftshift(x, 1))
    np.testing.assert_array_equal(fft.dctn(x, axes=()), x)


def test_errors_are_of_the_kinds_that_numpy_and_scipy_have():
    with pytest.raises(TypeError, match="x must be a real sequence"):
        fft.rfft(np.ones(4, np.complex64))
    for error in (IndexError, ValueError):
        with pytest.raises(error, match="^dim: 3 is out of range"):
            fft.fft(np.ones((2, 4)), axis=3)
    with pytest.raises(ValueError, match="Invalid norm value 'o'"):
        fft.dct(np.ones(4), norm="o")
    with pytest.raises(ValueError, match="workers value out of range"):
        fft.fft(np.ones(4), workers=-os.cpu_count() - 1)


def test_workers_are_remembered():
    assert fft.get_workers() == 1
    with fft.set_workers(4):
        with fft.set_workers(-1):
            assert fft.get_workers() == os.cpu_count()
        assert fft.get_workers() == 4
    assert fft.get_workers() == 1
    with pytest.raises(ValueError, match="must not be zero"), fft.set_workers(0):
        pass


def test_frequencies_of_scipys_arguments():
    np.testing.assert_array_equal(fft.fftfreq(9, 0.5, xp=np, device="cpu"), np.fft.fftfreq(9, 0.5))
    with pytest.raises(ValueError, match="^xp: "):
        fft.rfftfreq(9, xp=os)
    with pytest.raises(ValueError):
        fft.fftfreq(9, device="gpu")
