"""Transforms with the names of numpy.fft, torch.fft and trnfft. `axis` and `dim`, `axes` and `dim` mean the same."""

from ._axes import length, listed_lengths, normal, one_axis, scale_of, several, swapped
from ._call import Data, mode_of, transforming
from ._refused import Refused, WrongKind
from .fft_core import FORWARD, INVERSE, WHOLE, along

PLANE = (-2, -1)  # where no axes are given; None is all of them, as in NumPy and SciPy


def _one(input, n, axis, norm, dim, inverse, precision, out=None):
    data = Data(input).as_complex()
    axis = normal(one_axis(axis, dim), len(data.shape))
    n = length(n, data.shape[axis])
    return along(data, WHOLE, n, axis, inverse, scale_of(norm, n, inverse), mode_of(precision)).result(out)


@transforming
def fft(input, n=None, axis=None, norm=None, out=None, *, dim=None, precision=None):
    """The transform along an axis, the last one where none is given; n numbers, cut or filled up with zeros."""
    return _one(input, n, axis, norm, dim, False, precision, out)


@transforming
def ifft(input, n=None, axis=None, norm=None, out=None, *, dim=None, precision=None):
    """The inverse of fft."""
    return _one(input, n, axis, norm, dim, True, precision, out)


def _real(data, n, axis, norm, mode):
    """The half spectrum of a Data."""
    n = length(n, data.shape[axis])
    return along(data, FORWARD, n, axis, False, scale_of(norm, n, False), mode)


def _to_real(data, n, axis, norm, mode):
    n = length(n, 2 * (data.shape[axis] - 1))
    return along(data.as_complex(), INVERSE, n, axis, True, scale_of(norm, n, True), mode)


def _require_real(data, name="input"):
    if data.is_complex:
        raise WrongKind(f"{name}: complex numbers; x must be a real sequence")
    return data


@transforming
def rfft(input, n=None, axis=None, norm=None, out=None, *, dim=None, precision=None):
    """The first n // 2 + 1 numbers of the transform of real ones, at half its cost."""
    data = Data(input)
    if not data.pair:
        _require_real(data)
    axis = normal(one_axis(axis, dim), len(data.shape))
    if data.is_complex:  # trnfft takes them: the half of their spectrum
        n = length(n, data.shape[axis])
        along(data, WHOLE, n, axis, False, scale_of(norm, n, False), mode_of(precision))
        data.value = data.value.narrow(axis, 0, n // 2 + 1)
        return data.result()
    return _real(_require_real(data), n, axis, norm, mode_of(precision)).result(out)


@transforming
def irfft(input, n=None, axis=None, norm=None, out=None, *, dim=None, precision=None):
    """n real numbers, 2 (m - 1) where not given, from the first m of their spectrum: the inverse of rfft."""
    data = Data(input)
    axis = normal(one_axis(axis, dim), len(data.shape))
    return _to_real(data, n, axis, norm, mode_of(precision)).result(out)


@transforming
def hfft(input, n=None, axis=None, norm=None, out=None, *, dim=None, precision=None):
    """The real spectrum of Hermitian numbers of which the first half is given."""
    data = Data(input).as_complex().conj()
    axis = normal(one_axis(axis, dim), len(data.shape))
    return _to_real(data, n, axis, swapped(norm), mode_of(precision)).result(out)


@transforming
def ihfft(input, n=None, axis=None, norm=None, out=None, *, dim=None, precision=None):
    """The inverse of hfft."""
    data = _require_real(Data(input))
    axis = normal(one_axis(axis, dim), len(data.shape))
    return _real(data, n, axis, swapped(norm), mode_of(precision)).conj().result(out)


def _several(data, s, axes, dim, at_least=0, may_repeat=True):
    axes = None if axes is PLANE and dim is not None else axes
    lengths, axes = several(data.shape, s, axes, dim, may_repeat=may_repeat and data.torch is None)
    if len(axes) < at_least:
        raise Refused("dim: no axes, but at least 1 axis must be transformed")
    return lengths, axes


def _many(input, s, axes, norm, dim, inverse, precision, out=None):
    data = Data(input).as_complex()
    lengths, axes = _several(data, s, axes, dim)
    mode = mode_of(precision)
    for n, axis in zip(lengths[::-1], axes[::-1]):
        along(data, WHOLE, n, axis, inverse, scale_of(norm, n, inverse), mode)
    return data.result(out)


def _many_real(data, s, axes, norm, dim, precision, may_repeat=True):
    """Half a spectrum along the last axis that is listed, whole ones along the others."""
    lengths, axes = _several(data, s, axes, dim, 1, may_repeat)
    mode = mode_of(precision)
    _real(data, lengths[-1], axes[-1], norm, mode)
    for n, axis in zip(lengths[-2::-1], axes[-2::-1]):
        along(data, WHOLE, n, axis, False, scale_of(norm, n, False), mode)
    return data


def _many_to_real(data, s, axes, norm, dim, precision, may_repeat=True):
    data.as_complex()
    lengths, axes = _several(data, s, axes, dim, 1, may_repeat)
    if s is None or data.torch is not None and listed_lengths(s)[-1] == -1:  # torch fills in what NumPy takes as it is
        lengths[-1] = 2 * (data.shape[axes[-1]] - 1)
    mode = mode_of(precision)
    for n, axis in zip(lengths[:-1], axes[:-1]):
        along(data, WHOLE, n, axis, True, scale_of(norm, n, True), mode)
    return _to_real(data, lengths[-1], axes[-1], norm, mode)


@transforming
def fft2(input, s=None, axes=PLANE, norm=None, out=None, *, dim=None, precision=None):
    """fft along the last two axes."""
    return _many(input, s, axes, norm, dim, False, precision, out)


@transforming
def ifft2(input, s=None, axes=PLANE, norm=None, out=None, *, dim=None, precision=None):
    return _many(input, s, axes, norm, dim, True, precision, out)


@transforming
def fftn(input, s=None, axes=None, norm=None, out=None, *, dim=None, precision=None):
    """fft along several axes, all where none are given."""
    return _many(input, s, axes, norm, dim, False, precision, out)


@transforming
def ifftn(input, s=None, axes=None, norm=None, out=None, *, dim=None, precision=None):
    return _many(input, s, axes, norm, dim, True, precision, out)


@transforming
def rfft2(input, s=None, axes=PLANE, norm=None, out=None, *, dim=None, precision=None):
    return _many_real(_require_real(Data(input)), s, axes, norm, dim, precision).result(out)


@transforming
def rfftn(input, s=None, axes=None, norm=None, out=None, *, dim=None, precision=None):
    return _many_real(_require_real(Data(input)), s, axes, norm, dim, precision).result(out)


@transforming
def irfft2(input, s=None, axes=PLANE, norm=None, out=None, *, dim=None, precision=None):
    return _many_to_real(Data(input), s, axes, norm, dim, precision).result(out)


@transforming
def irfftn(input, s=None, axes=None, norm=None, out=None, *, dim=None, precision=None):
    return _many_to_real(Data(input), s, axes, norm, dim, precision).result(out)


@transforming
def hfft2(input, s=None, axes=PLANE, norm=None, out=None, *, dim=None, precision=None):
    return _many_to_real(Data(input).as_complex().conj(), s, axes, swapped(norm), dim, precision, False).result(out)


@transforming
def hfftn(input, s=None, axes=None, norm=None, out=None, *, dim=None, precision=None):
    return _many_to_real(Data(input).as_complex().conj(), s, axes, swapped(norm), dim, precision, False).result(out)


@transforming
def ihfft2(input, s=None, axes=PLANE, norm=None, out=None, *, dim=None, precision=None):
    return _many_real(_require_real(Data(input)), s, axes, swapped(norm), dim, precision, False).conj().result(out)


@transforming
def ihfftn(input, s=None, axes=None, norm=None, out=None, *, dim=None, precision=None):
    return _many_real(_require_real(Data(input)), s, axes, swapped(norm), dim, precision, False).conj().result(out)
