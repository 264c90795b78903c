"""Discrete cosine and sine transforms, types 1 to 4, as in scipy.fft; each is one transform of real or complex rows."""

import dataclasses

import numpy as np

from kiln.blas._backend import scope

from ._axes import NORMS, length, normal, several, unknown_norm
from ._call import Data, mode_of, transforming
from ._refused import Invalid
from ._rows import FORWARD, WHOLE, fit, transform

_PI = np.array("3.14159265358979323846264338327950288", np.longdouble)
_TWO = np.longdouble(2)
INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def _turn(numerators, denominator, dtype):
    """e^(- i pi a / b), from reduced a."""
    real = np.longdouble if dtype == np.clongdouble else np.float64
    angles = _PI.astype(real) * ((np.asarray(numerators) % (2 * denominator)).astype(real) / denominator)
    return (np.cos(angles) - 1j * np.sin(angles)).astype(dtype)


def _complex(dtype):
    return np.result_type(dtype, np.complex64)


def _half(x, m, mode):
    """The half spectrum of m numbers, x and zeros."""
    return transform(fit(x, -1, m), m, FORWARD, False, 1.0, mode)


def _cos1(x, mode):
    n = x.shape[-1]
    if n < 2:
        raise Invalid("n: a cosine transform of type 1 has at least 2 numbers")
    return _half(np.concatenate([x, x[..., -2:0:-1]], axis=-1), 2 * n - 2, mode).real


def _sin1(x, mode):
    n = x.shape[-1]
    zero = np.zeros((*x.shape[:-1], 1), x.dtype)
    y = _half(np.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1), 2 * n + 2, mode)
    return -y.imag[..., 1:n + 1]


def _cos2(x, mode):
    n = x.shape[-1]
    k = np.arange(n)
    y = _half(x, 2 * n, mode)[..., :n]
    return 2 * (y * _turn(k, 2 * n, y.dtype)).real


def _sin2(x, mode):
    n = x.shape[-1]
    k = np.arange(1, n + 1)
    y = _half(x, 2 * n, mode)[..., 1:n + 1]
    return -2 * (y * _turn(k, 2 * n, y.dtype)).imag


def _cos3(x, mode):
    # x(0) + 2 Σ x(j) cos(pi j (2 k + 1) / 2n): a complex transform of length 2 n of turned numbers.
    n = x.shape[-1]
    z = 2 * x * _turn(np.arange(n), 2 * n, _complex(x.dtype))
    z[..., 0] = x[..., 0]
    return transform(fit(z, -1, 2 * n), 2 * n, WHOLE, False, 1.0, mode).real[..., :n]


def _sin3(x, mode):
    n = x.shape[-1]
    turned = np.zeros((*x.shape[:-1], n + 1), _complex(x.dtype))
    turned[..., 1:] = 2 * x * _turn(np.arange(1, n + 1), 2 * n, turned.dtype)
    turned[..., n] /= 2
    return -transform(fit(turned, -1, 2 * n), 2 * n, WHOLE, False, 1.0, mode).imag[..., :n]


def _four(x, mode):
    """2 Σ x(j) e^(- i pi (2 j + 1) (2 k + 1) / 4n)"""
    n = x.shape[-1]
    z = x * _turn(2 * np.arange(n), 4 * n, _complex(x.dtype))
    y = transform(fit(z, -1, 2 * n), 2 * n, WHOLE, False, 1.0, mode)[..., :n]
    return 2 * y * _turn(2 * np.arange(n) + 1, 4 * n, y.dtype)


COSINES = {1: _cos1, 2: _cos2, 3: _cos3, 4: lambda x, mode: _four(x, mode).real}
SINES = {1: _sin1, 2: _sin2, 3: _sin3, 4: lambda x, mode: -_four(x, mode).imag}


def _ends(x, kind, factor, cosine):
    """The numbers that count once where others count twice, times a factor."""
    where = {(1, True): [0, -1], (2, True): [0], (3, True): [0], (2, False): [-1], (3, False): [-1]}.get((kind, cosine))
    if where is None or factor == 1:
        return x
    x = x.copy()
    x[..., where] *= x.dtype.type(factor)
    return x


def _period(kind, cosine, n):
    return {(1, True): 2 * max(n - 1, 1), (1, False): 2 * (n + 1)}.get((kind, cosine), 2 * n)


@dataclasses.dataclass(slots=True)
class Trigonometric:
    """A cosine or sine transform along an axis, and its adjoint; Linear is the same for Fourier transforms."""

    cosine: bool
    kind: int
    n: int
    axis: int
    factor: float
    mode: str
    given: int  # numbers along the axis of x
    before: float = 1.0  # factors of the numbers that count once, on the way in and out
    after: float = 1.0
    kept: int | None = None
    backend: str = ""

    def __call__(self, x):
        if x.dtype.kind == "c":
            both = dataclasses.replace(self, axis=self.axis + 1)(np.stack([x.real, x.imag]))
            y = np.empty(both.shape[1:], x.dtype)
            y.real, y.imag = both
            return y
        x = fit(np.moveaxis(x, self.axis, -1), -1, self.n)
        x = _ends(x, self.kind, self.before, self.cosine)
        with scope(self.backend or None):
            y = (COSINES if self.cosine else SINES)[self.kind](x, self.mode)
        y = _ends(y, self.kind, self.after, self.cosine)
        y = y * y.dtype.type(self.factor) if self.factor != 1 else y
        return np.moveaxis(y if self.kept is None else fit(y, -1, self.kept), -1, self.axis)

    def adjoint(self):
        # Transposed, type 2 is type 3 of numbers of which the first counts twice; types 4 and 1 of sines stay.
        before, after = {2: (2 * self.after, self.before), 3: (self.after, self.before / 2)}.get(
            self.kind, (2 * self.after, self.before / 2) if (self.kind, self.cosine) == (1, True) else
            (self.after, self.before))
        return dataclasses.replace(self, kind=INVERSE_TYPE[self.kind], before=before, after=after,
                                   given=self.n if self.kept is None else self.kept, kept=self.given)


def _apply(x, type, n, axis, norm, table, inverse, orthogonalize, precision):
    if type not in table:
        raise Invalid(f"type: {type!r}, expected 1, 2, 3 or 4")
    if norm is not None and norm not in NORMS:
        raise unknown_norm(norm)
    data = Data(x, "x")
    axis, cosine = normal(axis, len(data.shape), "axis"), table is COSINES
    given = data.shape[axis]
    n, kind = length(n, given), INVERSE_TYPE[type] if inverse else type
    factor, before, after = 1.0, 1.0, 1.0
    if norm == "ortho" if orthogonalize is None else orthogonalize:
        before = _TWO ** 0.5 if kind == 3 or (kind, cosine) == (1, True) else 1.0
        after = _TWO ** -0.5 if kind == 2 or (kind, cosine) == (1, True) else 1.0
    if norm == "ortho":
        factor = np.longdouble(_period(kind, cosine, n)) ** -0.5
    elif (norm != "forward") == inverse:
        factor = 1 / np.longdouble(_period(type, cosine, n))
    return data.apply(Trigonometric(cosine, kind, n, axis, factor, mode_of(precision), given, before, after)).result()


@transforming
def dct(x, type=2, n=None, axis=-1, norm=None, *, orthogonalize=None, precision=None):
    """The cosine transform along an axis."""
    return _apply(x, type, n, axis, norm, COSINES, False, orthogonalize, precision)


@transforming
def idct(x, type=2, n=None, axis=-1, norm=None, *, orthogonalize=None, precision=None):
    return _apply(x, type, n, axis, norm, COSINES, True, orthogonalize, precision)


@transforming
def dst(x, type=2, n=None, axis=-1, norm=None, *, orthogonalize=None, precision=None):
    """The sine transform along an axis."""
    return _apply(x, type, n, axis, norm, SINES, False, orthogonalize, precision)


@transforming
def idst(x, type=2, n=None, axis=-1, norm=None, *, orthogonalize=None, precision=None):
    return _apply(x, type, n, axis, norm, SINES, True, orthogonalize, precision)


def _many(one, x, type, s, axes, norm, orthogonalize, precision):
    x = x if hasattr(x, "shape") else np.asarray(x)
    lengths, axes = several(x.shape, s, axes, None)
    for n, axis in zip(lengths, axes):
        x = one(x, type, n, axis, norm, orthogonalize=orthogonalize, precision=precision)
    return x


@transforming
def dctn(x, type=2, s=None, axes=None, norm=None, *, orthogonalize=None, precision=None):
    return _many(dct, x, type, s, axes, norm, orthogonalize, precision)


@transforming
def idctn(x, type=2, s=None, axes=None, norm=None, *, orthogonalize=None, precision=None):
    return _many(idct, x, type, s, axes, norm, orthogonalize, precision)


@transforming
def dstn(x, type=2, s=None, axes=None, norm=None, *, orthogonalize=None, precision=None):
    return _many(dst, x, type, s, axes, norm, orthogonalize, precision)


@transforming
def idstn(x, type=2, s=None, axes=None, norm=None, *, orthogonalize=None, precision=None):
    return _many(idst, x, type, s, axes, norm, orthogonalize, precision)
