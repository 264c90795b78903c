"""Level 2: band and packed matrices, by rows as in CBLAS (layout row-major).

A band matrix is an array of one row per row of the matrix: element (i, j) stands in row i at place j - i + kl. Of a
symmetric or triangular one, place 0 of the upper triangle and the last place of the lower one are the diagonal. A
packed triangle is a vector of its rows, one after the other.
"""

import numpy as np

from . import _native as native
from ._arrays import Form, word
from ._autograd import differentiable
from ._backend import routine
from ._native import DIAG, ROWS, UPLO, Matrix, Vector, transpose
from .level2 import _complex, _real, _real_vector, _result, _vector


def _uplo(uplo):
    return UPLO[word(uplo, "uplo", tuple(UPLO))]


def _count(value, name):
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"{name}: {value!r}, expected a number of diagonals")
    return int(value)


def _band(form, AB, width, name="AB"):
    array = form.array(AB, name, 2)
    if array.shape[1] < width:
        raise ValueError(f"{name}: {array.shape[1]} places in a row, expected {width} or more")
    return array


def _order(ap, name="AP"):
    """n of a packed triangle of n (n + 1) / 2 elements."""
    n = int((np.sqrt(8 * ap.size + 1) - 1) // 2)
    if n * (n + 1) // 2 != ap.size:
        raise ValueError(f"{name}: {ap.size} elements are no triangle of whole rows")
    return n


@routine
@differentiable
def gbmv(alpha, AB, x, n, kl, ku, beta=0.0, y=None, trans=False):
    """alpha op(A) x + beta y for a band matrix of n columns, kl diagonals below and ku above the main one."""
    form = Form(AB, "AB")
    kl, ku, t = _count(kl, "kl"), _count(ku, "ku"), transpose(trans, "trans")
    a = _band(form, AB, kl + ku + 1)
    m = len(a)
    inner, outer = (n, m) if t == native.NO_TRANS else (m, n)
    xv = Vector(_vector(form, x, "x", inner))
    beta, out = _result(form, beta, y, "y", (outer,))
    native.call(out, "gbmv", ROWS, t, m, n, kl, ku, form.scalar(alpha, "alpha"), Matrix(a), xv, beta,
                                Vector(out))
    return form.result(out)


def _self_band(name, alpha, AB, x, beta, y, uplo, k):
    form = Form(AB, "AB")
    a = form.array(AB, "AB", 2)
    k = a.shape[1] - 1 if k is None else _count(k, "k")
    _band(form, AB, k + 1)
    xv = Vector(_vector(form, x, "x", len(a)))
    beta, out = _result(form, beta, y, "y", (len(a),))
    native.call(out, name, ROWS, _uplo(uplo), len(a), k, form.scalar(alpha, "alpha"), Matrix(a), xv,
                              beta, Vector(out))
    return form.result(out)


@routine
@differentiable
def sbmv(alpha, AB, x, beta=0.0, y=None, uplo="upper", k=None):
    """alpha A x + beta y for a symmetric band matrix with k diagonals beside the main one."""
    _real(AB)
    return _self_band("sbmv", alpha, AB, x, beta, y, uplo, k)


@routine
@differentiable
def hbmv(alpha, AB, x, beta=0.0, y=None, uplo="upper", k=None):
    """alpha A x + beta y for a hermitian band matrix."""
    _complex(AB, "AB")
    return _self_band("hbmv", alpha, AB, x, beta, y, uplo, k)


def _self_packed(name, alpha, AP, x, beta, y, uplo):
    form = Form(AP, "AP")
    ap = np.ascontiguousarray(_vector(form, AP, "AP"))
    n = _order(ap)
    xv = Vector(_vector(form, x, "x", n))
    beta, out = _result(form, beta, y, "y", (n,))
    native.call(out, name, ROWS, _uplo(uplo), n, form.scalar(alpha, "alpha"), ap.ctypes.data, xv, beta,
                              Vector(out))
    return form.result(out)


@routine
@differentiable
def spmv(alpha, AP, x, beta=0.0, y=None, uplo="upper"):
    """alpha A x + beta y for a packed symmetric matrix."""
    _real(AP)
    return _self_packed("spmv", alpha, AP, x, beta, y, uplo)


@routine
@differentiable
def hpmv(alpha, AP, x, beta=0.0, y=None, uplo="upper"):
    """alpha A x + beta y for a packed hermitian matrix."""
    _complex(AP, "AP")
    return _self_packed("hpmv", alpha, AP, x, beta, y, uplo)


def _triangular_band(name, AB, x, uplo, trans, diag, k):
    form = Form(AB, "AB")
    a = form.array(AB, "AB", 2)
    k = a.shape[1] - 1 if k is None else _count(k, "k")
    _band(form, AB, k + 1)
    out = np.array(_vector(form, x, "x", len(a)), order="C")
    native.call(out, name, ROWS, _uplo(uplo), transpose(trans, "trans"), DIAG[word(diag, "diag", tuple(DIAG))],
                              len(a), k, Matrix(a), Vector(out))
    return form.result(out)


@routine
@differentiable
def tbmv(AB, x, uplo="upper", trans=False, diag="nonunit", k=None):
    """op(A) x for a triangular band matrix."""
    return _triangular_band("tbmv", AB, x, uplo, trans, diag, k)


@routine
@differentiable
def tbsv(AB, x, uplo="upper", trans=False, diag="nonunit", k=None):
    """The solution of op(A) z = x for a triangular band matrix."""
    return _triangular_band("tbsv", AB, x, uplo, trans, diag, k)


def _triangular_packed(name, AP, x, uplo, trans, diag):
    form = Form(AP, "AP")
    ap = np.ascontiguousarray(_vector(form, AP, "AP"))
    out = np.array(_vector(form, x, "x", _order(ap)), order="C")
    native.call(out, name, ROWS, _uplo(uplo), transpose(trans, "trans"), DIAG[word(diag, "diag", tuple(DIAG))],
                              out.size, ap.ctypes.data, Vector(out))
    return form.result(out)


@routine
@differentiable
def tpmv(AP, x, uplo="upper", trans=False, diag="nonunit"):
    """op(A) x for a packed triangular matrix."""
    return _triangular_packed("tpmv", AP, x, uplo, trans, diag)


@routine
@differentiable
def tpsv(AP, x, uplo="upper", trans=False, diag="nonunit"):
    """The solution of op(A) z = x for a packed triangular matrix."""
    return _triangular_packed("tpsv", AP, x, uplo, trans, diag)


def _packed_update(name, alpha, vectors, AP, uplo):
    form = Form(vectors[0], "x")
    arrays = [_vector(form, v, n) for v, n in zip(vectors, "xy")]
    n = arrays[0].size
    if len(arrays) == 2 and arrays[1].size != n:
        raise ValueError(f"y: {arrays[1].size} elements, expected {n}")
    size = n * (n + 1) // 2
    out = np.zeros(size, form.compute) if AP is None else np.array(_vector(form, AP, "AP", size), order="C")
    native.call(out, name, ROWS, _uplo(uplo), n, alpha, *[Vector(a) for a in arrays],
                              out.ctypes.data)
    return form.result(out)


@routine
@differentiable
def spr(alpha, x, AP=None, uplo="upper"):
    """alpha x x^T + A for a packed symmetric A."""
    _real_vector(x)
    return _packed_update("spr", float(alpha), (x,), AP, uplo)


@routine
@differentiable
def spr2(alpha, x, y, AP=None, uplo="upper"):
    """alpha (x y^T + y x^T) + A for a packed symmetric A."""
    _real_vector(x)
    return _packed_update("spr2", float(alpha), (x, y), AP, uplo)


@routine
@differentiable
def hpr(alpha, x, AP=None, uplo="upper"):
    """alpha x x^H + A for a packed hermitian A; alpha is real."""
    _complex(x, "x")
    return _packed_update("hpr", float(alpha), (x,), AP, uplo)


@routine
@differentiable
def hpr2(alpha, x, y, AP=None, uplo="upper"):
    """alpha x y^H + conj(alpha) y x^H + A for a packed hermitian A."""
    _complex(x, "x")
    return _packed_update("hpr2", complex(alpha), (x, y), AP, uplo)
