"""Basic linear algebra on NumPy arrays and torch tensors, computed natively, by the simulator or by a device.

Names and signatures are those of trnblas where it has them; every routine also takes `backend=`. docs/blas.md tells
what differs.
"""

from . import tuning
from ._backend import available, current_backend, get_backend, get_target, last_call, set_backend, set_target
from ._precision import error_bound
from .band import (
    gbmv, hbmv, hpmv, hpr, hpr2, sbmv, spmv, spr, spr2, tbmv, tbsv, tpmv, tpsv,
)
from .level1 import (
    asum, axpy, copy, dot, dotc, dotu, dsdot, iamax, nrm2, rot, rotg, rotm, rotmg, scal, sdsdot, swap,
)
from .level2 import (
    gemv, ger, gerc, geru, hemv, her, her2, symv, syr, syr2, trmv, trsv,
)
from .level3 import (
    batched_gemm, cholesky, gemm, gemm_batched, gemmt, gemmtr, hemm, her2k, herk, symm, syr2k, syrk, trmm, trsm,
)
from .mp2 import (
    mp2_energy, mp2_pair_energy, mp2_reduce,
)
from .nki import HAS_NKI

__all__ = [
    "HAS_NKI", "asum", "available", "axpy", "batched_gemm", "cholesky", "copy", "current_backend", "dot", "dotc",
    "dotu", "dsdot", "error_bound", "gbmv", "gemm", "gemm_batched", "gemmt", "gemmtr", "gemv", "ger", "gerc",
    "geru", "get_backend", "get_target", "hbmv", "hemm", "hemv", "her", "her2", "her2k", "herk", "hpmv", "hpr",
    "hpr2", "iamax", "last_call", "mp2_energy", "mp2_pair_energy", "mp2_reduce", "nrm2", "rot", "rotg", "rotm",
    "rotmg", "sbmv", "scal", "sdsdot", "set_backend", "set_target", "spmv", "spr", "spr2", "swap", "symm", "symv",
    "syr", "syr2", "syr2k", "syrk", "tbmv", "tbsv", "tpmv", "tpsv", "trmm", "trmv", "trsm", "trsv", "tuning",
]
