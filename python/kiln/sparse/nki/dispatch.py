"""Single kernels by the names of trnsparse.nki.dispatch, on the backend of the moment."""

import numpy as np

from kiln.blas._flags import flags_of

from .._backend import current_backend, get_backend, scope, set_backend  # noqa: F401  handed on

HAS_NKI = True  # kernels can always be run: by Kiln's simulator where there is no device
__getattr__ = flags_of("TRNSPARSE", __name__)


def _use_nki():
    """Whether a call now is computed by a kernel."""
    return current_backend() != "native"


def _use_simulator():
    return current_backend() == "simulator"


def nki_spmm(A, B):
    """A B."""
    from ..ops import spmm
    return spmm(A, B)


def nki_bsr_spmm(A, B):
    """A B of a matrix of blocks."""
    from ..ops import bsr_spmm
    return bsr_spmm(A, B)


def nki_screened_spmm(A, diag_integrals, B, threshold):
    """(A, screened) B."""
    from ..ops import screened_spmm
    return screened_spmm(A, diag_integrals, B, threshold)


def nki_bsr_attn_tiled(Q, K, V, mask_bsr, return_stats=False, scale=None):
    """Attention; with return_stats also what nki_bsr_attn_bwd wants to know of the rows."""
    from ..attention import with_statistics
    with scope(current_backend()):
        return with_statistics(Q, K, V, mask_bsr, scale, return_stats)


def nki_bsr_attn_bwd(Q, K, V, dO, O, mask_bsr, row_max, row_denom, scale=None):  # noqa: E741
    """(dQ, dK, dV)."""
    from ..attention import backward_with_statistics
    with scope(current_backend()):
        return backward_with_statistics(Q, K, V, O, dO, mask_bsr, scale, row_max, row_denom)


def _attn_gather(Q, K, V, mask_bsr, scale):
    """(Q times scale by blocks, keys and values of the blocks that each block of queries meets, the most that one
    meets, blocks of queries), as _attn_stats_kernel takes them. A row with fewer blocks has block 0 in their place."""
    from .. import _values as v
    b, (seq, head) = mask_bsr.block_size, Q.shape
    v.require(seq % b == 0, f"Q: {seq} rows, expected a multiple of the block size {b}")
    counts = mask_bsr._starts[1:] - mask_bsr._starts[:-1]
    slots = max(1, int(counts.max(initial=0)))
    columns = np.zeros((seq // b, slots), np.int64)
    columns[np.arange(slots) < counts[:, None]] = mask_bsr._columns
    keys, values = (v.take(x.reshape(-1, b, head), columns.reshape(-1)).reshape(-1, slots, b, head) for x in (K, V))
    return (Q * scale).reshape(-1, b, head), keys, values, slots, seq // b


def _attn_host_reduction(tile_max, tile_sumexp):
    """(largest score of each row, its sum of exp(score - largest)) of what blocks have, (blocks, slots, 128)."""
    row_max = tile_max.amax(1)
    return row_max, (tile_sumexp * (tile_max - row_max[:, None]).exp()).sum(1).clamp(min=1e-12)


# What trnsparse makes nodes of torch's graph with. float64, which gradcheck asks for and kernels do not take, is
# computed natively here.

def _scope_of(tensor):
    return scope("native" if str(tensor.dtype).endswith("float64") else current_backend())


class _SpMMFunction:
    @staticmethod
    def apply(A_dense, B):
        from kiln import blas
        with _scope_of(A_dense):
            return blas.gemm(1.0, A_dense, B)


class _BSRSpMMFunction:
    @staticmethod
    def apply(blocks, block_col_indices, block_row_ptrs, shape, block_size, B):
        from ..formats import BSRMatrix
        from ..ops import bsr_spmm
        with _scope_of(blocks):
            return bsr_spmm(BSRMatrix(blocks, block_col_indices, block_row_ptrs, shape, block_size), B)


class _ScreenedSpMMFunction:
    @staticmethod
    def apply(A, diag_integrals, threshold, B):
        with _scope_of(A):
            return nki_screened_spmm(A, diag_integrals, B, threshold)
