"""Transforms for precisions other than float32. Those that are no program of a device are products of kiln.blas:
each factor of a length is one product with the matrix of its transform, in the precision asked for, on the backend of
the call. Twiddles between the products are multiplied on the host in the dtype of the data."""

import functools

import ml_dtypes
import numpy as np

from kiln import blas
from kiln._kiln import blas as _choice
from kiln._kiln import fft as _native

BASE = 256  # the longest transform that is one product
WHOLE, FORWARD, INVERSE = range(3)


def roots(indices, n):
    """e^(2 pi i k / n); indices are reduced first."""
    return np.exp(2j * np.pi * (np.asarray(indices) % n / n))


@functools.lru_cache(maxsize=32)
def _matrix(n, positive, single):
    """[2 n, 2 n]: complex rows times it are their transforms."""
    j = np.arange(n)
    w = roots(np.outer(j, j if positive else -j), n)
    out = np.empty((n, 2, n, 2), np.float32 if single else np.float64)
    out[:, 0, :, 0] = out[:, 1, :, 1] = w.real
    out[:, 0, :, 1] = w.imag
    out[:, 1, :, 0] = -w.imag
    return out.reshape(2 * n, 2 * n)


# Slices of the operands whose products are added, as kernels/blas/split.h has them.
_SLICES = {"bf16": [(0, 0)], "bf16x3": [(0, 0), (0, 1), (1, 0)],
           "bf16x6": [(0, 0), (0, 1), (1, 0), (0, 2), (2, 0), (1, 1)]}


def _slices(a, count):
    """bfloat16 numbers that add up to a."""
    out, left = [], np.asarray(a, np.float32)
    for _ in range(count):
        out.append(left.astype(ml_dtypes.bfloat16).astype(np.float32))
        left = left - out[-1]
    return out


def _native_product(a, b, products):
    """The sum of slices' products that a device would form: exact products, sums in float32."""
    pairs = _SLICES[products]
    count = 1 + max(i for i, _ in pairs)
    left, right = _slices(a, count), _slices(b, count)
    total = 0.0
    for i, j in reversed(pairs):
        total = total + left[i] @ right[j]
    return total


def _product(x, positive, products):
    """The transforms of rows of at most BASE numbers."""
    rows, n = x.shape
    real = np.float32 if x.dtype == np.complex64 else np.float64
    flat = np.ascontiguousarray(x).view(real)
    matrix = _matrix(n, positive, x.dtype == np.complex64)
    if products in _SLICES and _choice.current_backend("FFT") == "native":
        y = _native_product(flat, matrix, products).astype(real)
    else:
        with blas._backend.scope(_choice.current_backend("FFT")):  # FFT's choice, not that of BLAS
            y = blas.gemm(1.0, flat, matrix, precision=products)
    return np.ascontiguousarray(y).view(x.dtype).reshape(rows, n)


def _divisor(n):
    """The largest divisor that is one product; 1 for large primes."""
    return next(d for d in range(min(BASE, n), 0, -1) if n % d == 0)


@functools.lru_cache(maxsize=8)
def _chirp(n, positive):
    """(chirp, spectrum of its filter, length of the convolution) of Bluestein's algorithm."""
    m = 1 << (2 * n - 2).bit_length()
    j = np.arange(n, dtype=object) if n > 3_000_000_000 else np.arange(n, dtype=np.int64)
    square = j * j % (2 * n)
    c = roots(square if positive else -square, 2 * n)
    h = np.zeros(m, np.complex128)
    h[:n] = c.conj()
    h[m - n + 1:] = c[1:][::-1].conj()
    return c, np.fft.fft(h), m


def _whole(x, positive, products):
    rows, n = x.shape
    if n <= BASE:
        return _product(x, positive, products)
    n1 = _divisor(n)
    if n1 < 8:  # a large prime factor
        c, spectrum, m = _chirp(n, positive)
        padded = np.zeros((rows, m), x.dtype)
        padded[:, :n] = x * c.astype(x.dtype)
        y = _whole(padded, False, products) * (spectrum / m).astype(x.dtype)
        return _whole(y, True, products)[:, :n] * c.astype(x.dtype)
    n2 = n // n1
    a = _whole(x.reshape(rows, n1, n2).swapaxes(1, 2).reshape(rows * n2, n1), positive, products)
    a = a.reshape(rows, n2, n1)
    turns = np.outer(np.arange(n2), np.arange(n1))
    a = a * roots(turns if positive else -turns, n).astype(x.dtype)
    b = _whole(a.swapaxes(1, 2).reshape(rows * n1, n2), positive, products).reshape(rows, n1, n2)
    return b.swapaxes(1, 2).reshape(rows, n)


def whole_rows(x, n, kind, dtype):
    """Rows [rows, n] of complex numbers: those of half a spectrum have the other half too."""
    rows = x.reshape(-1, x.shape[-1]).astype(dtype, order="C")
    if kind != INVERSE:
        return rows
    half = rows.copy()
    half[:, 0].imag = 0
    if n % 2 == 0:
        half[:, n // 2].imag = 0
    return np.ascontiguousarray(np.concatenate([half, half[:, 1:(n + 1) // 2][:, ::-1].conj()], axis=1))


def result_of(y, n, kind, shape):
    """What a kind of transform keeps of rows [rows, n]; `shape` is that of what it was given."""
    if kind == FORWARD:
        y = y[:, : n // 2 + 1]
    elif kind == INVERSE:
        y = y.real
    return np.ascontiguousarray(y).reshape(*shape[:-1], y.shape[-1])


def transform(x, n, kind, positive, scale, products):
    """As kiln.fft._rows.transform."""
    rows = whole_rows(x, n, kind, np.complex64 if x.dtype in (np.float32, np.complex64) else np.complex128)
    y = _whole(rows, positive or kind == INVERSE, products)
    if scale != 1:
        y = y * y.real.dtype.type(scale)
    return result_of(y, n, kind, x.shape)


def transform_double(x, n, kind, positive, scale):
    """The same for float64 on a device: one launch, up to the longest row that a program has."""
    if n > _native.LONGEST_DOUBLE:
        return transform(x, n, kind, positive, scale, "fp64")
    rows = whole_rows(x, n, kind, np.complex128)
    y = np.empty_like(rows)
    _native.transform_double(("fft", "rfft", "irfft")[kind], n, len(rows), positive or kind == INVERSE, scale,
                             rows.ctypes.data, y.ctypes.data)
    return result_of(y, n, kind, x.shape)
