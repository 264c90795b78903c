"""Fourier transforms and complex arithmetic on NumPy arrays and torch tensors, computed natively, by the simulator or
by a device.

Names and signatures are those of trnfft where it has them, with `axis`, `norm` and all else of numpy.fft and torch.fft;
every function also takes `precision=` and `backend=`. docs/fft.md tells what differs.
"""

import importlib

from kiln import _kiln

from kiln.blas import available, get_target, last_call, set_target

from . import fft_core as _fft_core_module  # noqa: F401
from . import nki
from ._rows import current_backend
from .api import (
    fft, fft2, fftn, hfft, hfft2, hfftn, ifft, ifft2, ifftn, ihfft, ihfft2, ihfftn, irfft, irfft2, irfftn, rfft, rfft2,
    rfftn,
)
from .complex import ComplexTensor, complex_matmul
from .convolution import convolve, fftconvolve
from .cosine import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from .hankel import fht, fhtoffset, ifht
from .helpers import fftfreq, fftshift, ifftshift, next_fast_len, prev_fast_len, rfftfreq
from .nki import HAS_NKI, get_backend, set_backend
from .plan import FFTAlgorithm, FFTPlan, clear_plan_cache, create_plan
from .precision import get_precision, set_ozaki_product_precision_verified, set_precision
from .stft import istft, stft
from .workers import get_workers, set_workers

__version__ = _kiln.__version__

__all__ = [
    "ComplexTensor", "FFTAlgorithm", "FFTPlan", "HAS_NKI", "available", "clear_plan_cache", "complex_matmul",
    "convolve", "create_plan", "current_backend", "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftconvolve", "fftfreq",
    "fftn", "fftshift", "fht", "fhtoffset", "get_backend", "get_precision", "get_target", "get_workers", "hfft",
    "hfft2", "hfftn", "idct", "idctn", "idst", "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ifht", "ihfft",
    "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "istft", "last_call", "next_fast_len", "nki", "prev_fast_len",
    "rfft", "rfft2", "rfftfreq", "rfftn", "set_backend", "set_ozaki_product_precision_verified", "set_precision",
    "set_target", "set_workers", "stft",
]


def __getattr__(name):
    if name == "nn":  # the layers need torch, the rest does not
        return importlib.import_module("kiln.fft.nn")
    raise AttributeError(f"module 'kiln.fft' has no attribute {name!r}")
