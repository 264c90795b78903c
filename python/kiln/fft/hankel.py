"""Hankel transforms of samples that are equally far apart in their logarithms, as in scipy.fft: a convolution with a
kernel whose spectrum is known (A. J. S. Hamilton, 2000, appendix B)."""

import math
import warnings

import numpy as np

from . import api
from ._call import Data, function
from ._refused import Invalid, WrongKind
from .complex import ComplexTensor

_LN2 = math.log(2)
# Bernoulli numbers B(2 k) / (2 k (2 k - 1)) of Stirling's series, exact to 1e-16 from |z| = 12 on.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_FAR = 12


def _log_gamma(x, y):
    """ln Γ(x + i y), up to multiples of 2 pi i; infinite where Γ is."""
    z = x + 1j * np.asarray(y, np.float64)
    below = np.zeros_like(z)
    with np.errstate(divide="ignore"):
        for _ in range(max(0, math.ceil(_FAR - x))):
            below += np.log(z)
            z = z + 1
    series = sum(b / z ** (2 * k + 1) for k, b in enumerate(_STIRLING))
    return (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi) + series - below


def _is_pole(x):
    return x <= 0 and x == math.floor(x)


def _first(xp, xm, q):
    """What 2^q Γ(xp) / Γ(xm) tends to where Γ of one is infinite, or of both."""
    if not (_is_pole(xp) and _is_pole(xm)):
        return math.inf if _is_pole(xp) else 0.0
    # Residues of Γ at - m are (-1)^m / m!.
    return (-1) ** round(xp - xm) * math.exp(q * _LN2 + math.lgamma(1 - xm) - math.lgamma(1 - xp))


def _spectrum(n, dln, mu, offset, bias, inverse):
    """What the half spectrum of n samples is multiplied by."""
    xp, xm = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    y = np.linspace(0, math.pi * (n // 2) / (n * dln), n // 2 + 1)
    with np.errstate(invalid="ignore"):
        plus, minus = _log_gamma(xp, y), _log_gamma(xm, y)
        size = np.exp(bias * _LN2 + plus.real - minus.real)
        u = size * np.exp(1j * (2 * y * (_LN2 - offset) + plus.imag + minus.imag))
    if n % 2 == 0:
        u.imag[-1] = 0
    if _is_pole(xp) or _is_pole(xm):
        u[0] = _first(xp, xm, bias)
    if not inverse and np.isinf(u[0]):
        warnings.warn("singular transform; consider changing the bias", stacklevel=5)
        u[0] = 0
    elif inverse and u[0] == 0:
        warnings.warn("singular inverse transform; consider changing the bias", stacklevel=5)
        u[0] = np.inf
    return 1 / u.conj() if inverse else u


def _times(x, factors):
    """Numbers along the last axis times some of NumPy's, in the caller's kind and dtype."""
    if isinstance(x, ComplexTensor):
        import torch
        return x * ComplexTensor(*(torch.from_numpy(f.copy()).to(x.real) for f in (factors.real, factors.imag)))
    if isinstance(x, np.ndarray):
        return x * factors.astype(x.dtype)
    return x * x.new_tensor(factors)


def _transform(x, name, dln, mu, offset, bias, inverse, precision):
    data = Data(x, name)
    if data.is_complex:
        raise WrongKind(f"{name}: complex numbers, expected real ones")
    if len(data.shape) == 0:
        raise Invalid(f"{name}: a single number, expected samples")
    x, n = data.value, data.shape[-1]
    if n == 0:
        raise Invalid(f"{name}: no samples, expected at least 1")
    places = (np.arange(n) - (n - 1) / 2) * dln
    before, after = np.exp(-bias * places), np.exp(-bias * (places + offset))
    if inverse:
        before, after = 1 / after, 1 / before
    if bias != 0:
        x = _times(x, before)
    u = _spectrum(n, dln, mu, offset, bias, inverse)
    x = api.irfft(_times(api.rfft(x, precision=precision), u), n, precision=precision)
    x = x[..., ::-1] if data.torch is None else x.flip(-1)
    if bias != 0:
        x = _times(x, after)
    data.value = x
    return data.result()


@function
def fht(a, dln, mu, offset=0.0, bias=0.0, *, precision=None):
    """The Hankel transform of order mu of samples along the last axis whose places are `dln` apart in their logarithms,
    times (k r)^bias; `offset` is the logarithm of the product of both middles."""
    return _transform(a, "a", dln, mu, offset, bias, False, precision)


@function
def ifht(A, dln, mu, offset=0.0, bias=0.0, *, precision=None):
    """The inverse of fht."""
    return _transform(A, "A", dln, mu, offset, bias, True, precision)


def fhtoffset(dln, mu, initial=0.0, bias=0.0):
    """The offset nearest to `initial` whose kernel has no jump at the ends."""
    y = math.pi / (2 * dln)
    phase = sum(float(_log_gamma((mu + 1 + q) / 2, y).imag) for q in (bias, -bias))
    turns = (_LN2 - initial) / dln + phase / math.pi
    return initial + (turns - np.round(turns)) * dln
