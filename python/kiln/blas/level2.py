"""Level 2: a matrix and vectors. Results are new arrays."""

import numpy as np

from . import _native as native
from ._arrays import Form, expect_shape, square, word
from ._autograd import differentiable
from ._backend import routine
from ._native import DIAG, ROWS, UPLO, Matrix, Vector, fresh, operand, transpose


def _vector(form, value, name, length=None):
    array = form.array(value, name, 1)
    if length is not None and array.size != length:
        raise ValueError(f"{name}: {array.size} elements, expected {length}")
    return array


def _result(form, beta, y, name, shape):
    """(beta, array to be written): what beta scales counts only when it is given and beta is not 0."""
    beta = form.scalar(beta, "beta")
    if y is None or beta == 0:
        if y is not None:
            expect_shape(form.array(y, name), name, shape)
        return 0.0 * beta, fresh(form, shape)
    return beta, np.array(expect_shape(form.array(y, name), name, shape), order="C")


def _triangle(uplo, diag="nonunit"):
    return UPLO[word(uplo, "uplo", tuple(UPLO))], DIAG[word(diag, "diag", tuple(DIAG))]


@routine
@differentiable
def gemv(alpha, A, x, beta=0.0, y=None, trans=False):
    """alpha op(A) x + beta y."""
    form = Form(A, "A")
    a, t = form.array(A, "A", 2), transpose(trans, "trans")
    inner, outer = (a.shape[1], a.shape[0]) if t == native.NO_TRANS else a.shape
    xv = Vector(_vector(form, x, "x", inner))
    beta, out = _result(form, beta, y, "y", (outer,))
    if a.size == 0:
        return form.result(out * beta if beta else np.zeros_like(out))
    m, t = operand(a, t)
    native.call(out, "gemv", ROWS, t, *m.array.shape, form.scalar(alpha, "alpha"), m, xv, beta,
                                Vector(out))
    return form.result(out)


def _self_adjoint(name, alpha, A, x, beta, y, uplo):
    form = Form(A, "A")
    a, (u, _) = square(form.array(A, "A", 2), "A"), _triangle(uplo)
    xv, m = Vector(_vector(form, x, "x", len(a))), Matrix(a)
    beta, out = _result(form, beta, y, "y", (len(a),))
    if a.size:
        native.call(out, name, ROWS, u, len(a), form.scalar(alpha, "alpha"), m, xv, beta,
                                  Vector(out))
    return form.result(out)


def _real(A):
    form = Form(A, "A")
    if form.is_complex:
        raise TypeError(f"A: elements are {form.dtype}; for complex matrices there is the routine of hermitian ones")


def _complex(A, name="A"):
    form = Form(A, name)
    if not form.is_complex:
        raise TypeError(f"{name}: elements are {form.dtype}, expected complex64 or complex128")


@routine
@differentiable
def symv(alpha, A, x, beta=0.0, y=None, uplo="upper"):
    """alpha A x + beta y for a symmetric A, of which one triangle is read."""
    _real(A)
    return _self_adjoint("symv", alpha, A, x, beta, y, uplo)


@routine
@differentiable
def hemv(alpha, A, x, beta=0.0, y=None, uplo="upper"):
    """alpha A x + beta y for a hermitian A, of which one triangle is read, and of its diagonal the real part."""
    _complex(A)
    return _self_adjoint("hemv", alpha, A, x, beta, y, uplo)


def _triangular(name, A, x, uplo, trans, diag):
    form = Form(A, "A")
    a, (u, d), t = square(form.array(A, "A", 2), "A"), _triangle(uplo, diag), transpose(trans, "trans")
    out, m = np.array(_vector(form, x, "x", len(a)), order="C"), Matrix(a)
    if a.size:
        native.call(out, name, ROWS, u, t, d, len(a), m, Vector(out))
    return form.result(out)


@routine
@differentiable
def trmv(A, x, uplo="upper", trans=False, diag="nonunit"):
    """op(A) x for a triangular A."""
    return _triangular("trmv", A, x, uplo, trans, diag)


@routine
@differentiable
def trsv(A, x, uplo="upper", trans=False, diag="nonunit"):
    """The solution of op(A) z = x for a triangular A."""
    return _triangular("trsv", A, x, uplo, trans, diag)


def _rank_one(name, alpha, x, y, A):
    form = Form(x, "x")
    a, b = _vector(form, x, "x"), _vector(form, y, "y")
    shape = (a.size, b.size)
    out = np.zeros(shape, form.compute) if A is None else np.array(
        expect_shape(form.array(A, "A", 2), "A", shape), order="C")
    if out.size:
        native.call(out, name, ROWS, *shape, form.scalar(alpha, "alpha"), Vector(a), Vector(b),
                                  Matrix(out))
    return form.result(out)


@routine
@differentiable
def ger(alpha, x, y, A=None):
    """alpha x y^T + A; of complex vectors too, without a conjugate (geru)."""
    return _rank_one("geru" if Form(x, "x").is_complex else "ger", alpha, x, y, A)


@routine
@differentiable
def geru(alpha, x, y, A=None):
    """alpha x y^T + A."""
    return ger(alpha, x, y, A)


@routine
@differentiable
def gerc(alpha, x, y, A=None):
    """alpha x y^H + A."""
    return _rank_one("gerc" if Form(x, "x").is_complex else "ger", alpha, x, y, A)


def _update(name, alpha, vectors, A, uplo):
    """A with one triangle updated; the other one stays."""
    form = Form(vectors[0], "x")
    arrays = [_vector(form, v, n) for v, n in zip(vectors, "xy")]
    n = arrays[0].size
    if len(arrays) == 2 and arrays[1].size != n:
        raise ValueError(f"y: {arrays[1].size} elements, expected {n}")
    u, _ = _triangle(uplo)
    out = np.zeros((n, n), form.compute) if A is None else np.array(
        expect_shape(form.array(A, "A", 2), "A", (n, n)), order="C")
    if n:
        native.call(out, name, ROWS, u, n, alpha, *[Vector(a) for a in arrays], Matrix(out))
    return form.result(out)


@routine
@differentiable
def syr(alpha, x, A=None, uplo="upper"):
    """alpha x x^T + A in one triangle of A; the other one stays."""
    _real_vector(x)
    return _update("syr", float(alpha), (x,), A, uplo)


@routine
@differentiable
def syr2(alpha, x, y, A=None, uplo="upper"):
    """alpha (x y^T + y x^T) + A in one triangle of A; the other one stays."""
    _real_vector(x)
    return _update("syr2", float(alpha), (x, y), A, uplo)


def _real_vector(x):
    form = Form(x, "x")
    if form.is_complex:
        raise TypeError(f"x: elements are {form.dtype}; for complex vectors there is the routine of hermitian matrices")


@routine
@differentiable
def her(alpha, x, A=None, uplo="upper"):
    """alpha x x^H + A in one triangle of a hermitian A; alpha is real."""
    _complex(x, "x")
    return _update("her", float(alpha), (x,), A, uplo)


@routine
@differentiable
def her2(alpha, x, y, A=None, uplo="upper"):
    """alpha x y^H + conj(alpha) y x^H + A in one triangle of a hermitian A."""
    _complex(x, "x")
    return _update("her2", complex(alpha), (x, y), A, uplo)
