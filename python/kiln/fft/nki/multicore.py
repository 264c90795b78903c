"""Transforms over several cores, with the names of trnfft. On the simulator two cores are a pair of programs that share
their memory, where the chip has pairs; other numbers of cores compute their shares one after the other."""

import os

import numpy as np

from kiln._kiln import fft as _native
from kiln.blas import get_target

from .. import precision
from .._rows import WHOLE, current_backend
from ..complex import ComplexTensor
from ..fft_core import fft_core

_state = {"enabled": None, "num_cores": 0}


def set_multicore(enabled, num_cores=0):
    """Whether transforms are cut into shares, and into how many; 0: as many as a chip has cores."""
    if num_cores < 0:
        raise ValueError(f"num_cores: {num_cores}, expected 0 or more")
    _state["enabled"], _state["num_cores"] = bool(enabled), int(num_cores)


def get_multicore():
    """What was set; else whether TRNFFT_MULTICORE is 1."""
    if _state["enabled"] is None:
        return os.environ.get("TRNFFT_MULTICORE", "").lower() in ("1", "true", "yes")
    return _state["enabled"]


def _largest_divisor(n):
    d = int(n ** 0.5)
    while n % d:
        d -= 1
    return d


def _rows(x):
    n = 1
    for size in x.shape[:-1]:
        n *= size
    return n


def _on_pair(x, inverse):
    """The transform by a pair of programs; None where there is none."""
    import torch
    wants = torch.is_grad_enabled() and x.requires_grad
    if wants or x.dtype != torch.float32 or _state["num_cores"] not in (0, 2) or precision.chosen() != "fast":
        return None
    if current_backend() != "simulator" or get_target() == "trn1":
        return None
    z = np.ascontiguousarray(x.numpy())
    y = np.empty_like(z)
    n = z.shape[-1]
    try:
        _native.transform_pair(n, z.size // n, WHOLE, inverse, 1 / n if inverse else 1.0, z.ctypes.data, y.ctypes.data)
    except NotImplementedError:  # one row that is not worth two cores
        return None
    return ComplexTensor(torch.from_numpy(y).to(x.device))


def multi_core_fft(x, inverse=False):
    """The transform of the last axis: rows in shares, or one row in two steps (which a prime length has not)."""
    import torch
    x = x if isinstance(x, ComplexTensor) else ComplexTensor(x)
    n, rows = x.shape[-1], _rows(x)
    n1 = _largest_divisor(n)
    if rows == 1 and n1 == 1 and n > 3:
        raise NotImplementedError(f"x: {n} is prime; one transform over several cores needs two factors")
    shared = _on_pair(x, inverse) if rows * n else None
    if shared is not None:
        return shared
    if rows > 1:
        flat = x.reshape(rows, n)
        cores = min(rows, _state["num_cores"] or 2)
        size = -(-rows // cores)
        shares = [fft_core(flat[i:i + size], inverse) for i in range(0, rows, size)]
        return ComplexTensor(torch.cat([s.real for s in shares]), torch.cat([s.imag for s in shares])).reshape(*x.shape)
    return fft_core(x, inverse)
