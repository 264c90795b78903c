"""Gradients of level 2, whole matrices."""

from .. import level2
from .tools import (conj, of_stored, of_triangular, only, opposite, scaled, triangle, undone, with_real_diagonal,
                    with_transpose)


def _outer(alpha, g, x):
    """The gradient of the matrix M of alpha M x."""
    return level2.gerc(conj(alpha), g, x)


def gemv(g, _, wanted, alpha, A, x, beta, y, trans):
    other, flag = opposite(A, trans)
    return only(wanted, A=lambda: undone(_outer(alpha, g, x), trans),
                x=lambda: level2.gemv(conj(alpha), other, g, trans=flag), y=lambda: scaled(beta, g))


def symv(g, _, wanted, alpha, A, x, beta, y, uplo):
    return only(wanted, A=lambda: of_stored(_outer(alpha, g, x), uplo),
                x=lambda: level2.symv(alpha, A, g, uplo=uplo), y=lambda: scaled(beta, g))


def hemv(g, _, wanted, alpha, A, x, beta, y, uplo):
    return only(wanted, A=lambda: of_stored(_outer(alpha, g, x), uplo, hermitian=True),
                x=lambda: level2.hemv(conj(alpha), A, g, uplo=uplo), y=lambda: scaled(beta, g))


def trmv(g, _, wanted, A, x, uplo, trans, diag):
    other, flag = opposite(A, trans)
    return only(wanted, A=lambda: of_triangular(undone(_outer(1.0, g, x), trans), uplo, diag),
                x=lambda: level2.trmv(other, g, uplo=uplo, trans=flag, diag=diag))


def trsv(g, result, wanted, A, x, uplo, trans, diag):
    other, flag = opposite(A, trans)
    z = level2.trsv(other, g, uplo=uplo, trans=flag, diag=diag)
    return only(wanted, A=lambda: of_triangular(undone(_outer(-1.0, z, result), trans), uplo, diag), x=lambda: z)


def ger(g, _, wanted, alpha, x, y, A):
    alpha = conj(alpha)
    return only(wanted, x=lambda: level2.gemv(alpha, g, conj(y)),
                y=lambda: level2.gemv(alpha, g, conj(x), trans=True), A=lambda: g)


geru = ger


def gerc(g, _, wanted, alpha, x, y, A):
    return only(wanted, x=lambda: level2.gemv(conj(alpha), g, y),
                y=lambda: level2.gemv(alpha, g, x, trans="C"), A=lambda: g)


def _sum(g, uplo):
    """The updated triangle's gradient with its conjugate transpose, which is hermitian: updates are symmetric."""
    return with_transpose(triangle(g, uplo), hermitian=True)


def her(g, _, wanted, alpha, x, A, uplo):
    return only(wanted, x=lambda: level2.gemv(alpha, _sum(g, uplo), x), A=lambda: with_real_diagonal(g))


def her2(g, _, wanted, alpha, x, y, A, uplo):
    both = _sum(g, uplo)
    return only(wanted, x=lambda: level2.gemv(conj(alpha), both, y), y=lambda: level2.gemv(alpha, both, x),
                A=lambda: with_real_diagonal(g))


syr, syr2 = her, her2
