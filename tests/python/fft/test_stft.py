"""Short-time transforms against direct sums in float64, with tails, odd hops and windows."""

import numpy as np
import pytest

from cases import BACKENDS, SEED, assert_close, normal, rng, wide
from kiln import fft


def reference(x, n_fft, hop, window, center, scale=1.0, onesided=True):
    x = wide(x)
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)], mode="reflect")
    frames = (x.shape[-1] - n_fft) // hop + 1
    cut = np.stack([x[..., f * hop:f * hop + n_fft] * window for f in range(frames)], -2)
    y = np.fft.rfft(cut) if onesided else np.fft.fft(cut)
    return np.swapaxes(y * scale, -1, -2)


CASES = [(128, 64, 1600), (512, 128, 16000), (100, 33, 1001), (256, None, 3000), (63, 17, 500)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n_fft, hop, samples", CASES)
@pytest.mark.parametrize("center", [True, False])
def test_every_frame(n_fft, hop, samples, center, backend):
    x = normal(rng(), samples, "float32")
    window = np.hanning(n_fft + 1)[:-1].astype("float32")
    got = fft.stft(x, n_fft, hop, window=window, center=center, backend=backend)
    assert_close(got, reference(x, n_fft, hop or n_fft // 4, window, center))
    if backend == "simulator":
        assert fft.last_call().operation == "frames_product"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_default_window_batches_and_forms(backend):
    x = normal(rng(), (2, 3, 900), "float32")
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(128) / 128)
    assert_close(fft.stft(x, 128, backend=backend), reference(x, 128, 32, hann, True))
    assert_close(fft.stft(x, 128, normalized=True, backend=backend), reference(x, 128, 32, hann, True, 128 ** -0.5))
    assert_close(fft.stft(x, 128, onesided=False, backend=backend), reference(x, 128, 32, hann, True, onesided=False))
    short = np.zeros(128)
    short[14:114] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(100) / 100)
    assert_close(fft.stft(x, 128, win_length=100, backend=backend), reference(x, 128, 32, short, True))


PAD_MODES = {"reflect": "reflect", "constant": "constant", "zeros": "constant", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pad_mode", PAD_MODES)
def test_ends_of_real_and_complex_signals(pad_mode, backend):
    r = rng()
    for dtype, n_fft, hop, samples in (("float32", 100, 33, 501), ("complex64", 64, 20, 300), ("float32", 63, 16, 32)):
        x = normal(r, (2, samples), dtype)
        window = np.hanning(n_fft + 1)[:-1].astype("float32")
        got = fft.stft(x, n_fft, hop, window=window, pad_mode=pad_mode, onesided=False, backend=backend)
        ends = np.pad(wide(x), [(0, 0), (n_fft // 2, n_fft // 2)], mode=PAD_MODES[pad_mode])
        assert_close(got, reference(ends, n_fft, hop, window, False, onesided=False), what=f"{dtype} {n_fft}")
        assert fft.last_call().operation == "frames_product"
        if backend == "simulator":
            assert fft.last_call().predicted_ns > 0
    with pytest.raises(ValueError, match="^pad_mode: 'mirror'"):
        fft.stft(x, 16, pad_mode="mirror", onesided=False)
    with pytest.raises(ValueError, match="^input: 0 samples are too few"):
        fft.stft(np.ones(0, np.float32), 16, pad_mode=pad_mode)


@pytest.mark.parametrize("length", [None, 1, 700, 1600, 1700])
def test_signals_are_divided_and_cut_by_the_kernel(length):
    x = normal(rng(), (2, 1600), "float32")
    for n_fft, hop, center in ((128, 32, True), (100, 33, True), (64, 64, False), (63, 20, False)):
        window = np.hamming(n_fft).astype("float32")
        y = fft.stft(x, n_fft, hop, window=window, center=center)
        want = fft.istft(y, n_fft, hop, window=window, center=center, length=length, backend="native")
        got = fft.istft(y, n_fft, hop, window=window, center=center, length=length, backend="simulator")
        assert fft.last_call().operation == "frames_product"
        assert got.shape == want.shape
        # Of the whole signal's largest number: few samples may all be small.
        assert np.abs(got - want).max() <= 2e-6 * np.abs(x).max(), f"{n_fft} {hop} seed {SEED}"


@pytest.mark.parametrize("backend", BACKENDS)
def test_there_and_back(backend):
    x = normal(rng(), (2, 1600), "float32")
    for n_fft, hop in ((128, 32), (128, 40), (100, 25), (63, 20)):
        for normalized in (False, True):
            y = fft.stft(x, n_fft, hop, normalized=normalized, backend=backend)
            back = fft.istft(y, n_fft, hop, normalized=normalized, length=1600, backend=backend)
            assert fft.last_call().operation == ("frames_product" if backend == "simulator" else "irfft")
            assert_close(back, x, 2e-6)
    y = fft.stft(x, 128, 32, center=False, backend=backend)
    back = fft.istft(y, 128, 32, center=False, backend=backend)
    assert_close(back[..., 128:1400], x[..., 128:1400], 2e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_complex_signals_come_back_as_they_were(backend):
    x = normal(rng(), (2, 500))
    spectra = fft.stft(x, 64, onesided=False, backend=backend)
    both = fft.stft(x, 64, onesided=False, return_complex=False, backend=backend)
    np.testing.assert_array_equal(both[..., 0] + 1j * both[..., 1], spectra)
    given = {"onesided": False, "length": 500, "backend": backend}
    assert_close(fft.istft(spectra, 64, return_complex=True, **given), wide(x), 3e-6)
    assert_close(fft.istft(spectra, 64, **given), wide(x.real), 3e-6)


def test_windows_of_complex_numbers_are_refused():
    """Their imaginary part was left out without a word."""
    for call in (lambda w: fft.stft(np.ones(100, np.complex64), 16, window=w),
                 lambda w: fft.istft(np.ones((16, 5), np.complex64), 16, window=w)):
        with pytest.raises(TypeError, match="^window: complex"):
            call(np.ones(16, np.complex64))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_signal_says_how_many_sides(backend):
    """As in torch.stft: half spectra of real signals, whole ones of complex ones, where nothing is said."""
    x = normal(rng(), 300)
    np.testing.assert_array_equal(fft.stft(x, 16, backend=backend), fft.stft(x, 16, onesided=False, backend=backend))
    assert fft.stft(x.real, 16, backend=backend).shape[0] == 9
    spectra = fft.stft(x, 16, backend=backend)
    back = fft.istft(spectra, 16, length=300, return_complex=True, backend=backend)
    assert_close(back, wide(x), 3e-6)


@pytest.mark.parametrize("call, message", [
    (lambda x: fft.stft(x, 0), "^n_fft: "),
    (lambda x: fft.stft(x, 64, 0), "^hop_length: "),
    (lambda x: fft.stft(x, 64, win_length=65), "^win_length: "),
    (lambda x: fft.stft(x, 64, window=np.ones(3)), "^window: "),
    (lambda x: fft.stft(x, 512), "^input: "),
    (lambda x: fft.stft(x + 1j, 64, onesided=True), "^onesided: "),
    (lambda x: fft.istft(np.ones((9, 4), np.complex64), 16, return_complex=True), "^return_complex: "),
    (lambda x: fft.istft(x, 64), "^input: "),
    (lambda x: fft.stft(x, 64, pad_mode="odd"), "^pad_mode: "),
])
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.ones(100, np.float32))
