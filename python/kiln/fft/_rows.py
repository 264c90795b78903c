"""Transforms of rows: the last axis of a NumPy array, natively (NumPy's pocketfft) or by a device plan."""

import math

import numpy as np

from kiln._kiln import blas as _choice
from kiln._kiln import fft as _native

from . import _staged, precision
from ._loops import LOOPS, SINGLE, call

WHOLE, FORWARD, INVERSE = range(3)  # as Spectrum in kernels/fft/two_factor.h counts
PRECISIONS = {"fp32": 0, "bf16": 1, "bf16x3": 2, "bf16x6": 3}  # as Precision in kernels/blas/gemm.h


def current_backend():
    """Who would compute a call now: 'native', 'simulator' or 'neuron'."""
    return _choice.current_backend("FFT")


def is_native():
    return current_backend() == "native"


def fit(array, axis, length):
    """The array with `length` numbers along an axis: what is more is left out, what is missing is zero."""
    have = array.shape[axis]
    if have == length:
        return array
    if have > length:
        return array[(slice(None),) * (axis % array.ndim) + (slice(0, length),)]
    shape = list(array.shape)
    shape[axis] = length
    out = np.zeros(shape, array.dtype)
    out[(slice(None),) * (axis % array.ndim) + (slice(0, have),)] = array
    return out


def _norm(n, positive, scale):
    """(word of NumPy, factor that it does not know)."""
    if scale == 1:
        return "forward" if positive else "backward", None
    if scale == 1 / n:
        return "backward" if positive else "forward", None
    if scale == 1 / math.sqrt(n):
        return "ortho", None
    return "forward" if positive else "backward", scale


def _by_numpy(x, n, kind, positive, scale, in_single=False):
    if LOOPS and x.dtype in SINGLE:
        name = ("ifft" if positive else "fft", "rfft", "irfft")[kind]
        out = np.empty(_shape(x, n, kind), np.float32 if kind == INVERSE else np.complex64)
        return call(name, n, x if kind == FORWARD else x.astype(np.complex64, copy=False), scale, out,
                    in_single=in_single)
    norm, factor = _norm(n, positive or kind == INVERSE, scale)
    if kind == WHOLE:
        y = np.fft.ifft(x, norm=norm) if positive else np.fft.fft(x, norm=norm)
    elif kind == FORWARD:
        y = np.fft.rfft(x, norm=norm)
    else:
        y = np.fft.irfft(x, n, norm=norm)
    return y if factor is None else y * y.dtype.type(factor)


def _shape(x, n, kind):
    return (*x.shape[:-1], n // 2 + 1 if kind == FORWARD else n)


def _by_plan(x, n, kind, positive, scale, products="fp32"):
    shape = _shape(x, n, kind)
    x = np.require(x, requirements="CA")
    y = np.empty(shape, np.float32 if kind == INVERSE else np.complex64)
    _native.transform(n, math.prod(shape[:-1]), kind, positive, scale, PRECISIONS[products], x.ctypes.data,
                      y.ctypes.data)
    return y


def transform(x, n, kind, positive, scale, mode, in_single=False):
    """scale Σ_j x(j) e^(± 2 pi i j k / n) of the last axis. Of `kind` FORWARD x is real and the result half a spectrum,
    of INVERSE the other way round. `in_single`: natively, what NumPy computes in float64 and rounds to float32 is
    computed in float32."""
    if x.size == 0:
        return np.zeros(_shape(x, n, kind), _result_dtype(x.dtype, kind))
    single = x.dtype in (np.float32, np.complex64)
    products = precision.PRODUCTS[mode]
    native = is_native()
    if products is None and native:
        y = _by_numpy(x, n, kind, positive, scale, in_single)
        _native.note_transform(n, x.size // x.shape[-1], kind, positive, scale)
        return y
    if products is None and single:
        return _by_plan(x, n, kind, positive, scale)
    if products in (None, "fp64"):
        if native:
            wide = x.astype(np.result_type(x.dtype, np.float64), copy=False)
            y = _by_numpy(wide, n, kind, positive, scale)
            _native.note_transform(n, x.size // x.shape[-1], kind, positive, scale)
        else:
            wide = x.astype(np.float64 if kind == FORWARD else np.complex128)
            y = _staged.transform_double(wide, n, kind, positive, scale)
        return y.astype(_result_dtype(x.dtype, kind), copy=False)
    if products.startswith("bf16") and not native:
        y = _by_plan(x.astype(np.float32 if kind == FORWARD else np.complex64), n, kind, positive, scale, products)
    else:
        y = _staged.transform(x, n, kind, positive, scale, products)
    return y.astype(_result_dtype(x.dtype, kind), copy=False)


def _result_dtype(given, kind):
    """That of results, as wide as what was given."""
    wide = np.result_type(given, np.complex64)
    return wide.type().real.dtype if kind == INVERSE else wide
