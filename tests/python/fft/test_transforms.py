"""Transforms against numpy.fft in float64: lengths, batches, axes, norms, on both backends."""

import itertools

import numpy as np
import pytest

from cases import BACKENDS, SEED, assert_close, normal, rng, wide
from kiln import fft

LENGTHS = (1, 2, 3, 5, 8, 16, 31, 64, 100, 127, 128, 200, 243, 256, 257, 360, 500, 512, 625, 729, 997, 1000, 1024, 1155,
           2048, 2187, 4096, 8193)
NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n, backend):
    r = rng()
    x = normal(r, (3, n))
    assert_close(fft.fft(x, backend=backend), np.fft.fft(wide(x)), what="fft")
    assert fft.last_call().backend == backend and fft.last_call().operation == "fft"
    assert_close(fft.ifft(x, backend=backend), np.fft.ifft(wide(x)), what="ifft")
    real = normal(r, (2, n), "float32")
    half = fft.rfft(real, backend=backend)
    assert half.dtype == np.complex64
    assert_close(half, np.fft.rfft(wide(real)), what="rfft")
    assert_close(fft.irfft(half, n, backend=backend), real, what="irfft of rfft")
    some = normal(r, (2, n // 2 + 1))
    assert_close(fft.irfft(some, n, backend=backend), np.fft.irfft(wide(some), n), what="irfft")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [17408, 65536])
def test_long(n, backend):
    x = normal(rng(), (1, n))
    assert_close(fft.fft(x, backend=backend), np.fft.fft(wide(x)))
    assert_close(fft.rfft(x.real, backend=backend), np.fft.rfft(wide(x.real)))


# Real ones in three factors, as complex ones of half the length, by a shorter convolution, and as whole ones; primes by
# Rader's algorithm and by Bluestein's.
@pytest.mark.parametrize("n", [20000, 32768, 34000, 2 * 4099, 2 * 1009, 4099, 19683, 997, 4051])
def test_real_lengths_of_every_way(n):
    r = rng()
    for rows in (1, 3):
        real = normal(r, (rows, n), "float32")
        half = fft.rfft(real, backend="simulator")
        assert_close(half, np.fft.rfft(wide(real)), what=f"rfft, {rows} rows")
        some = normal(r, (rows, n // 2 + 1))
        want = np.fft.irfft(wide(some), n)
        some.imag[:, 0] = np.nan  # what should be real is not read
        if n % 2 == 0:
            some.imag[:, -1] = np.inf
        assert_close(fft.irfft(some, n, backend="simulator"), want, what=f"irfft, {rows} rows")
        x = normal(r, (rows, n))
        assert_close(fft.fft(x, backend="simulator"), np.fft.fft(wide(x)), what=f"fft, {rows} rows")
        assert_close(fft.ifft(x, backend="simulator"), np.fft.ifft(wide(x)), what=f"ifft, {rows} rows")


@pytest.mark.parametrize("backend", BACKENDS)
def test_random_shapes_axes_and_norms(backend):
    """One, two and all axes of arrays with one to four dimensions, views and integers among them."""
    r = rng()
    for turn in range(40):
        shape = tuple(int(v) for v in r.integers(1, 14, r.integers(1, 5)))
        x = normal(r, shape)
        if turn % 3 == 1:
            x = x[..., ::-1].T
        axis, norm = int(r.integers(-x.ndim, x.ndim)), NORMS[turn % 4]
        n = None if turn % 2 else int(r.integers(1, 20))
        what = f"{x.shape} axis {axis} n {n} norm {norm}"
        for name in ("fft", "ifft", "hfft"):
            if name == "hfft" and n is None and x.shape[axis] == 1:
                continue
            want = getattr(np.fft, name)(wide(x), n, axis, norm)
            assert_close(getattr(fft, name)(x, n, axis, norm, backend=backend), want, 2e-6, what=f"{name} {what}")
        for name in ("rfft", "ihfft"):
            want = getattr(np.fft, name)(wide(x.real), n, axis, norm)
            assert_close(getattr(fft, name)(x.real, n, axis, norm, backend=backend), want, 2e-6, what=f"{name} {what}")
        axes = tuple(int(a) for a in r.permutation(x.ndim)[:r.integers(1, x.ndim + 1)])
        s = None if turn % 2 else [int(v) for v in r.integers(1, 12, len(axes))]
        what += f" axes {axes} s {s}"
        for name in ("fftn", "ifftn"):
            want = getattr(np.fft, name)(wide(x), s, axes, norm)
            assert_close(getattr(fft, name)(x, s, axes, norm, backend=backend), want, 2e-6, what=f"{name} {what}")
        want = np.fft.rfftn(wide(x.real), s, axes, norm)
        assert_close(fft.rfftn(x.real, s, axes, norm, backend=backend), want, 2e-6, what=f"rfftn {what}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches(backend):
    r = rng()
    for rows in (1, 2, 3, 5, 7, 13, 33, 130):
        x = normal(r, (rows, 480))
        assert_close(fft.fft(x, backend=backend), np.fft.fft(wide(x)), what=f"{rows} rows")
        assert_close(fft.rfft(x.real, backend=backend), np.fft.rfft(wide(x.real)), what=f"{rows} real rows")
        half = np.fft.rfft(wide(x.real)).astype("complex64")
        assert_close(fft.irfft(half, 480, backend=backend), x.real, what=f"{rows} half spectra")


@pytest.mark.parametrize("backend", BACKENDS)
def test_axes_lengths_and_norms(backend):
    r = rng()
    for axis, n, norm in itertools.product((0, 1, -1), (None, 4, 9), NORMS):
        x = normal(r, (5, 7, 6))
        what = f"axis {axis} n {n} norm {norm}"
        for name in ("fft", "ifft", "irfft", "hfft"):
            want = getattr(np.fft, name)(wide(x), n, axis, norm)
            assert_close(getattr(fft, name)(x, n, axis, norm, backend=backend), want, what=f"{name} {what}")
        for name in ("rfft", "ihfft"):
            want = getattr(np.fft, name)(wide(x.real), n, axis, norm)
            got = getattr(fft, name)(x.real, n, dim=axis, norm=norm, backend=backend)
            assert_close(got, want, what=f"{name} {what}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_axes(backend):
    r = rng()
    x = normal(r, (3, 10, 9))
    real = x.real.copy()
    for s, axes in ((None, None), ((4, 12), (0, 2)), ((5, 5), None), (None, (2, 0, 1)), (None, (-2, -1))):
        if s is not None and axes is None:
            axes = (-2, -1)  # NumPy is about to ask for both
        for name, norm in itertools.product(("fftn", "ifftn"), NORMS):
            assert_close(getattr(fft, name)(x, s, axes, norm, backend=backend),
                         getattr(np.fft, name)(wide(x), s, axes, norm), what=name)
        assert_close(fft.rfftn(real, s, axes, backend=backend), np.fft.rfftn(wide(real), s, axes), what="rfftn")
        assert_close(fft.irfftn(x, s, axes, backend=backend), np.fft.irfftn(wide(x), s, axes), 2e-6, what="irfftn")
    assert_close(fft.fft2(x, backend=backend), np.fft.fft2(wide(x)))
    assert_close(fft.ifft2(x, (4, 4), backend=backend), np.fft.ifft2(wide(x), (4, 4)))
    assert_close(fft.rfft2(real, backend=backend), np.fft.rfft2(wide(real)))
    assert_close(fft.irfft2(x, backend=backend), np.fft.irfft2(wide(x)), 2e-6)
    assert_close(fft.hfftn(x, backend=backend), np.fft.irfftn(wide(x).conj(), norm="forward"), 2e-6)
    assert_close(fft.ihfft2(real, backend=backend), np.fft.rfft2(wide(real), norm="forward").conj())


def test_doubles_stay_doubles():
    x = normal(rng(), (2, 1000), "complex128")
    assert_close(fft.fft(x), np.fft.fft(x), 1e-14)
    assert_close(fft.fft(x, backend="simulator"), np.fft.fft(x), 1e-12, f"seed {SEED}")
    assert fft.fft(x, backend="simulator").dtype == np.complex128


def test_nan_stays_in_its_row():
    x = normal(rng(), (3, 480))
    x[1, 5] = np.nan
    for backend in BACKENDS:
        y = fft.fft(x, backend=backend)
        assert np.isnan(y[1]).any() and not np.isnan(y[[0, 2]]).any(), backend


@pytest.mark.parametrize("n", [64, 1000, 4096, 4099, 16384])
def test_rows_with_an_offset(n):
    """Sums of equal numbers are rounded the same way each time: what is equal in a row is transformed apart."""
    r, t = rng(), np.arange(n)
    c = r.uniform(0.5, 1, 5)
    rows = [np.full(n, c[0]), c[1] * t / n, c[2] * (t < n // 2), r.standard_normal(n) + 1000 * c[3], c[4] - (t == 0)]
    x = np.stack(rows).astype(np.float32)
    cases = [("rfft", x), ("fft", (x + 1j * x[::-1]).astype(np.complex64)), ("ifft", (x - 2j).astype(np.complex64)),
             ("irfft", np.fft.rfft(x).astype(np.complex64))]
    for name, given in cases:
        length = {"n": n} if name == "irfft" else {}
        got = getattr(fft, name)(given, backend="simulator", **length)
        want = getattr(np.fft, name)(wide(given), **length)
        for row in range(len(rows)):
            assert_close(got[row], want[row], what=f"{name} {row}")


def test_rows_of_any_kind_beside_each_other():
    """Rows of a pair whose results are too different, or all alike, are computed apart."""
    n, r = 1297, rng()
    assert fft.create_plan(n).device(34, real=True)["way"].startswith("paired")
    t = np.arange(n)
    kinds = [lambda: np.full(n, 3.0), lambda: np.cos(2 * np.pi * (t * r.integers(n) % n) / n),
             lambda: t == r.integers(n), lambda: r.standard_normal(n) + 1000, lambda: r.standard_normal(n),
             lambda: np.cos(2 * t * r.random())]
    x = np.stack([kinds[r.integers(6)]() * 10 ** r.uniform(-15, 15) for _ in range(34)]).astype(np.float32)
    got, want = fft.rfft(x, backend="simulator"), np.fft.rfft(x.astype(np.float64))
    for row in range(34):
        assert_close(got[row], want[row], what=f"row {row}")


def test_rows_of_a_pair_do_not_disturb_each_other():
    """Two real rows of odd length are one complex row on the chip."""
    n, rows = 1297, 33
    assert fft.create_plan(n).device(rows, real=True)["way"].startswith("paired")
    x = normal(rng(), (rows, n), "float32")
    x[0] *= 1e12
    x[2] = 0
    x[3] *= 1e-12
    x[4] = 3  # all of its spectrum is one number
    x[6, 5] = np.inf
    kept = [r for r in range(rows) if r not in (2, 6)]
    got = fft.rfft(x, backend="simulator")
    want = np.fft.rfft(x.astype(np.float64))
    assert (got[2] == 0).all()
    for row in kept:
        assert_close(got[row], want[row], 1e-6, what=f"rfft {row}")
    assert not np.isfinite(got[6]).any()
    spectra = np.where(np.isfinite(want), want, 0).astype(np.complex64)
    back = fft.irfft(spectra, n, backend="simulator")
    want = np.fft.irfft(spectra.astype(np.complex128), n)
    assert (back[2] == 0).all()
    for row in kept:
        assert_close(back[row], want[row], what=f"irfft {row}")


def test_empty_batches_and_out():
    assert fft.fft(np.zeros((0, 8), np.complex64), backend="simulator").shape == (0, 8)
    out = np.empty((2, 8), np.complex64)
    x = normal(rng(), (2, 8))
    assert fft.fft(x, out=out) is out
    assert_close(out, np.fft.fft(wide(x)))


@pytest.mark.parametrize("call, message", [
    (lambda x: fft.fft(x, 0), "^n: "),
    (lambda x: fft.fft(x, norm="no"), "^norm: "),
    (lambda x: fft.fftn(x, (1, 2), (0,)), "^s: "),
    (lambda x: fft.rfftn(x), "^input: complex"),
    (lambda x: fft.fft(x, precision="exact"), "^precision: "),
    (lambda x: fft.fft(x, backend="gpu"), "^backend: "),
    (lambda x: fft.fftn(x, (1, 2, 3)), "^s: its shape requires more axes"),
    (lambda x: fft.fftn(x, (4, -3)), r"^s: invalid number of data points \(\[4, -3\]\)"),
    (lambda x: fft.irfftn(x, axes=()), "^dim: no axes"),
    (lambda x: fft.fft(x, 2.5), "^n: 2.5"),
    (lambda x: fft.fft(x, axis="a"), "^dim: 'a'"),
    (lambda x: fft.fft(x, out=np.ones(3, np.complex64)), "^out: it has wrong shape"),
    (lambda x: fft.fft(x, out=np.ones((3, 4), np.float32)), "^out: elements are float32"),
    (lambda x: fft.fft(x, out=5), "^out: int"),
    (lambda x: fft.fftfreq(0), "^n: "),
    (lambda x: fft.create_plan("a"), "^n: 'a'"),
    (lambda x: fft.stft(x[0].real, 4, "a"), "^hop_length: 'a'"),
    (lambda x: fft.istft(x, 4, length=-2), "^length: -2"),
    (lambda x: fft.istft(x, 4, length=2.5), "^length: 2.5"),
    (lambda x: fft.istft(x[:, :0], 4), "^input: it has no frames"),
])
def test_wrong_arguments(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(np.ones((3, 4), np.complex64))


def test_wrong_axis_and_elements():
    with pytest.raises(IndexError, match="^dim: "):
        fft.fft(np.ones(3), axis=2)
    with pytest.raises(TypeError, match="^input: "):
        fft.fft(np.array(["a"]))


def test_too_long_says_so():
    with pytest.raises(NotImplementedError, match="n is 16777217"):
        fft.fft(np.zeros(16777217, np.complex64), backend="simulator")
