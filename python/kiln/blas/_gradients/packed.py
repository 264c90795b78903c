"""Gradients of level 2, packed triangles: those of whole matrices, packed."""

from .. import band as routines
from . import level2
from .tools import conj, of_stored, of_triangular, only, opposite, scaled, undone


def _places(n, uplo):
    import torch
    return tuple(torch.triu_indices(n, n) if uplo == "upper" else torch.tril_indices(n, n))


def _packed(full, uplo):
    return full[_places(len(full), uplo)]


def _spread(ap, n, uplo):
    full = ap.new_zeros(n, n)
    return full.index_put(_places(n, uplo), ap)


def _product(routine, hermitian):
    def gradient(g, _, wanted, alpha, AP, x, beta, y, uplo):
        return only(wanted, AP=lambda: _packed(of_stored(level2._outer(alpha, g, x), uplo, hermitian), uplo),
                    x=lambda: getattr(routines, routine)(conj(alpha), AP, g, uplo=uplo), y=lambda: scaled(beta, g))
    return gradient


spmv, hpmv = _product("spmv", False), _product("hpmv", True)


def tpmv(g, _, wanted, AP, x, uplo, trans, diag):
    other, flag = opposite(AP, trans)
    return only(wanted, AP=lambda: _of_triangle(1.0, g, x, uplo, trans, diag),
                x=lambda: routines.tpmv(other, g, uplo=uplo, trans=flag, diag=diag))


def tpsv(g, result, wanted, AP, x, uplo, trans, diag):
    other, flag = opposite(AP, trans)
    z = routines.tpsv(other, g, uplo=uplo, trans=flag, diag=diag)
    return only(wanted, AP=lambda: _of_triangle(-1.0, z, result, uplo, trans, diag), x=lambda: z)


def _of_triangle(factor, g, x, uplo, trans, diag):
    return _packed(of_triangular(undone(level2._outer(factor, g, x), trans), uplo, diag), uplo)


def _update(update, g, wanted, AP, uplo, alpha, x, *more):
    wanted = {"A" if name == "AP" else name for name in wanted}
    found = update(_spread(g, len(x), uplo), None, wanted, alpha, x, *more, AP, uplo)
    if "A" in found:
        found["AP"] = _packed(found.pop("A"), uplo)
    return found


def hpr(g, _, wanted, alpha, x, AP, uplo):
    return _update(level2.her, g, wanted, AP, uplo, alpha, x)


def hpr2(g, _, wanted, alpha, x, y, AP, uplo):
    return _update(level2.her2, g, wanted, AP, uplo, alpha, x, y)


spr, spr2 = hpr, hpr2
