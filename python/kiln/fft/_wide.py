"""Complex numbers of float64 one by one on a device, as sums of two float32 numbers (kernels/fft/elementwise_double.h).
Each number is divided by a power of two of its own, so that no range is lost."""

import numpy as np

from kiln._kiln import fft as _native

LEAST = 1e-8  # what a magnitude counts as at least


def _parts(values):
    """(high, low) of doubles, float32 arrays."""
    high = values.astype(np.float32)
    return high, (values - high).astype(np.float32)


def _addresses(parts):
    return tuple(p.ctypes.data for p in parts)


def _size(x):
    """The larger magnitude of both parts; 0 where one is no finite number."""
    size = np.maximum(np.abs(x.real), np.abs(x.imag))
    return np.where(np.isfinite(size), size, 0.0)


def _scaled(x, exponents):
    """Both parts of x / 2^exponents as one array of doubles, 0 where one is no finite number."""
    both = np.stack([x.real, x.imag], -1).reshape(-1, 2)
    return np.ldexp(np.where(np.isfinite(both).all(1, keepdims=True), both, 0.0), -exponents[:, None])


def _complex(parts, exponents, shape):
    total = np.ldexp(parts[0].astype(np.float64) + parts[1], exponents[:, None])
    return (total[:, 0] + 1j * total[:, 1]).reshape(shape)


def multiply(x, y, narrow):
    """x y of complex128 arrays of one shape; `narrow` does the same in float32, where infinities and NaN are."""
    flat, other = x.reshape(-1), y.reshape(-1)
    of_x, of_y = np.frexp(_size(flat))[1], np.frexp(_size(other))[1]
    a, b = _parts(_scaled(flat, of_x)), _parts(_scaled(other, of_y))
    z = np.empty_like(a[0]), np.empty_like(a[0])
    _native.complex_multiply_double(flat.size, _addresses(a), _addresses(b), _addresses(z))
    return _finite(_complex(z, of_x + of_y, x.shape), np.isfinite(x) & np.isfinite(y), narrow)


def mod_relu(x, bias, narrow):
    """relu(|x| + bias) x / |x|, |x| counting as at least 1e-8; the bias belongs to the last axis."""
    flat, shift = x.reshape(-1), np.broadcast_to(bias, x.shape).reshape(-1)
    known = np.where(np.isfinite(shift), shift, 0.0)
    of_x = np.frexp(np.maximum(_size(flat), LEAST))[1]
    of_all = np.maximum(of_x, np.frexp(known)[1])
    z = _parts(_scaled(flat, of_x))
    ratio = np.ldexp(1.0, of_x - of_all).astype(np.float32)
    b, least = _parts(np.ldexp(known, -of_all)), _parts(np.ldexp(LEAST, -of_x))
    y = np.empty_like(z[0]), np.empty_like(z[0])
    _native.mod_relu_double(flat.size, _addresses(z), ratio.ctypes.data, _addresses(b), _addresses(least),
                            _addresses(y))
    return _finite(_complex(y, of_all, x.shape), np.isfinite(x) & np.isfinite(np.broadcast_to(bias, x.shape)), narrow)


def _finite(found, is_finite, narrow):
    return found if is_finite.all() else np.where(is_finite, found, narrow())
