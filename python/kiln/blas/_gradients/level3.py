"""Gradients of level 3."""

from .. import level3
from .tools import (conj, of_stored, of_triangular, only, opposite, other_triangle, scaled, triangle, undone,
                    with_real_diagonal, with_transpose)


def _product(multiply, g, wanted, alpha, A, B, transA, transB):
    alpha = conj(alpha)
    (a, flag_a), (b, flag_b) = opposite(A, transA), opposite(B, transB)
    return only(wanted, A=lambda: undone(multiply(alpha, g, b, transB=flag_b), transA),
                B=lambda: undone(multiply(alpha, a, g, transA=flag_a), transB))


def _summed_to(value, shape):
    """The gradient of what was shared by a stack."""
    more = tuple(range(value.ndim - len(shape)))
    value = value.sum(more) if more else value  # without dimensions, sum would mean all
    shared = tuple(i for i, (one, other) in enumerate(zip(value.shape, shape)) if one != other)
    return value.sum(shared, keepdim=True) if shared else value


def gemm(g, _, wanted, alpha, A, B, beta, C, transA, transB, precision, target_forward_error):
    if g.ndim > 2:
        return batched_gemm(g, _, wanted, alpha, A, B, beta, C, transA, transB)

    def multiply(*args, **kwargs):
        return level3.gemm(*args, precision=precision, target_forward_error=target_forward_error, **kwargs)

    return {**_product(multiply, g, wanted, alpha, A, B, transA, transB), **only(wanted, C=lambda: scaled(beta, g))}


def batched_gemm(g, _, wanted, alpha, A, B, beta, C, transA, transB):
    found = _product(level3.batched_gemm, g, wanted, alpha, A, B, transA, transB)
    found.update(only(wanted, C=lambda: scaled(beta, g)))
    shapes = {"A": A, "B": B, "C": C}
    return {name: _summed_to(value, shapes[name].shape) for name, value in found.items()}


def gemmt(g, _, wanted, alpha, A, B, beta, C, transA, transB, uplo):
    stored = triangle(g, uplo)
    return {**_product(level3.gemm, stored, wanted, alpha, A, B, transA, transB),
            **only(wanted, C=lambda: scaled(beta, stored) + other_triangle(g, uplo))}


def _symmetric(routine, hermitian):
    def gradient(g, _, wanted, alpha, A, B, beta, C, side, uplo, precision=None):
        options = {} if precision is None else {"precision": precision}
        factor = conj(alpha)

        def matrix():
            full = (level3.gemm(factor, g, B, transB="C", **options) if side == "left" else
                    level3.gemm(factor, B, g, transA="C", **options))
            return of_stored(full, uplo, hermitian)

        return only(wanted, A=matrix, C=lambda: scaled(beta, g), B=lambda: getattr(level3, routine)(
            factor, A if hermitian else conj(A), g, side=side, uplo=uplo, **options))
    return gradient


symm, hemm = _symmetric("symm", False), _symmetric("hemm", True)


def _rank_k(g, wanted, of, beta, trans, uplo, full, hermitian):
    """Gradients of updates R = op(A) op(B)' + op(B) op(A)' + beta C, each the sum of the gradient of R and its
    (conjugate) transpose, times a factor and the other matrix; `of` has both by name."""
    stored = g if full else triangle(g, uplo)
    both = with_transpose(stored, hermitian)
    left = trans in (False, None, "N", "n")

    def operand(factor, other):
        return level3.gemm(factor, both, other) if left else level3.gemm(factor, other, both)

    def of_c():
        if full:
            return scaled(beta, of_stored(g, uplo, True) if hermitian else both / 2)
        return scaled(beta, with_real_diagonal(stored) if hermitian else stored) + other_triangle(g, uplo)

    return {**{name: operand(*of[name]) for name in wanted & set(of)}, **only(wanted, C=of_c)}


def syrk(g, _, wanted, alpha, A, beta, C, trans, uplo, full):
    return _rank_k(g, wanted, {"A": (conj(alpha), conj(A))}, beta, trans, uplo, full, False)


def syr2k(g, _, wanted, alpha, A, B, beta, C, trans, uplo, full):
    of = {"A": (conj(alpha), conj(B)), "B": (conj(alpha), conj(A))}
    return _rank_k(g, wanted, of, beta, trans, uplo, full, False)


def herk(g, _, wanted, alpha, A, beta, C, trans, uplo, full):
    return _rank_k(g, wanted, {"A": (alpha, A)}, beta, trans, uplo, full, A.is_complex())


def her2k(g, _, wanted, alpha, A, B, beta, C, trans, uplo, full):
    factors = (conj(alpha), alpha) if trans in (False, None, "N", "n") else (alpha, conj(alpha))
    return _rank_k(g, wanted, {"A": (factors[0], B), "B": (factors[1], A)}, beta, trans, uplo, full, A.is_complex())


def trsm(g, result, wanted, alpha, A, B, side, uplo, trans, diag, precision):
    other, flag = opposite(A, trans)
    z = level3.trsm(1.0, other, g, side=side, uplo=uplo, trans=flag, diag=diag, precision=precision)

    def matrix():
        full = level3.gemm(-1.0, z, result, transB="C", precision=precision) if side == "left" else level3.gemm(
            -1.0, result, z, transA="C", precision=precision)
        return of_triangular(undone(full, trans), uplo, diag)

    return only(wanted, A=matrix, B=lambda: scaled(alpha, z))


def trmm(g, _, wanted, alpha, A, B, side, uplo, trans, diag, precision):
    factor = conj(alpha)
    other, flag = opposite(A, trans)

    def matrix():
        full = level3.gemm(factor, g, B, transB="C", precision=precision) if side == "left" else level3.gemm(
            factor, B, g, transA="C", precision=precision)
        return of_triangular(undone(full, trans), uplo, diag)

    return only(wanted, A=matrix, B=lambda: level3.trmm(factor, other, g, side=side, uplo=uplo, trans=flag, diag=diag,
                                                        precision=precision))


def cholesky(g, result, wanted, A, uplo, precision):
    """Of the stored triangle: with L, P = tril(L^T G) with half its diagonal, S = L^-T P L^-1."""
    lower = result if uplo == "lower" else result.T.contiguous()
    gl = (g if uplo == "lower" else g.T.contiguous()).tril()
    p = level3.trmm(1.0, lower, gl, uplo="lower", trans=True, precision=precision).tril()
    p = p - 0.5 * p.diagonal().diag()
    s = level3.trsm(1.0, lower, p, uplo="lower", trans=True, precision=precision)
    s = level3.trsm(1.0, lower, s, side="right", uplo="lower", precision=precision)
    full = (s + s.T) / 2
    gradient = full.tril(-1) * 2 + full.diagonal().diag()
    return {"A": gradient if uplo == "lower" else gradient.T.contiguous()}
