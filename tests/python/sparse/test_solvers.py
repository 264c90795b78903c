"""Solvers on every backend: right answers, stopping, breakdowns, the whole iteration in one program."""

import numpy as np
import pytest
import scipy.sparse.linalg

from cases import KERNELS, generator
from kiln import sparse


@pytest.fixture(params=KERNELS, ids="-".join)
def backend(request):
    before = sparse.get_target()
    sparse.set_target(request.param[1])
    yield request.param[0]
    sparse.set_target(before)


def problem(rng, n, block_size=128):
    R = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.2)
    dense = (R @ R.T / n + np.diag(1 + rng.random(n))).astype(np.float32)
    return sparse.BSRMatrix.from_dense(dense, block_size), dense, rng.standard_normal(n).astype(np.float32)


@pytest.mark.parametrize("n, block_size", [(128, 128), (300, 128), (77, 16)])
@pytest.mark.parametrize("kind", ["none", "jacobi", "matrix", "function"])
def test_conjugate_gradients(backend, n, block_size, kind):
    rng = generator(n)
    A, dense, b = problem(rng, n, block_size)
    M = {"none": None, "jacobi": sparse.jacobi_preconditioner_bsr(A),
         "matrix": np.linalg.inv(np.diag(np.diag(dense))).astype(np.float32), "function": lambda r: r / 2}[kind]
    x, passes, residual = sparse.cg_bsr(A, b, tol=1e-5, max_iter=200, M=M, backend=backend)
    want = scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(dense.astype(np.float64)), b)
    np.testing.assert_allclose(x, want, atol=1e-4, rtol=1e-4)
    assert residual < 1e-5 and 0 < passes < 60 and isinstance(passes, int) and isinstance(residual, float)
    true = np.linalg.norm(b - dense.astype(np.float64) @ x) / np.linalg.norm(b)
    assert true < 2e-5


def test_more_passes_than_allowed(backend):
    A, dense, b = problem(generator(), 200)
    x, passes, residual = sparse.cg_bsr(A, b, tol=1e-12, max_iter=3, backend=backend)
    assert passes == 3
    assert residual == pytest.approx(np.linalg.norm(b - dense @ x) / np.linalg.norm(b), rel=1e-3)
    y, more, _ = sparse.cg_bsr(A, b, x0=x, tol=1e-5, backend=backend)
    np.testing.assert_allclose(y, np.linalg.solve(dense, b), atol=1e-4)
    assert 0 < more < 40


def test_nothing_on_the_right(backend):
    A, _, b = problem(generator(), 130)
    x, passes, residual = sparse.cg_bsr(A, 0 * b, x0=b, backend=backend)
    np.testing.assert_array_equal(x, b)
    assert (passes, residual) == (0, 0.0)


def test_identity(backend):
    A = sparse.BSRMatrix.from_dense(np.eye(140, dtype=np.float32))
    b = np.arange(140, dtype=np.float32)
    x, passes, residual = sparse.cg_bsr(A, b, backend=backend)
    np.testing.assert_array_equal(x, b)
    assert passes == 1 and residual == 0


def test_chebyshev_and_richardson(backend):
    A, dense, b = problem(generator(), 300)
    eigenvalues = np.linalg.eigvalsh(dense.astype(np.float64))
    low, high = eigenvalues[0], eigenvalues[-1]
    want = np.linalg.solve(dense.astype(np.float64), b)
    x, passes, residual = sparse.chebyshev_bsr(A, b, low, high, K=40, backend=backend)
    np.testing.assert_allclose(x, want, atol=1e-4)
    assert passes == 40 and residual < 1e-5
    x, passes, residual = sparse.richardson_bsr(A, b, 2 / (low + high), K=60, backend=backend)
    np.testing.assert_allclose(x, want, atol=1e-3)
    assert passes == 60 and residual < 1e-3
    x, passes, _ = sparse.richardson_bsr(A, b, 0.1, K=0, x0=b, backend=backend)
    np.testing.assert_array_equal(x, b)


def test_chebyshev_coefficients():
    alpha, beta = sparse.chebyshev_coeffs(1.0, 3.0, 4)
    a, b = [1 / 2], [0.0]
    for _ in range(3):
        t = (a[-1] / 2) ** 2
        a.append(1 / (2 - t / a[-1]))
        b.append(a[-1] * t / a[-2])
    np.testing.assert_allclose(alpha, a, rtol=1e-6)
    np.testing.assert_allclose(beta, b, rtol=1e-6)


def test_power_iteration(backend):
    rng = generator()
    Q = np.linalg.qr(rng.standard_normal((200, 200)))[0]
    values = np.linspace(0.1, 2, 200)
    values[-1] = 4
    dense = (Q * values @ Q.T).astype(np.float32)
    A = sparse.BSRMatrix.from_dense(dense)
    eigenvalue, vector, passes = sparse.power_iteration_bsr(A, rng.standard_normal(200).astype(np.float32), 200, 1e-5,
                                                            backend=backend)
    assert eigenvalue == pytest.approx(4, abs=1e-3) and passes < 60
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(dense @ vector - 4 * vector) < 0.05
    assert sparse.power_iteration_bsr(sparse.BSRMatrix.from_dense(0 * dense), Q[0].astype(np.float32),
                                      backend=backend)[0] == 0


def test_the_whole_iteration_is_one_program():
    A, _, b = problem(generator(), 1024)
    _, passes, _ = sparse.cg_bsr(A, b, tol=1e-5, backend="simulator")
    whole = sparse.last_call()
    assert whole.operation == "sconjugate_gradient" and "while" in str(whole.program)
    text = str(whole.program)
    assert "blocks" not in text[text.index("while"):]  # the matrix is loaded before, and stays
    assert passes > 1 and whole.predicted_ns > 0


@pytest.mark.parametrize("call, name", [
    (lambda A, b: sparse.cg_bsr(A, b[1:]), "b"),
    (lambda A, b: sparse.cg_bsr(A, b, x0=b[1:]), "x0"),
    (lambda A, b: sparse.cg_bsr(np.eye(9), b), "A"),
    (lambda A, b: sparse.cg_bsr(A, b, M=np.eye(3, dtype=np.float32)), "M"),
    (lambda A, b: sparse.cg_bsr(A, b, M="M"), "M"),
    (lambda A, b: sparse.chebyshev_bsr(A, b, 0, 0), "lam_min, lam_max"),
    (lambda A, b: sparse.power_iteration_bsr(A, b[1:]), "v0"),
    (lambda A, b: sparse.chebyshev_bsr(A, b[1:], 1, 2), "b"),
])
def test_wrong_arguments_are_named(call, name):
    A, b = sparse.BSRMatrix.from_dense(np.eye(9, dtype=np.float32)), np.ones(9, np.float32)
    with pytest.raises((ValueError, TypeError), match=f"^{name}:"):
        call(A, b)
