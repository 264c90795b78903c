"""Single kernels by the names of trnblas.nki.dispatch, on the backend of the moment.

No kernel is replaced by another way of computing when it fails: _warn_fallback and NkiFallbackWarning are here for
programs that name them, and nothing calls them.
"""

import os
import warnings

from kiln import tune

from .. import level3, mp2, tuning
from .._backend import current_backend, get_backend, set_backend  # noqa: F401  handed on
from .._flags import flags_of

HAS_NKI = True  # kernels can always be run: by Kiln's simulator where there is no device
__getattr__ = flags_of("TRNBLAS", __name__)


def _use_nki():
    """Whether a call now is computed by a kernel."""
    return current_backend() != "native"


def _use_simulator():
    return current_backend() == "simulator"


class NkiFallbackWarning(UserWarning):
    """That a kernel failed and something else computed instead. Kiln never does that."""


def _warn_fallback(exc):
    warnings.warn(f"{type(exc).__name__}: {exc}", NkiFallbackWarning, stacklevel=3)


def nki_gemm(A, B):
    """A B, cut into blocks as the autotuner found best for sizes like these (TRNBLAS_AUTOTUNE=0: as the kernel
    chooses)."""
    if _tunes() and getattr(A, "ndim", 0) == 2 and getattr(B, "ndim", 0) == 2:
        (M, K), N = A.shape, B.shape[1]
        _use(M, K, N, _tuned(M, K, N, A, B))
    return level3.gemm(1.0, A, B)


def nki_batched_gemm(A, B):
    """A[i] B[i] for all i."""
    return level3.batched_gemm(1.0, A, B)


def nki_syrk(A):
    """A A^T, whole."""
    return level3.syrk(1.0, A)


def nki_trsm(A, B, side="left", uplo="upper", trans=False, diag="nonunit", alpha=1.0):
    """X of op(A) X = alpha B, or of X op(A) = alpha B with side 'right'."""
    return level3.trsm(alpha, A, B, side=side, uplo=uplo, trans=trans, diag=diag)


def nki_mp2_energy(T_flat, eps_occ_chunk, eps_occ_full, eps_vir):
    """The energy of amplitudes for a chunk of occupied orbitals."""
    return mp2.mp2_reduce(T_flat, eps_occ_chunk, eps_occ_full, eps_vir)


def nki_fused_gemm_energy(b_i, b_j, eps_occ_i, eps_occ_j, eps_vir):
    """The energy of one pair from its panels."""
    return mp2.mp2_pair_energy(b_i, b_j, eps_occ_i, eps_occ_j, eps_vir)


def nki_batched_pair_energy(B, eps_occ, eps_vir):
    """The energy of all pairs, as one program."""
    return mp2.mp2_energy(B, eps_occ, eps_vir)


# The autotuner: what simulated time finds best for all products of similar sizes, kept in memory and in a file.

_TILE_CANDIDATES = tuning.GEMM_CANDIDATES  # (rows, inner, columns) of a block
_AUTOTUNE_ENABLED = True
_AUTOTUNE_CACHE_FILE = None  # else TRNBLAS_AUTOTUNE_CACHE, else kiln.tune's own
_autotune_mem = {}
_autotune_loaded = False


def _tunes():
    return _AUTOTUNE_ENABLED and os.environ.get("TRNBLAS_AUTOTUNE", "") != "0" and _use_nki()


def _cache_file():
    return _AUTOTUNE_CACHE_FILE or os.environ.get("TRNBLAS_AUTOTUNE_CACHE") or tune.cache_file()


def _autotune_bucket(M, K, N):
    """Sizes that share a choice: each rounded up to a power of two."""
    return tuple(1 << max(0, int(size) - 1).bit_length() for size in (M, K, N))


def _load_autotune_cache():
    """Takes what the file has for this version and chip."""
    global _autotune_loaded
    _autotune_loaded = True
    for key, best in tune.Cache(_cache_file()).entries(tuning.gemm_prefix()).items():
        sizes = tuple(int(v) for v in key.split("x"))
        if tuple(best) in _TILE_CANDIDATES and len(sizes) == 3:
            _autotune_mem[sizes] = tuple(best)


def _sweep_on_default_pad(M, K, N, A, B):
    """The best candidate for the bucket, by simulated time; A and B are not needed for it."""
    return tuning.tune_gemm(*_autotune_bucket(M, K, N), cache=_cache_file()).best


def _tuned(M, K, N, A, B):
    if not _autotune_loaded:
        _load_autotune_cache()
    bucket = _autotune_bucket(M, K, N)
    if bucket not in _autotune_mem:
        _autotune_mem[bucket] = tuple(_sweep_on_default_pad(M, K, N, A, B))
    return _autotune_mem[bucket]


def _use(M, K, N, tile):
    tuning.set_gemm_block(M, K, N, tile)


def _get_gemm_kernel(tile_m, tile_k, tile_n):
    """A function of two matrices that multiplies them with blocks of these sizes."""

    def kernel(a, b):
        tuning.set_gemm_block(a.shape[0], a.shape[1], b.shape[1], (tile_m, tile_k, tile_n))
        return level3.gemm(1.0, a, b)

    return kernel


def _to_xla(*tensors):
    """Tensors as kernels take them, and where they were: routines move them themselves."""
    return list(tensors), tensors[0].device


# The same energies as plain expressions on tensors, to compare with.

def _torch_mp2_energy(T_flat, eps_occ_chunk, eps_occ_full, eps_vir):
    ic, o, v = len(eps_occ_chunk), len(eps_occ_full), len(eps_vir)
    t = T_flat.reshape(ic, v, o, v).permute(0, 2, 1, 3)
    occupied = eps_occ_chunk[:, None, None, None] + eps_occ_full[None, :, None, None]
    d = occupied - eps_vir[None, None, :, None] - eps_vir[None, None, None, :]
    return (t * (2.0 * t - t.transpose(-2, -1)) / d).sum()


def _torch_fused_pair_energy(b_i, b_j, eps_occ_i, eps_occ_j, eps_vir):
    t = b_i @ b_j.T
    d = eps_occ_i + eps_occ_j - eps_vir[:, None] - eps_vir[None, :]
    return (t * (2.0 * t - t.T) / d).sum()


def _torch_batched_pair_energy(B, eps_occ, eps_vir):
    flat = B.reshape(-1, B.shape[-1])
    return _torch_mp2_energy(flat @ flat.T, eps_occ, eps_occ, eps_vir)
