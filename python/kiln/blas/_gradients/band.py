"""Gradients of level 2, band matrices: outer products, of which only the band is formed."""

from .. import band as routines
from .tools import conj, letter, only, opposite, scaled


def _along(left, right, first, width):
    """out[i, p] = left[i] right[i + p - first], 0 beyond the ends: the band of an outer product as BLAS stores it."""
    import torch
    columns = torch.arange(len(left))[:, None] + torch.arange(width)[None, :] - first
    inside = (columns >= 0) & (columns < len(right))
    return left[:, None] * right[columns.clamp(0, max(0, len(right) - 1))] * inside


def _filled(band, AB):
    """A band with the places that AB has beside it."""
    import torch
    return torch.nn.functional.pad(band, (0, AB.shape[1] - band.shape[1]))


def _of_op(alpha, g, x, trans, first, width):
    """The band of the gradient of A, given g and x of alpha op(A) x."""
    if letter(trans) == "N":
        return _along(conj(alpha) * g, conj(x), first, width)
    if letter(trans) == "T":
        return _along(conj(x), conj(alpha) * g, first, width)
    return _along(alpha * x, conj(g), first, width)


def gbmv(g, _, wanted, alpha, AB, x, n, kl, ku, beta, y, trans):
    other, flag = opposite(AB, trans)
    return only(wanted, AB=lambda: _filled(_of_op(alpha, g, x, trans, kl, kl + ku + 1), AB),
                x=lambda: routines.gbmv(conj(alpha), other, g, n, kl, ku, trans=flag), y=lambda: scaled(beta, g))


def _diagonal(uplo, k):
    """Where the diagonal stands in a row of a stored triangle."""
    return 0 if uplo == "upper" else k


def _product(routine, hermitian):
    def gradient(g, _, wanted, alpha, AB, x, beta, y, uplo, k):
        k = AB.shape[1] - 1 if k is None else k

        def matrix():
            first = _diagonal(uplo, k)
            one = _along(conj(alpha) * g, conj(x), first, k + 1)
            two = _along(alpha * x, conj(g), first, k + 1) if hermitian else _along(x, alpha * g, first, k + 1)
            middle = one[:, first].real if hermitian else one[:, first]
            return _filled((one + two).index_copy(1, _index(first), middle.to(one.dtype)[:, None]), AB)

        return only(wanted, AB=matrix, y=lambda: scaled(beta, g),
                    x=lambda: getattr(routines, routine)(conj(alpha), AB, g, uplo=uplo, k=k))
    return gradient


def _index(place):
    import torch
    return torch.tensor([place])


sbmv, hbmv = _product("sbmv", False), _product("hbmv", True)


def _of_triangle(factor, g, x, AB, uplo, trans, diag, k):
    first = _diagonal(uplo, k)
    found = _of_op(factor, g, x, trans, first, k + 1)
    return _filled(found.index_fill(1, _index(first), 0) if diag == "unit" else found, AB)


def tbmv(g, _, wanted, AB, x, uplo, trans, diag, k):
    k = AB.shape[1] - 1 if k is None else k
    other, flag = opposite(AB, trans)
    return only(wanted, AB=lambda: _of_triangle(1.0, g, x, AB, uplo, trans, diag, k),
                x=lambda: routines.tbmv(other, g, uplo=uplo, trans=flag, diag=diag, k=k))


def tbsv(g, result, wanted, AB, x, uplo, trans, diag, k):
    k = AB.shape[1] - 1 if k is None else k
    other, flag = opposite(AB, trans)
    z = routines.tbsv(other, g, uplo=uplo, trans=flag, diag=diag, k=k)
    return only(wanted, AB=lambda: _of_triangle(-1.0, z, result, AB, uplo, trans, diag, k), x=lambda: z)
