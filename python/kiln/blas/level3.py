"""Level 3: matrices. Results are new arrays, unless `out` names one that is to be written."""

import math

import numpy as np

from . import _native as native
from ._arrays import Form, expect_shape, square, torch_of, word
from ._autograd import differentiable, wants_gradient
from ._backend import note_precision, routine, scope
from ._native import DIAG, NO_TRANS, ROWS, SIDE, UPLO, Matrix, fresh, operand, transpose
from ._precision import gemm_by_precision, products_in


def _result(form, beta, C, shape, out=None):
    """(beta, array to be written)."""
    beta = form.scalar(beta, "beta")
    if C is not None:
        C = expect_shape(form.array(C, "C"), "C", shape)
    if C is None or beta == 0:
        return 0.0 * beta, fresh(form, shape)
    return beta, np.array(C, order="C")


def _shape(array, trans):
    return array.shape if trans == NO_TRANS else array.shape[::-1]


def _inner(a_shape, b_shape):
    if a_shape[1] != b_shape[0]:
        raise ValueError(f"B: op(B) has {b_shape[0]} rows, but op(A) has {a_shape[1]} columns")


def _plain_gemm(backend, alpha, A, B, *more):
    """The product of two NumPy matrices that lie by rows without gaps; None for all others."""
    if more or type(A) is not np.ndarray or type(B) is not np.ndarray or type(alpha) is not float:
        return None
    if A.ndim != 2 or B.ndim != 2:
        return None
    out = np.empty((A.shape[0], B.shape[1]), A.dtype)
    note_precision()
    if backend is None:
        return out if native.routines.plain_gemm(alpha, A, B, out) else None
    with scope(backend):
        return out if native.routines.plain_gemm(alpha, A, B, out) else None


@routine(plain=_plain_gemm)
@differentiable
def gemm(alpha, A, B, beta=0.0, C=None, transA=False, transB=False, precision=None, target_forward_error=None):
    """alpha op(A) op(B) + beta C; op is A itself, its transpose (True or 'T') or conjugate transpose ('C'). Arrays of
    more dimensions are stacks of matrices, as in NumPy."""
    form = Form(A, "A")
    a, b = form.array(A, "A"), form.array(B, "B")
    if a.ndim > 2 or b.ndim > 2:
        return _stacked(alpha, A, B, beta, C, transA, transB)
    a, b = form.array(A, "A", 2), form.array(B, "B", 2)
    ta, tb = transpose(transA, "transA"), transpose(transB, "transB")
    (m, k), (_, n) = _shape(a, ta), _shape(b, tb)
    _inner((m, k), _shape(b, tb))
    alpha = form.scalar(alpha, "alpha")
    beta, out = _result(form, beta, C, (m, n))
    if precision is None and target_forward_error is None and form.is_bfloat16:
        precision = "bf16"  # its operands are bfloat16 numbers: nothing is lost
    if precision is not None or target_forward_error is not None:
        return form.result(gemm_by_precision(form, alpha, a, b, beta, out, ta, tb, precision, target_forward_error))
    if out.size:
        (am, ta), (bm, tb) = operand(a, ta), operand(b, tb)
        native.call(out, "gemm", ROWS, ta, tb, m, n, k, alpha, am, bm, beta, Matrix(out))
    return form.result(out)


def _stack(array, batch):
    """(array, elements between matrices): a stack that lies dense by rows, or one matrix for all."""
    if array.ndim == 2:
        return np.ascontiguousarray(array), 0
    wide = np.broadcast_to(array, (*batch, *array.shape[-2:])).reshape(math.prod(batch), *array.shape[-2:])
    wide = np.ascontiguousarray(wide)
    return wide, wide.shape[1] * wide.shape[2]


def _batched(form, alpha, a, b, beta, C, ta, tb):
    for array, name in ((a, "A"), (b, "B")):
        if array.ndim < 2:
            raise ValueError(f"{name}: {array.ndim} dimensions, expected 2 or more; its shape is {array.shape}")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"B: its stack {b.shape[:-2]} does not fit that of A, {a.shape[:-2]}") from None

    def shape(array, t):
        return array.shape[-2:] if t == NO_TRANS else array.shape[-2:][::-1]

    (m, k), (_, n) = shape(a, ta), shape(b, tb)
    _inner((m, k), shape(b, tb))
    beta, out = _result(form, beta, C, (*batch, m, n))
    count = int(np.prod(batch))
    if out.size:
        (aw, sa), (bw, sb) = _stack(a, batch), _stack(b, batch)
        native.call(out, "gemm_strided_batched",
            ROWS, ta, tb, m, n, k, form.scalar(alpha, "alpha"), aw.ctypes.data, max(1, aw.shape[-1]), sa,
            bw.ctypes.data, max(1, bw.shape[-1]), sb, beta, out.ctypes.data, n, m * n, count)
    return out


def _stacked(alpha, A, B, beta, C, transA, transB):
    form = Form(A, "A")
    return form.result(_batched(form, alpha, form.array(A, "A"), form.array(B, "B"), beta, C,
                                transpose(transA, "transA"), transpose(transB, "transB")))


@routine
@differentiable
def batched_gemm(alpha, A, B, beta=0.0, C=None, transA=False, transB=False):
    """alpha op(A[i]) op(B[i]) + beta C[i] for all i, as one program. One matrix may stand for all."""
    return _stacked(alpha, A, B, beta, C, transA, transB)


@routine
def gemm_batched(alpha, As, Bs, beta=0.0, Cs=None, transA=False, transB=False):
    """The same for lists of matrices, which may lie anywhere; all of one shape. Returns a list."""
    As, Bs, Cs = list(As), list(Bs), None if Cs is None else list(Cs)
    if len(As) != len(Bs) or (Cs is not None and len(Cs) != len(As)):
        raise ValueError(f"Bs: {len(Bs)} matrices, but As has {len(As)}")
    if not As:
        return []
    if wants_gradient([*As, *Bs, *(Cs or ())]):
        stacks = [None if m is None else torch_of(As[0]).stack(m) for m in (As, Bs, Cs)]
        return list(batched_gemm(alpha, *stacks[:2], beta, stacks[2], transA, transB))
    form = Form(As[0], "As[0]")
    a = np.stack([form.array(v, f"As[{i}]", 2) for i, v in enumerate(As)])
    b = np.stack([form.array(v, f"Bs[{i}]", 2) for i, v in enumerate(Bs)])
    c = None if Cs is None else np.stack([form.array(v, f"Cs[{i}]", 2) for i, v in enumerate(Cs)])
    out = _batched(form, alpha, a, b, beta, None if c is None else c.astype(form.dtype),
                   transpose(transA, "transA"), transpose(transB, "transB"))
    return [form.result(np.array(m)) for m in out]


def _symm(name, alpha, A, B, beta, C, side, uplo, precision=None):
    form = Form(A, "A")
    a, b = square(form.array(A, "A", 2), "A"), form.array(B, "B", 2)
    s, u = SIDE[word(side, "side", tuple(SIDE))], UPLO[word(uplo, "uplo", tuple(UPLO))]
    if b.shape[0 if side == "left" else 1] != len(a):
        raise ValueError(f"B: its shape is {b.shape}, which does not fit A of order {len(a)} on the {side}")
    beta, out = _result(form, beta, C, b.shape)
    with products_in(form, precision, len(a)):
        if out.size:
            native.call(out, name, ROWS, s, u, *b.shape, form.scalar(alpha, "alpha"), Matrix(a), Matrix(b), beta,
                        Matrix(out))
    return form.result(out)


@routine
@differentiable
def symm(alpha, A, B, beta=0.0, C=None, side="left", uplo="upper", precision=None):
    """alpha A B + beta C, or alpha B A + beta C with side 'right', for a symmetric A of which one triangle is read."""
    return _symm("symm", alpha, A, B, beta, C, side, uplo, precision)


@routine
@differentiable
def hemm(alpha, A, B, beta=0.0, C=None, side="left", uplo="upper"):
    """The same for a hermitian A."""
    return _symm("hemm" if Form(A, "A").is_complex else "symm", alpha, A, B, beta, C, side, uplo)


def _rank_k(name, alpha, arrays, beta, C, trans, uplo, full, hermitian):
    """One triangle of the update; with `full` the whole matrix, made of it."""
    form = Form(arrays[0], "A")
    a = form.array(arrays[0], "A", 2)
    t, u = transpose(trans, "trans"), UPLO[word(uplo, "uplo", tuple(UPLO))]
    if t != NO_TRANS:
        t = native.CONJ_TRANS if hermitian else native.TRANS
    n, k = _shape(a, t)
    operands = [Matrix(a)]
    if len(arrays) == 2:
        operands.append(Matrix(expect_shape(form.array(arrays[1], "B", 2), "B", a.shape)))
    beta = form.scalar(beta, "beta")
    out = np.zeros((n, n), form.compute)
    if C is not None:
        c = expect_shape(form.array(C, "C", 2), "C", (n, n))
        if full and beta != 0 and not hermitian:
            c = (c + c.T) / 2  # the whole result is symmetric whatever C is
        if beta != 0 or not full:
            out = np.array(c, order="C")
    else:
        beta = 0.0 * beta
    alpha = form.scalar(alpha, "alpha")
    if hermitian and name == "herk":
        alpha, beta = alpha.real, beta.real
    elif hermitian:
        beta = beta.real
    if out.size:
        native.call(out, name, ROWS, u, t, n, k, alpha, *operands, beta,
                                  Matrix(out))
    if full:
        out = _completed(out, uplo, hermitian)
    return form.result(out)


def _completed(triangle, uplo, hermitian):
    one, other = (np.triu(triangle), np.triu(triangle, 1)) if uplo == "upper" else (
        np.tril(triangle), np.tril(triangle, -1))
    return one + (other.conj().T if hermitian else other.T)


@routine
@differentiable
def syrk(alpha, A, beta=0.0, C=None, trans=False, uplo="upper", full=True):
    """alpha A A^T + beta C, or alpha A^T A + beta C with trans. The whole symmetric matrix, with (C + C^T) / 2 for C;
    full=False is the BLAS routine: only the triangle `uplo` is updated, the other one is C's, or 0."""
    return _rank_k("syrk", alpha, (A,), beta, C, trans, uplo, full, False)


@routine
@differentiable
def syr2k(alpha, A, B, beta=0.0, C=None, trans=False, uplo="upper", full=True):
    """alpha (A B^T + B A^T) + beta C, or alpha (A^T B + B^T A) + beta C with trans; full as in syrk."""
    return _rank_k("syr2k", alpha, (A, B), beta, C, trans, uplo, full, False)


@routine
@differentiable
def herk(alpha, A, beta=0.0, C=None, trans=False, uplo="upper", full=True):
    """alpha A A^H + beta C, or alpha A^H A + beta C with trans; alpha and beta are real; full as in syrk."""
    if not Form(A, "A").is_complex:
        return syrk(alpha, A, beta, C, trans, uplo, full)
    return _rank_k("herk", alpha, (A,), beta, C, trans, uplo, full, True)


@routine
@differentiable
def her2k(alpha, A, B, beta=0.0, C=None, trans=False, uplo="upper", full=True):
    """alpha A B^H + conj(alpha) B A^H + beta C, or with A^H B and B^H A; beta is real; full as in syrk."""
    if not Form(A, "A").is_complex:
        return syr2k(alpha, A, B, beta, C, trans, uplo, full)
    return _rank_k("her2k", alpha, (A, B), beta, C, trans, uplo, full, True)


@routine
@differentiable
def gemmt(alpha, A, B, beta=0.0, C=None, transA=False, transB=False, uplo="upper"):
    """The triangle `uplo` of alpha op(A) op(B) + beta C; the other one is C's, or 0. Also called gemmtr."""
    form = Form(A, "A")
    a, b = form.array(A, "A", 2), form.array(B, "B", 2)
    ta, tb = transpose(transA, "transA"), transpose(transB, "transB")
    u = UPLO[word(uplo, "uplo", tuple(UPLO))]
    (n, k), (_, columns) = _shape(a, ta), _shape(b, tb)
    _inner((n, k), _shape(b, tb))
    if n != columns:
        raise ValueError(f"B: op(B) has {columns} columns, but op(A) has {n} rows")
    beta = form.scalar(beta, "beta")
    out = np.zeros((n, n), form.compute)
    if C is not None:
        out = np.array(expect_shape(form.array(C, "C", 2), "C", (n, n)), order="C")
    else:
        beta = 0.0 * beta
    if out.size:
        native.call(out, "gemmt", ROWS, u, ta, tb, n, k, form.scalar(alpha, "alpha"), Matrix(a),
                                     Matrix(b), beta, Matrix(out))
    return form.result(out)


gemmtr = gemmt


def _triangular(name, alpha, A, B, side, uplo, trans, diag, precision):
    form = Form(A, "A")
    a, b = square(form.array(A, "A", 2), "A"), form.array(B, "B", 2)
    s, u = SIDE[word(side, "side", tuple(SIDE))], UPLO[word(uplo, "uplo", tuple(UPLO))]
    d, t = DIAG[word(diag, "diag", tuple(DIAG))], transpose(trans, "trans")
    if b.shape[0 if side == "left" else 1] != len(a):
        raise ValueError(f"B: its shape is {b.shape}, which does not fit A of order {len(a)} on the {side}")
    out = np.array(b, order="C")
    with products_in(form, precision, len(a)):
        if out.size:
            native.call(out, name, ROWS, s, u, t, d, *b.shape, form.scalar(alpha, "alpha"), Matrix(a), Matrix(out))
    return form.result(out)


@routine
@differentiable
def trsm(alpha, A, B, side="left", uplo="upper", trans=False, diag="nonunit", precision=None):
    """X of op(A) X = alpha B, or of X op(A) = alpha B with side 'right', for a triangular A. The bound of a precision
    is that of the residual, relative to |op(A)| |X|."""
    return _triangular("trsm", alpha, A, B, side, uplo, trans, diag, precision)


@routine
@differentiable
def trmm(alpha, A, B, side="left", uplo="upper", trans=False, diag="nonunit", precision=None):
    """alpha op(A) B, or alpha B op(A) with side 'right', for a triangular A."""
    return _triangular("trmm", alpha, A, B, side, uplo, trans, diag, precision)


@routine
@differentiable
def cholesky(A, uplo="lower", precision=None):
    """L of A = L L^T (or U of A = U^T U with uplo 'upper') for a symmetric positive definite A of which one triangle
    is read; zero in the other triangle. A matrix that is not positive definite is a ValueError. The bound of a
    precision is that of A - L L^T, relative to |L| |L^T|."""
    form = Form(A, "A")
    a, u = square(form.array(A, "A", 2), "A"), UPLO[word(uplo, "uplo", tuple(UPLO))]
    if form.is_complex:
        raise TypeError(f"A: elements are {form.dtype}, expected real ones")
    out = np.triu(a) if uplo == "upper" else np.tril(a)
    with products_in(form, precision, len(a)):
        if out.size and not native.call(out, "potrf", ROWS, u, len(out), Matrix(out)):
            raise ValueError("A: it is not positive definite")
    return form.result(out)
