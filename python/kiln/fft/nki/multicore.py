"""Transforms over several cores, with the names of trnfft. Two cores are a pair of programs that share their memory,
where the chip has pairs; other numbers of cores compute their shares one after the other."""

import math
import os

import numpy as np

from kiln._kiln import fft as _native
from kiln.blas import get_target

from .. import precision
from .._rows import WHOLE, current_backend
from ..complex import ComplexTensor
from ..fft_core import fft_core

_use_multicore = None  # what was set; None: the environment decides
_num_cores = 0  # 0: as many as a chip pairs
_REFUSED_PRIMES = 8192  # up to here two cores take longer than one, and trnfft's callers expect an error


def set_multicore(enabled, num_cores=0):
    """Whether transforms are cut into shares, and into how many; 0: as many as a chip pairs."""
    global _use_multicore, _num_cores
    if num_cores < 0:
        raise ValueError(f"num_cores: {num_cores}, expected 0 or more")
    _use_multicore, _num_cores = bool(enabled), int(num_cores)


def get_multicore():
    """What was set; else whether TRNFFT_MULTICORE is 1."""
    if _use_multicore is None:
        return os.environ.get("TRNFFT_MULTICORE", "").lower() in ("1", "true", "yes")
    return _use_multicore


def _resolve_num_cores(batch_size):
    """Cores for so many rows."""
    return min(_num_cores or 2, batch_size)


def _factorize(n):
    """(n1, n2) of n = n1 n2, as near to each other as they can be; a prime has none."""
    n1 = math.isqrt(n)
    while n1 > 1 and n % n1:
        n1 -= 1
    if n1 <= 1:
        raise ValueError(f"n: {n} is prime, or 1: it has no two factors")
    return n1, n // n1


def _on_pair(x, inverse, num_cores):
    """The transform by a pair of programs; None where there is none."""
    import torch
    wants = torch.is_grad_enabled() and x.requires_grad
    if wants or x.dtype != torch.float32 or num_cores != 2 or precision.chosen() != "fast":
        return None
    if current_backend() == "native" or get_target() == "trn1":
        return None
    z = np.ascontiguousarray(x.numpy())
    y = np.empty_like(z)
    n = z.shape[-1]
    try:
        _native.transform_pair(n, z.size // n, WHOLE, inverse, 1 / n if inverse else 1.0, z.ctypes.data, y.ctypes.data)
    except NotImplementedError:  # one row that is not worth two cores
        return None
    return ComplexTensor(torch.from_numpy(y).to(x.device))


def _batch_split_fft(x, inverse, num_cores):
    """Rows in shares, one for each core."""
    import torch
    shared = _on_pair(x, inverse, num_cores)
    if shared is not None:
        return shared
    flat = x.reshape(-1, x.shape[-1])
    size = -(-len(flat.real) // max(1, num_cores))
    shares = [fft_core(flat[i:i + size], inverse) for i in range(0, len(flat.real), size)]
    return ComplexTensor(torch.cat([s.real for s in shares]), torch.cat([s.imag for s in shares])).reshape(*x.shape)


def _stage_parallel_fft(x, num_cores, inverse):
    """One row in two steps, each shared by the cores."""
    shared = _on_pair(x, inverse, num_cores)
    return fft_core(x, inverse) if shared is None else shared


def multi_core_fft(x, inverse=False):
    """The transform of the last axis, when cores are to share: rows in shares, or one row in steps (which primes up to
    8192 have not). Otherwise by one core."""
    x = x if isinstance(x, ComplexTensor) else ComplexTensor(x)
    n, rows = x.shape[-1], math.prod(x.shape[:-1])
    if not get_multicore() or rows * n == 0:
        return fft_core(x, inverse)
    if rows > 1:
        return _batch_split_fft(x, inverse, _resolve_num_cores(rows))
    if n <= 3:
        return fft_core(x, inverse)
    try:
        n1, _ = _factorize(n)
    except ValueError:
        # A long convolution has factors.
        shared = _on_pair(x, inverse, _num_cores or 2) if n > _REFUSED_PRIMES else None
        if shared is not None:
            return shared
        raise NotImplementedError(f"x: {n} is prime; one transform over several cores needs two factors") from None
    return _stage_parallel_fft(x, _resolve_num_cores(n1), inverse)
