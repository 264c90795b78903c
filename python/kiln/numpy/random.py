"""Random numbers by counter (Threefry-2x32): a key of two uint32 and a shape give the same numbers every time, on every
chip. Nothing is drawn from a state: take other keys for other numbers, with `split`."""

import math

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy._array import Array, as_array, node_of
from kiln.numpy._functions import _own
from kiln.numpy._rules import ARGUMENT, refuse
from kiln.numpy._trace import active

__all__ = ["bits", "integers", "key", "normal", "split", "uniform"]


def key(seed):
    """The key of a seed, an integer of at most 64 bits."""
    seed = int(seed)
    if not 0 <= seed < 1 << 64:
        refuse(ARGUMENT, f"seed {seed}", "pass an integer from 0 to 2**64 - 1", kind=ValueError)
    return np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)


def _key(of):
    of = as_array(of)
    if of.shape != (2,) or of.dtype != np.uint32:
        refuse(ARGUMENT, f"a key {of.dtype}{list(of.shape)}", "make it with kiln.numpy.random.key(seed)",
               kind=TypeError)
    return node_of(of)


def _shape(shape):
    return [shape] if isinstance(shape, (int, np.integer)) else list(shape)


def _float(dtype):
    dtype = _dtypes.requested(dtype)
    if not _dtypes.is_float(dtype):
        refuse(ARGUMENT, f"dtype={dtype.name}", "pass a dtype of floats", kind=TypeError)
    return dtype


@_own
def bits(key, shape=()):
    """uint32, all bits random."""
    return Array(active().push("random_bits", (_key(key),), _shape(shape)))


@_own
def split(key, count=2):
    """(count, 2): keys for other numbers."""
    return bits(key, (count, 2))


@_own
def uniform(key, shape=(), low=0.0, high=1.0, dtype=np.float32):
    """In [low, high): multiples of 2^-24 of the range, rounded to the dtype."""
    made = Array(active().push("random_uniform", (_key(key),), _shape(shape)))
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low == 0 and high == 1):
        made = made * (high - low) + low
    return made.astype(_float(dtype))


@_own
def integers(key, low, high, shape=()):
    """int32 in [low, high): random bits modulo the range, so that the first numbers of a range that is no power of two
    are more frequent by at most range / 2^32."""
    if not -(1 << 31) <= low < high <= 1 << 31 or high - low > 1 << 31:
        refuse(ARGUMENT, f"integers from {low} to {high}", "low < high, at most 2**31 apart", kind=ValueError)
    upper = (bits(key, shape) % np.uint32(high - low)).astype(np.int32)
    return upper + np.int32(low) if low else upper


@_own
def normal(key, shape=(), dtype=np.float32):
    """Mean 0 and variance 1, by Box and Muller: sqrt(-2 ln u) cos(2 pi v)."""
    both = uniform(key, (2, *_shape(shape)))
    made = np.sqrt(-2.0 * np.log(1.0 - both[0])) * np.cos((2 * math.pi) * both[1])
    return made.astype(_float(dtype))
