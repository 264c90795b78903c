"""Solvers on matrices of blocks; on a device the whole iteration is one program."""

import math

import numpy as np

from kiln.blas._arrays import to_numpy, torch_of

from . import _native as native
from . import _values as v
from . import ops
from ._autograd import node, wants_gradient
from ._backend import routine
from .formats import BSRMatrix

__all__ = ["bsr_diagonal", "cg_bsr", "chebyshev_bsr", "chebyshev_coeffs", "jacobi_preconditioner_bsr",
           "power_iteration_bsr", "richardson_bsr"]

_TINY = 1e-15


def bsr_diagonal(A):
    """The diagonal of a matrix of blocks."""
    return A.diagonal()


class JacobiPreconditioner:
    """r / diagonal; solvers on a device know it."""

    def __init__(self, diagonal):
        self.inverse = 1.0 / diagonal

    def __call__(self, r):
        return r * self.inverse


def jacobi_preconditioner_bsr(A):
    """The preconditioner r / diagonal of A."""
    diagonal = bsr_diagonal(A)
    if np.any(np.abs(to_numpy(diagonal, "A")) < _TINY):
        raise ValueError("Jacobi preconditioner: diagonal has near-zero entries")
    return JacobiPreconditioner(diagonal)


class _System:
    """A square matrix of blocks with a right-hand side, as the native half takes them."""

    def __init__(self, A, b, x0, name="b"):
        n = _blocks_matrix(A).shape[0]
        b = v.array_of(b, name)
        v.require(A.shape[0] == A.shape[1], f"A: expected a square matrix, it is {A.shape}")
        v.require(tuple(b.shape) == (n,), f"{name}: its shape is {tuple(b.shape)}, expected {(n,)}")
        if x0 is not None:
            x0 = v.array_of(x0, "x0")
            v.require(tuple(x0.shape) == (n,), f"x0: its shape is {tuple(x0.shape)}, expected {(n,)}")
        self.held = native.Held()
        self.form = native.form_of(b, name)
        self.b = self.form.array(b, name)
        self.x = np.array(self.form.array(x0, "x0")) if x0 is not None else np.zeros(n, self.form.compute)
        self.matrix = native.bsr(self.held, A.shape, A.block_size, A._starts, A._columns,
                                 self.form.array(A.blocks, "A"))
        self.norm = float(np.linalg.norm(self.b.astype(np.float64)))

    def call(self, name, *args):
        return native.call(name, self.form.compute)(self.matrix, *args)

    def solution(self):
        return self.form.result(self.x)


@routine
def cg_bsr(A, b, x0=None, tol=1e-6, max_iter=1000, M=None):
    """Conjugate gradients for A x = b: (x, iterations, ||r|| / ||b||). M is a function of r, or a matrix: what comes
    close to the inverse of A. A step that breaks down ends the iteration, and counts for nothing.

    Gradients are those of the solution, to the same tolerance: x0 and M have none."""
    told = []

    def forward(blocks, b, x0):
        x, *rest = _cg(_with_blocks(A, blocks), b, x0, tol, max_iter, M)
        told.extend(rest)
        return x, None

    def backward(g, kept, wanted, blocks, b, x0):
        of_b = cg_bsr(_with_blocks(A, blocks).transpose(), g.contiguous(), None, tol, max_iter, _turned(M))[0]
        of_a = ops._bsr_sddmm(A, -of_b.reshape(-1, 1), kept[0].reshape(-1, 1)) if wanted[0] else None
        return of_a, of_b, None if x0 is None else x0 * 0

    return node(forward, backward, _blocks_matrix(A).blocks, b, x0), *told


def _blocks_matrix(A):
    if not isinstance(A, BSRMatrix):
        raise TypeError(f"A: {type(A).__name__}, expected a BSRMatrix")
    return A


def _with_blocks(A, blocks):
    return BSRMatrix(blocks, A._columns, A._starts, A.shape, A.block_size)


def _turned(M):
    """A preconditioner of the transposed matrix."""
    if M is None or callable(M):
        return M
    return M.transpose() if isinstance(M, BSRMatrix) else M.T


def _cg(A, b, x0, tol, max_iter, M):
    system = _System(A, b, x0)
    if system.norm < _TINY:
        return system.solution(), 0, 0.0
    if callable(M) and not isinstance(M, JacobiPreconditioner):
        return _cg_by_steps(A, b, system, tol, max_iter, M)
    kind, inverse, matrix = 0, 0, None
    if isinstance(M, JacobiPreconditioner):
        kind, inverse = 1, system.held(system.form.array(M.inverse, "M"))
    elif M is not None:
        blocks = _as_blocks(M, A.block_size)
        v.require(blocks.shape == A.shape, f"M: its shape is {blocks.shape}, expected {A.shape}")
        kind, matrix = 2, native.bsr(system.held, A.shape, blocks.block_size, blocks._starts, blocks._columns,
                                     system.form.array(blocks.blocks, "M"))
    passes, residual = system.call("conjugate_gradient", system.held(system.b), system.held(system.x), float(tol),
                                   int(max_iter), kind, inverse, matrix)
    return system.solution(), passes, residual


def _as_blocks(M, block_size):
    if isinstance(M, BSRMatrix):
        return M
    if hasattr(M, "to_bsr"):
        return M.to_bsr(block_size)
    M = v.array_of(M, "M")
    v.require(len(M.shape) == 2, f"M: {len(M.shape)} dimensions, expected 2, or a function")
    return BSRMatrix.from_dense(M, block_size)


def _cg_by_steps(A, b, system, tol, max_iter, precondition):
    """The same with a function of the caller: each product is a call."""
    def multiply(x):
        return ops.bsr_spmm(A, x.reshape(-1, 1)).reshape(-1)

    def dot(x, y):
        return float((x * y).sum())

    x = system.solution()
    r = b - multiply(x)
    z = precondition(r)
    p, rz, passes = z, dot(r, z), 0
    residual = math.sqrt(dot(r, r)) / system.norm
    while passes < max_iter:
        ap = multiply(p)
        pap = dot(p, ap)
        if abs(pap) < 1e-30:
            break
        x, r, passes = x + rz / pap * p, r - rz / pap * ap, passes + 1
        residual = math.sqrt(dot(r, r)) / system.norm
        if residual < tol:
            break
        z = precondition(r)
        rz, last = dot(r, z), rz
        p = z + (rz / last if last else 0.0) * p
    return x, passes, residual


def _coefficients(lam_min, lam_max, steps):
    """alpha and beta of each step, as lists."""
    c, d = (lam_max - lam_min) / 2, (lam_max + lam_min) / 2
    v.require(d != 0, f"lam_min, lam_max: {lam_min} and {lam_max}, expected bounds of the same sign")
    alpha, beta = [1 / d][:steps], [0.0][:steps]
    for _ in range(1, steps):
        t = (c * alpha[-1] / 2) ** 2
        beta.append(t / alpha[-1] / (d - t / alpha[-1]))
        alpha.append(1 / (d - t / alpha[-1]))
    return alpha, beta


def chebyshev_coeffs(lam_min, lam_max, K):
    """(alpha, beta) of K steps, computed in float64, as float32; torch tensors where torch is loaded."""
    found = [np.array(a, np.float32) for a in _coefficients(float(lam_min), float(lam_max), int(K))]
    torch = v.default_torch()
    return tuple(found) if torch is None else tuple(torch.from_numpy(a) for a in found)


def _norm(x):
    return float(np.linalg.norm(to_numpy(x, "x").astype(np.float64)))


def _times(A, x):
    return ops._bsr_spmm(A, A.blocks, x.reshape(-1, 1)).reshape(-1)


def _fixed(A, b, x0, alpha, beta):
    """Steps with factors from two lists."""
    if wants_gradient(_blocks_matrix(A).blocks, b, x0, *alpha, *beta):
        return _fixed_by_steps(A, b, x0, alpha, beta)
    alpha, beta = (np.array([float(f) for f in factors]) for factors in (alpha, beta))
    system = _System(A, b, x0)
    steps = len(alpha)
    if steps == 0:
        return system.solution(), 0, _norm(b - _times(A, system.solution())) / max(system.norm, _TINY)
    kind = system.form.compute
    passes, residual = system.call("fixed_iteration", system.held(system.b), system.held(system.x), steps,
                                   system.held(alpha.astype(kind)), system.held(beta.astype(kind)))
    if system.norm < _TINY:
        residual = _norm(_times(A, system.solution())) / _TINY
    return system.solution(), passes, residual


def _fixed_by_steps(A, b, x0, alpha, beta):
    """The same with every product a node of torch's graph, so that all steps have their part in the gradient."""
    size = _System(A, b, x0).norm
    x, d = b * 0 if x0 is None else x0, None
    for a, f in zip(alpha, beta):
        r = b - _times(A, x)
        d = a * r if d is None else a * r + f * d
        x = x + d
    return x, len(alpha), _norm(b - _times(A, x)) / max(size, _TINY)


@routine
def chebyshev_bsr(A, b, lam_min, lam_max, K=50, x0=None):
    """K steps of the Chebyshev iteration for eigenvalues between lam_min and lam_max: (x, K, ||r|| / ||b||)."""
    return _fixed(A, b, x0, *_coefficients(lam_min, lam_max, int(K)))


@routine
def richardson_bsr(A, b, omega, K=100, x0=None):
    """K steps x + omega r: (x, K, ||r|| / ||b||)."""
    return _fixed(A, b, x0, [omega] * int(K), [0.0] * int(K))


@routine
def power_iteration_bsr(A, v0=None, max_iter=100, tol=1e-9):
    """The eigenvalue of largest size and its vector: (eigenvalue, vector, iterations), until the eigenvalue changes by
    less than tol. The eigenvalue is a number, and a tensor of no dimensions where a gradient is wanted."""
    if v0 is None:
        v0 = _random_like(_blocks_matrix(A))
    system = _System(A, v0, v0, "v0")
    if A.n_blocks == 0 or system.norm == 0:
        size = system.norm or 1.0
        return 0.0, system.form.result((system.x / size).astype(system.form.compute)), 1
    passes, eigenvalue = system.call("power_iteration", system.held(system.x), float(tol), int(max_iter))
    if wants_gradient(A.blocks, v0):
        return *_power_by_steps(A, v0, passes), passes
    return eigenvalue, system.solution(), passes


def _power_by_steps(A, x, passes):
    """As many passes as nodes of torch's graph."""
    x = x / (x * x).sum().sqrt()
    for _ in range(passes):
        y = _times(A, x)
        eigenvalue = (x * y).sum()
        x = y / (y * y).sum().sqrt()
    return eigenvalue, x


def _random_like(A):
    torch = torch_of(A.blocks)
    if torch is not None:
        return torch.randn(A.shape[0], dtype=A.dtype)
    return np.random.default_rng().standard_normal(A.shape[0]).astype(A.dtype)
