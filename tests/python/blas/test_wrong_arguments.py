"""Wrong arguments: ValueError or TypeError that names the argument, and nothing is written."""

import numpy as np
import pytest

from kiln import blas

A = np.ones((3, 4), np.float32)
B = np.ones((4, 5), np.float32)
S = np.eye(4, dtype=np.float32)
x = np.ones(4, np.float32)
z = np.ones(4, np.complex64)

CASES = [
    (ValueError, "B", lambda: blas.gemm(1.0, A, A)),
    (ValueError, "A", lambda: blas.gemm(1.0, x, B)),
    (ValueError, "C", lambda: blas.gemm(1.0, A, B, 1.0, A)),
    (ValueError, "C", lambda: blas.gemm(1.0, A, B, 0.0, A)),
    (ValueError, "transA", lambda: blas.gemm(1.0, A, B, transA="X")),
    (TypeError, "B", lambda: blas.gemm(1.0, A, B.astype(np.float64))),
    (TypeError, "A", lambda: blas.gemm(1.0, A.astype(int), B)),
    (TypeError, "A", lambda: blas.gemm(1.0, "text", B)),
    (TypeError, "alpha", lambda: blas.gemm("2", A, B)),
    (TypeError, "alpha", lambda: blas.gemm(1j, A, B)),
    (TypeError, "beta", lambda: blas.gemm(1.0, A, B, [1], B)),
    (ValueError, "B", lambda: blas.batched_gemm(1.0, np.ones((2, 3, 4), np.float32), np.ones((3, 4, 5), np.float32))),
    (ValueError, "A", lambda: blas.symm(1.0, A, B)),
    (ValueError, "B", lambda: blas.symm(1.0, S, A)),
    (ValueError, "uplo", lambda: blas.symm(1.0, S, B, uplo="U")),
    (ValueError, "side", lambda: blas.symm(1.0, S, B, side="both")),
    (ValueError, "A", lambda: blas.trsm(1.0, A, B)),
    (ValueError, "diag", lambda: blas.trsm(1.0, S, B, diag="ones")),
    (ValueError, "C", lambda: blas.syrk(1.0, A, 1.0, S)),
    (ValueError, "B", lambda: blas.syr2k(1.0, A, B)),
    (ValueError, "x", lambda: blas.gemv(1.0, A, np.ones(3, np.float32))),
    (ValueError, "y", lambda: blas.gemv(1.0, A, x, 1.0, x)),
    (ValueError, "x", lambda: blas.gemv(1.0, A, A)),
    (TypeError, "A", lambda: blas.symv(1.0, np.ones((4, 4), np.complex64), z)),
    (TypeError, "A", lambda: blas.hemv(1.0, S, x)),
    (ValueError, "y", lambda: blas.dot(x, np.ones(5, np.float32))),
    (TypeError, "y", lambda: blas.dot(x, z)),
    (ValueError, "y", lambda: blas.axpy(1.0, x, np.ones(5, np.float32))),
    (TypeError, "x", lambda: blas.dsdot(x.astype(np.float64), x)),
    (ValueError, "AB", lambda: blas.gbmv(1.0, A, x, 4, 3, 3)),
    (ValueError, "kl", lambda: blas.gbmv(1.0, A, x, 4, -1, 3)),
    (ValueError, "AP", lambda: blas.spmv(1.0, np.ones(5, np.float32), x)),
    (ValueError, "param", lambda: blas.rotm(x, x, [1, 2])),
    (ValueError, "eps_occ", lambda: blas.mp2_energy(np.ones((2, 3, 4), np.float32), x, x[:3])),
    (ValueError, "T_flat", lambda: blas.mp2_reduce(A, x, x, x)),
]


@pytest.mark.parametrize("error, name, call", CASES, ids=[f"{i}-{c[1]}" for i, c in enumerate(CASES)])
def test_the_argument_is_named(error, name, call):
    with pytest.raises(error, match=f"^{name}:"):
        call()


def test_arguments_are_not_written():
    r = np.random.default_rng(1)
    for backend in ("native", "simulator"):
        arrays = [r.standard_normal((6, 6)).astype(np.float32) for _ in range(3)]
        before = [a.copy() for a in arrays]
        blas.gemm(2.0, arrays[0], arrays[1], 0.5, arrays[2], backend=backend)
        blas.trsm(1.0, arrays[0] + 9 * np.eye(6, dtype=np.float32), arrays[1], backend=backend)
        blas.syrk(1.0, arrays[0], 1.0, arrays[2], full=False, backend=backend)
        blas.ger(1.0, arrays[0][0], arrays[1][0], arrays[2], backend=backend)
        blas.rot(arrays[0], arrays[1], 0.6, 0.8, backend=backend)
        for a, b in zip(arrays, before):
            np.testing.assert_array_equal(a, b)
