"""What is best for products: blocks of gemm, chosen by simulated time."""

import functools

from kiln import tune
from kiln._kiln import blas as native

# (rows, inner, columns) of a block: at most 8 tiles of 128 x 512 fit the memory of the sums.
GEMM_CANDIDATES = tuple((128 * m, 128 * k, 512 * n) for m, n in ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2), (1, 4))
                        for k in (1, 4, 8))


def gemm_prefix(dtype="float32", target=None):
    return f"blas.gemm {dtype} {target or native.get_target()} "


def _program(sizes, dtype, target, block):
    (m, k, n), (rows, inner, columns) = sizes, block
    return native.gemm_program(m, n, k, dtype=dtype, m_tiles=rows // 128, n_tiles=columns // 512, k_tiles=inner // 128,
                               target=target)


def tune_gemm(M, K, N, dtype="float32", target=None, cache=None, executor=None, progress=None):
    """The block of GEMM_CANDIDATES that is predicted to be fastest for a product of these sizes, as kiln.tune.tune
    gives it."""
    for value, name in ((M, "M"), (K, "K"), (N, "N")):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name}: {value!r}, expected a size")
    target = target or native.get_target()
    build = functools.partial(_program, (M, K, N), dtype, target)
    return tune.tune(gemm_prefix(dtype, target).rstrip(), GEMM_CANDIDATES, build, key=f"{M}x{K}x{N}", cache=cache,
                     executor=executor, progress=progress)


def set_gemm_block(M, K, N, block):
    """Products of these sizes are cut like this from now on; None: as the kernel chooses."""
    rows, inner, columns = block or (0, 0, 0)
    native.set_gemm_blocking(M, N, K, rows // 128, columns // 512, inner // 128)
