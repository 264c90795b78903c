"""Single kernels by the names of trnsparse.nki.dispatch, on the backend of the moment."""

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
