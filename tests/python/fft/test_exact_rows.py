"""Rows that are not random: tones, pulses, chirps, what repeats. All results are within 1e-6 of the largest one."""

import numpy as np
import pytest

from cases import assert_close, rng, wide
from kiln import fft


def _rows(n, r):
    j = np.arange(n)
    c = r.uniform(0.2, 1, 12) * np.exp(2j * np.pi * r.random(12))
    tone = c[0] * np.exp(2j * np.pi * (j * r.integers(n) % n) / n)
    chirp = c[1] * np.exp(1j * np.pi * (j * j % (2 * n)) / n)
    flat = np.fft.ifft(np.exp(2j * np.pi * r.random(n))) * np.sqrt(n)
    period = int(r.integers(2, min(n, 600)))
    repeated = np.tile(r.standard_normal(period) + 1j * r.standard_normal(period), -(-n // period))[:n]
    return {"pulse": c[2] * (j == r.integers(n)), "every second": c[3] * (j % 2), "signs": c[4] * (-1.0) ** j,
            "some": c[5] * (j % period == 0), "tone": tone, "slow tone": c[6] * np.exp(2j * np.pi * j / n),
            "chirp": chirp, "half a chirp": chirp + chirp.conj(), "flat": flat, "repeated": repeated,
            "steps": np.repeat(repeated[:period].real, -(-n // period))[:n] + 0j,
            "square": c[7] * np.sign(np.sin(6 * np.pi * (j + 0.5) / n)), "first half": c[8] * (j < n // 2),
            "bell": c[9] * np.exp(-0.5 * ((j - n / 2) / (n / 50)) ** 2),
            "noise": chirp + 1e-4 * (r.standard_normal(n) + 1j * r.standard_normal(n))}


@pytest.mark.parametrize("n", [206, 509, 1000, 4096, 8191, 8193, 12288, 15625, 16384, 19997, 59049, 65536])
def test_rows_that_are_not_random(n):
    for name, x in _rows(n, rng()).items():
        x = x.astype(np.complex64)
        real, half = x.real.copy(), np.fft.rfft(x.real).astype(np.complex64)
        for call, given, more in (("fft", x, {}), ("ifft", x, {}), ("rfft", real, {}), ("irfft", half, {"n": n}),
                                  ("irfft", x[:n // 2 + 1], {"n": n})):
            if not given.any():
                continue
            got = getattr(fft, call)(given, backend="simulator", **more)
            assert_close(got, getattr(np.fft, call)(wide(given), **more), 1e-6, f"{call} of {name}")


@pytest.mark.parametrize("seed", [45, 100, 136])
def test_chirps_with_a_little_noise(seed):
    """The first sums are one large number for each of the second ones, and 127 small ones that are rounded to its
    size; of real rows, up to 1.2e-6 where the large one comes first."""
    x = _rows(16384, np.random.default_rng(seed))["noise"].real.astype(np.float32)
    assert_close(fft.rfft(x, backend="simulator"), np.fft.rfft(wide(x)), 1e-6)


@pytest.mark.parametrize("n", [474, 830])
def test_constant_spectra(n):
    """Sums of 79 and 83 times the same number."""
    for angle in np.linspace(-0.5, 0.5, 21):
        x = np.full((2, n // 2 + 1), [[np.exp(1j * angle)], [0.7j]], np.complex64)
        want = np.fft.irfft(wide(x), n)
        got = fft.irfft(x, n, backend="simulator")
        assert_close(got[0], want[0], 1e-6, f"{angle}")
        assert_close(got[1], want[1], 1e-6)


@pytest.mark.parametrize("n, worst", [(997, 3), (6043, 5398), (8193, 1), (38929, 16431), (65521, 53631)])
def test_native_pulses(n, worst):
    """NumPy's pocketfft computes inverse transforms in float32; by a convolution, pulses have up to 1.3e-6 there."""
    j = np.arange(n)
    pulses = np.zeros((20, n), np.complex64)
    pulses[np.arange(19), rng().integers(n, size=19)] = 1
    pulses[19, worst] = 1
    chirp = np.exp(1j * np.pi * (j * j % (2 * n)) / n).astype(np.complex64)[None]
    for x in (pulses, chirp):
        for given in ({}, {"norm": "ortho"}):
            want = np.fft.ifft(wide(x), **given)
            assert_close(fft.ifft(x, backend="native", **given), want, 1e-6)
            assert_close(fft.ifft(x.T, axis=0, backend="native", **given), want.T, 1e-6)
            half = x[:, :n // 2 + 1]
            assert_close(fft.irfft(half, n, backend="native", **given), np.fft.irfft(wide(half), n, **given), 1e-6)


def test_such_rows_beside_others():
    """Each row of a batch keeps its own, however large or small its numbers are."""
    n, r = 4099, rng()
    kinds = list(_rows(n, r).values())
    x = np.stack([row * 10.0 ** r.integers(-20, 20) for row in kinds + [r.standard_normal(n) + 0j] * 3])
    x = x[r.permutation(len(x))].astype(np.complex64)
    for call, given in (("fft", x), ("rfft", x.real.copy())):
        got, want = getattr(fft, call)(given, backend="simulator"), getattr(np.fft, call)(wide(given))
        for row in range(len(x)):
            assert_close(got[row], want[row], 1e-6, f"{call} {row}")


def test_what_is_computed_again_is_not_the_last_call():
    x = np.zeros((1, 16384), np.complex64)
    x[0, 5] = 0.3
    fft.fft(x, backend="simulator")
    again = fft.last_call().predicted_ns
    fft.fft(np.ones_like(x) + rng().standard_normal(x.shape).astype(np.complex64), backend="simulator")
    assert again == fft.last_call().predicted_ns and fft.last_call().operation == "fft"


@pytest.mark.parametrize("n", [1031, 3091, 5 * 71 * 179])
def test_rows_of_long_sums_are_exact_natively(n):
    t = np.arange(n)
    for y in (np.cos(np.pi * t * t / n), 1 + 1e-3 * (-1.0) ** t, (t == 3).astype(float), np.cos(2 * np.pi * t / 7)):
        half = np.stack([np.fft.rfft(y), np.fft.rfft(y[::-1])]).astype(np.complex64)
        assert_close(fft.irfft(half, n, backend="native"), np.fft.irfft(wide(half), n), 1e-6, f"irfft {n}")
        whole = np.fft.fft(y + 1j * y[::-1]).astype(np.complex64)
        assert_close(fft.ifft(whole, backend="native"), np.fft.ifft(wide(whole)), 1e-6, f"ifft {n}")
        columns = np.stack([whole, whole[::-1]], 1)
        assert_close(fft.ifft(columns, axis=0, backend="native"), np.fft.ifft(wide(columns), axis=0), 1e-6, f"axis {n}")
