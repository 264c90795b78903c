"""Short-time transforms and their inverse, as in trnfft and torch.stft."""

import functools
import math

import numpy as np

from kiln._kiln import fft as _native

from . import api
from ._axes import whole
from ._call import Data, function, mode_of
from ._refused import Invalid, Refused, WrongKind
from ._rows import is_native
from .complex import ComplexTensor

_MOST_FUSED = 2048 * 2050  # numbers of the largest matrix that is a window and a transform

_BORDERS = ("constant", "reflect", "replicate", "circular")  # as Border in kernels/fft/frames.h counts
_OF_NUMPY = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def hann_window(n):
    """The periodic Hann window."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)).astype(np.float32) if n > 1 else np.ones(n, np.float32)


class _Frames:
    """The arguments that stft and istft share."""

    def __init__(self, n_fft, hop_length, hop, win_length, window, normalized, onesided):
        if not isinstance(n_fft, (int, np.integer)) or n_fft < 1:
            raise Invalid(f"n_fft: {n_fft!r}, expected a positive number")
        if hop is not None and hop_length is not None:
            raise Invalid("hop: it means hop_length, which is given too")
        self.n_fft, self.onesided = int(n_fft), onesided
        given = hop if hop_length is None else hop_length
        self.hop = self.n_fft // 4 if given is None else whole(given, "hop_length")
        if self.hop < 1:
            raise Invalid(f"hop_length: {self.hop}, expected at least 1")
        length = self.n_fft if win_length is None else whole(win_length, "win_length")
        if not 1 <= length <= self.n_fft:
            raise Invalid(f"win_length: {length}, expected 1 to n_fft, which is {self.n_fft}")
        if window is None:
            window = hann_window(length)
        if hasattr(window, "detach"):
            window = window.detach().cpu().numpy()
        window = np.asarray(window)
        if window.dtype.kind == "c":
            raise WrongKind("window: complex numbers, expected real ones")
        if window.shape != (length,):
            raise Invalid(f"window: its shape is {window.shape}, expected ({length},)")
        left = (self.n_fft - length) // 2
        self.window = np.zeros(self.n_fft, np.float64)
        self.window[left:left + length] = window
        self.scale = 1 / math.sqrt(self.n_fft) if normalized else 1.0
        self.bins = self.n_fft // 2 + 1 if onesided else self.n_fft


@functools.lru_cache(maxsize=8)
def _matrix(n, bins, window_bytes, scale, unit):
    """[unit n, 2 bins]: frames of real numbers, or of pairs where unit is 2, times it are their windowed spectra."""
    window = np.frombuffer(window_bytes, np.float64)
    turns = np.outer(np.arange(n), np.arange(bins)) % n
    w = (scale * window)[:, None] * np.exp(-2j * np.pi * (turns / n))
    if unit == 2:
        w = np.stack([w, 1j * w], 1).reshape(2 * n, bins)
    return np.ascontiguousarray(w.astype(np.complex64).view(np.float32))


def _numbers(f, shape, unit, border, pad):
    """What the kernel is told of a signal: rows, samples, size, hop, width, border, pad, unit, kept, first."""
    return (math.prod(shape[:-1]), shape[-1] * unit, f.n_fft * unit, f.hop * unit, 2 * f.bins, _BORDERS.index(border),
            pad * unit, unit, 0, 0)


def _fused(x, f, border, pad):
    """Spectra of frames [..., frames, bins] by the kernel that makes the ends, windows, cuts and transforms at once."""
    unit = 2 if x.dtype.kind == "c" else 1
    matrix = _matrix(f.n_fft, f.bins, f.window.tobytes(), f.scale, unit)
    frames = (x.shape[-1] + 2 * pad - f.n_fft) // f.hop + 1
    x = np.ascontiguousarray(x)
    y = np.empty((*x.shape[:-1], frames, f.bins), np.complex64)
    _native.frames_product(_numbers(f, x.shape, unit, border, pad), x.ctypes.data, matrix.ctypes.data, 0, y.ctypes.data)
    return y


@functools.lru_cache(maxsize=8)
def _matrix_back(n, hop, window_bytes, scale):
    """[r 2 (n // 2 + 1), hop]: half spectra of r frames that follow each other, times it, are the hop samples that all
    of them have a part in: inverse transform, window and sum at once. r is n / hop, rounded up."""
    window, bins, r = np.frombuffer(window_bytes, np.float64), n // 2 + 1, -(-n // hop)
    weight = np.full(bins, 2.0 / n)
    weight[0] = 1.0 / n
    if n % 2 == 0:
        weight[-1] = 1.0 / n
    out = np.zeros((r, bins, 2, hop), np.float32)
    for j in range(r):
        samples = np.arange((r - 1 - j) * hop, min((r - j) * hop, n))
        turns = np.outer(np.arange(bins), samples) % n
        w = weight[:, None] * (window[samples] / scale) * np.exp(2j * np.pi * (turns / n))
        out[j, :, 0, :len(samples)], out[j, :, 1, :len(samples)] = w.real, -w.imag
    return out.reshape(r * bins * 2, hop)


@functools.lru_cache(maxsize=8)
def _weights(n, hop, window_bytes, frames, first, kept):
    """One over the sum of the windows' squares, for the samples of a signal that are kept."""
    window = np.frombuffer(window_bytes, np.float64)
    total = _overlapped(np.broadcast_to(window * window, (frames, n)), hop, None)[first:first + kept]
    out = np.ones(kept, np.float32)
    out[:len(total)] = 1 / np.where(total > 1e-8, total, 1.0)
    return out


def _fused_back(spectra, f, first, kept):
    """`kept` samples of the signal from half spectra [..., frames, bins], by one kernel: the rows of r frames overlap
    in memory as frames of a signal do, and there are none before the first and behind the last."""
    *batch, frames, bins = spectra.shape
    r, width = -(-f.n_fft // f.hop), 2 * bins
    spectra = np.ascontiguousarray(spectra)
    matrix = _matrix_back(f.n_fft, f.hop, f.window.tobytes(), f.scale)
    weights = _weights(f.n_fft, f.hop, f.window.tobytes(), frames, first, kept)
    y = np.empty((*batch, kept), np.float32)
    numbers = (math.prod(batch), frames * width, r * width, width, f.hop, 0, (r - 1) * width, 1, kept, first)
    _native.frames_product(numbers, spectra.ctypes.data, matrix.ctypes.data, weights.ctypes.data, y.ctypes.data)
    return y


def _padded(data, size, border):
    """The signal with half a frame on both sides."""
    torch = data.torch
    if torch is None:
        width = [(0, 0)] * (data.value.ndim - 1) + [(size, size)]
        data.value = np.pad(data.value, width, mode=_OF_NUMPY[border])
        return
    shape = data.value.shape
    flat = data.value.reshape(1, -1, shape[-1])
    parts = (flat.real, flat.imag) if flat.is_complex() else (flat,)
    padded = [torch.nn.functional.pad(p, (size, size), mode=border) for p in parts]
    value = torch.complex(*padded) if len(padded) == 2 else padded[0]
    data.value = value.reshape(*shape[:-1], -1)


def _frames_of(data, f):
    """[..., frames, n_fft] times the window, in the caller's kind."""
    if data.torch is None:
        frames = np.lib.stride_tricks.sliding_window_view(data.value, f.n_fft, axis=-1)[..., ::f.hop, :]
        return frames * f.window.astype(data.value.real.dtype)
    value = data.value.unfold(-1, f.n_fft, f.hop)
    real = value.real.dtype if value.is_complex() else value.dtype
    return value * data.torch.from_numpy(f.window).to(real).to(value.device)


@function
def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect",
         normalized=False, onesided=None, return_complex=True, *, hop=None, precision=None):
    """Spectra of frames, (..., frequency, time). Frames begin `hop_length` samples apart, n_fft // 4 where not given;
    the window is in the middle of them, a Hann window where not given. Spectra are half ones unless the signal is
    complex. return_complex=False gives real and imaginary parts along a last axis of two, as torch.stft does."""
    data = Data(input)
    onesided = not data.is_complex if onesided is None else onesided
    f = _Frames(n_fft, hop_length, hop, win_length, window, normalized, onesided)
    if len(data.shape) == 0:
        raise Invalid("input: a single number, expected a signal")
    if onesided and data.is_complex:
        raise Refused("onesided: complex signals have no half spectrum; pass onesided=False")
    border, pad = _border_of(pad_mode, f.n_fft // 2 if center else 0, data.shape[-1])
    if data.shape[-1] + 2 * pad < f.n_fft:
        raise Invalid(f"input: {data.shape[-1]} samples are fewer than one frame of {f.n_fft}")
    mode = mode_of(precision)
    unit = 2 if data.is_complex else 1
    if _can_fuse(data, f, mode, unit * f.n_fft * 2 * f.bins):
        array = data.value if data.torch is None else data.value.detach().cpu().numpy()
        y = _fused(array, f, border, pad)
        data.value = y if data.torch is None else data.torch.from_numpy(y).to(data.value.device)
    else:
        numbers = _numbers(f, data.shape, unit, border, pad)
        if pad:
            _padded(data, pad, border)
        frames = _frames_of(data, f)
        one = api.rfft if onesided else api.fft
        spectra = Data(one(frames, precision=mode if mode == "bf16" else precision))
        data.value = spectra.value * f.scale if f.scale != 1 else spectra.value
        if is_native() and numbers[0]:
            _native.note_frames_product(numbers)
    swap = data.value.transpose(-1, -2) if data.torch is not None else np.swapaxes(data.value, -1, -2)
    data.value = swap
    return data.result() if return_complex else _both_parts(data)


def _both_parts(data):
    if data.torch is None:
        return np.stack([data.value.real, data.value.imag], -1)
    pair = data.result()
    return data.torch.stack([pair.real, pair.imag], -1)


def _border_of(pad_mode, pad, samples):
    """(border, samples at each end) of a signal."""
    border = {"zeros": "constant"}.get(pad_mode, pad_mode)
    if border not in _BORDERS:
        raise Invalid(f"pad_mode: {pad_mode!r}, expected 'reflect', 'constant', 'replicate' or 'circular'")
    if border == "reflect" and pad and pad >= samples:
        raise Invalid(f"input: {samples} samples are too few to reflect {pad} of them")
    if border == "circular" and pad > samples or pad and samples == 0:
        raise Invalid(f"input: {samples} samples are too few for {pad} more at each end")
    return border, pad


def _can_fuse(data, f, mode, size):
    """Whether one kernel computes all, with a matrix of so many numbers."""
    if is_native() or size > _MOST_FUSED or mode != "fast" or 0 in data.shape:
        return False
    if data.torch is None:
        return data.value.dtype in (np.float32, np.complex64)
    wants = data.torch.is_grad_enabled() and data.value.requires_grad
    return data.value.dtype in (data.torch.float32, data.torch.complex64) and not wants


def _overlapped(frames, hop, torch):
    """The sum of frames [..., frames, n] that begin `hop` apart."""
    *batch, count, n = frames.shape
    pieces = -(-n // hop)
    if torch is None:
        out = np.zeros((*batch, (count + pieces - 1) * hop), frames.dtype)
        frames = np.pad(frames, [(0, 0)] * (len(batch) + 1) + [(0, pieces * hop - n)])
        for i in range(pieces):
            part = frames[..., i * hop:(i + 1) * hop].reshape(*batch, count * hop)
            out[..., i * hop:(i + count) * hop] += part
        return out[..., :(count - 1) * hop + n]
    frames = torch.nn.functional.pad(frames, (0, pieces * hop - n))
    out = 0
    for i in range(pieces):
        part = frames[..., i * hop:(i + 1) * hop].reshape(*batch, count * hop)
        out = out + torch.nn.functional.pad(part, (i * hop, (pieces - 1 - i) * hop))
    return out[..., :(count - 1) * hop + n]


@function
def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False, *, hop=None, precision=None):
    """The signal whose stft is given: windowed frames that overlap are added, and divided by the sum of the windows'
    squares where that is more than 1e-8. Its real part, or with return_complex all of it. Spectra of n_fft numbers are
    whole ones unless `onesided` says that they are half."""
    data = Data(input).as_complex()
    if onesided is None:
        onesided = len(data.shape) < 2 or data.shape[-2] != n_fft
    if return_complex and onesided:
        raise Refused("return_complex: half spectra are those of real signals; pass onesided=False")
    f = _Frames(n_fft, hop_length, hop, win_length, window, normalized, onesided)
    if len(data.shape) < 2 or data.shape[-2] != f.bins:
        raise Invalid(f"input: its shape is {data.shape}, expected (..., {f.bins}, frames)")
    if data.shape[-1] == 0:
        raise Invalid("input: it has no frames")
    if length is not None and whole(length, "length") < 0:
        raise Invalid(f"length: {length}, expected 0 or more")
    torch = data.torch
    data.value = data.value.transpose(-1, -2) if torch is not None else np.swapaxes(data.value, -1, -2)
    count = data.shape[-2]
    first = f.n_fft // 2 if center else 0
    total = (count - 1) * f.hop + f.n_fft
    kept = total - 2 * first if length is None else length
    size = -(-f.n_fft // f.hop) * f.hop * 2 * f.bins
    if onesided and 0 < kept and first < total and _can_fuse(data, f, mode_of(precision), size):
        array = data.value if torch is None else data.value.detach().cpu().numpy()
        y = _fused_back(array, f, first, kept)
        return y if torch is None else torch.from_numpy(y).to(data.value.device)
    frames_in = data.result()
    if onesided:
        frames = api.irfft(frames_in, f.n_fft, precision=precision)
    else:
        frames = api.ifft(frames_in, precision=precision)
        if return_complex:
            frames = frames if torch is None else frames.to_torch_complex()
        else:
            frames = frames.real
    real = frames.real.dtype
    window = f.window.astype(np.float64)
    if torch is None:
        y = _overlapped(frames * (window / f.scale).astype(real), f.hop, None)
    else:
        y = _overlapped(frames * torch.from_numpy(window / f.scale).to(real).to(frames.device), f.hop, torch)
    y = _finished(y, f, count, center, length, torch)
    return ComplexTensor(y.real, y.imag) if torch is not None and return_complex else y


def _finished(y, f, count, center, length, torch):
    """Divided by the sum of squared windows, and cut."""
    real, window = y.dtype, f.window
    weight = _overlapped(np.broadcast_to(window * window, (count, f.n_fft)), f.hop, None)
    weight = np.where(weight > 1e-8, weight, 1.0)
    y = y / (weight.astype(real) if torch is None else torch.from_numpy(weight).to(real).to(y.device))
    first = f.n_fft // 2 if center else 0
    last = y.shape[-1] - first if length is None else first + length
    y = y[..., first:min(last, y.shape[-1])]
    if length is not None and y.shape[-1] < length:
        missing = length - y.shape[-1]
        y = np.pad(y, [(0, 0)] * (y.ndim - 1) + [(0, missing)]) if torch is None else (
            torch.nn.functional.pad(y, (0, missing)))
    return y
