"""Sparse matrices on NumPy arrays and torch tensors, computed natively, by the simulator or by a device.

Names and signatures are those of trnsparse where it has them; every operation also takes `backend=`. docs/sparse.md
tells what differs.
"""

from kiln._kiln import __version__

from ._backend import available, current_backend, get_backend, get_target, last_call, set_backend, set_target
from .attention import (
    AttentionPattern, block_sparse_attention, block_sparse_attention_backward, block_sparse_attention_tiled,
)
from .formats import BSRMatrix, COOMatrix, CSCMatrix, CSRMatrix, ELLMatrix, eye_sparse, from_dense, from_scipy
from .iterative import (
    bsr_diagonal, cg_bsr, chebyshev_bsr, chebyshev_coeffs, jacobi_preconditioner_bsr, power_iteration_bsr,
    richardson_bsr,
)
from .nki import HAS_NKI
from .ops import (
    bsr_sddmm, bsr_spmm, is_screened, nnz_per_row, screened_spmm, sddmm, sparse_add, sparse_multiply, sparse_scale,
    sparse_transpose, spgemm, spmm, spmv, spmv_symmetric,
)
from .screening import density_screen, schwarz_bounds, screen_quartets, sparsity_stats

__all__ = [
    "AttentionPattern", "BSRMatrix", "COOMatrix", "CSCMatrix", "CSRMatrix", "ELLMatrix", "HAS_NKI", "__version__",
    "available",
    "block_sparse_attention", "block_sparse_attention_backward", "block_sparse_attention_tiled",
    "bsr_diagonal", "bsr_sddmm", "bsr_spmm", "cg_bsr",
    "chebyshev_bsr", "chebyshev_coeffs", "current_backend", "density_screen", "eye_sparse", "from_dense", "from_scipy",
    "get_backend", "get_target", "is_screened", "jacobi_preconditioner_bsr", "last_call", "nnz_per_row",
    "power_iteration_bsr", "richardson_bsr", "schwarz_bounds", "screen_quartets", "screened_spmm", "sddmm",
    "set_backend", "set_target", "sparse_add", "sparse_multiply", "sparse_scale", "sparse_transpose",
    "sparsity_stats", "spgemm", "spmm", "spmv", "spmv_symmetric",
]
