"""The entry points that trnfft has for single kernels."""

from .dispatch import (
    HAS_NKI, complex_gemm, complex_linear, complex_mask_apply, complex_multiply, get_backend, set_backend,
)
from .multicore import get_multicore, multi_core_fft, set_multicore

__all__ = [
    "HAS_NKI", "complex_gemm", "complex_linear", "complex_mask_apply", "complex_multiply", "get_backend",
    "get_multicore", "multi_core_fft", "set_backend", "set_multicore",
]
