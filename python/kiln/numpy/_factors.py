"""numpy.linalg by factors: QR by reflections, singular values by rotations of columns, and what follows from them. Each
is a loop of a fixed number of passes, so that its time is known before it runs."""

import math
import operator

import numpy as np

from kiln.numpy._array import as_array
from kiln.numpy._control import for_loop
from kiln.numpy._dispatch import implements
from kiln.numpy._linalg import floating, inv, norm, square
from kiln.numpy._rules import ARGUMENT, refuse

_EPSILON = float(np.finfo(np.float32).eps)


def _turned(x):
    return np.swapaxes(x, -1, -2)


def _matrices(a, name):
    x = floating(a)
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if 0 in x.shape:
        refuse(ARGUMENT, f"np.linalg.{name} of an array without elements", "leave such a call out")
    return x.astype(np.float32)


def _eye(n, batch):
    return as_array(np.broadcast_to(np.eye(n, dtype=np.float32), (*batch, n, n)))


# Reflections.

def reflected(x):
    """(Q, R) with Q square: each pass mirrors a column onto its axis, with LAPACK's signs."""
    rows, columns = x.shape[-2:]
    places = np.arange(rows, dtype=np.int32)

    def step(k, state):
        r, q = state
        column = r[..., :, k]
        here, below = places == k, places > k
        first = np.sum(np.where(here, column, np.float32(0)), axis=-1, keepdims=True)
        rest = np.where(below, column, np.float32(0))
        largest = np.maximum(np.max(np.abs(rest), axis=-1, keepdims=True), np.abs(first))
        scale = np.where(largest == 0, np.float32(1), largest)
        length = scale * np.sqrt(np.sum(np.square(rest / scale), axis=-1, keepdims=True) + np.square(first / scale))
        is_done = np.all(rest == 0, axis=-1, keepdims=True)
        mirror = np.where(here, first + np.where(first < 0, -length, length), rest) / scale
        weight = np.where(is_done, np.float32(0), 2 / np.maximum(np.sum(np.square(mirror), axis=-1, keepdims=True),
                                                                 np.float32(1e-30)))
        across = mirror[..., None]
        scaled = (weight * mirror)[..., None]
        r = r - scaled * np.matmul(mirror[..., None, :], r)
        q = q - np.matmul(q, across) * _turned(scaled)
        return r, q

    passes = min(rows, columns)
    state = (x.copy(), _eye(rows, x.shape[:-2]).copy())
    r, q = step(0, state) if passes == 1 else for_loop(passes, step, state)
    return q, np.triu(r)


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        refuse(ARGUMENT, f"np.linalg.qr(mode={mode!r})", "use 'reduced', 'complete' or 'r'", kind=ValueError)
    x = _matrices(a, "qr")
    q, r = reflected(x)
    n = min(x.shape[-2:])
    if mode == "r":
        return r[..., :n, :].copy()
    if mode == "reduced":
        q, r = q[..., :, :n].copy(), r[..., :n, :].copy()
    return _result("QRResult", q, r)


def _result(name, *values):
    from numpy.linalg import _linalg

    return getattr(_linalg, name)(*values)


# Rotations.

def _sweeps(n):
    return 6 + max(2, math.ceil(math.log2(n)))


def _rotated(x):
    """(x V, V) with columns of x V at right angles, V orthogonal: columns meet in pairs, each with each in a sweep."""
    n = x.shape[-1]
    batch = x.shape[:-2]
    odd = n % 2
    if odd:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], 1), np.float32)], axis=-1)
    half = (n + odd) // 2
    both = np.concatenate([x, _eye(n + odd, batch)], axis=-2)
    rows = x.shape[-2]

    def step(_, state):
        left, right = state
        p, q = left[..., :rows, :], right[..., :rows, :]
        pp = np.sum(np.square(p), axis=-2, keepdims=True)
        qq = np.sum(np.square(q), axis=-2, keepdims=True)
        pq = np.sum(p * q, axis=-2, keepdims=True)
        near = np.abs(pq) <= (0.5 * _EPSILON) * np.sqrt(pp) * np.sqrt(qq)
        ratio = (qq - pp) / np.where(near, np.float32(1), 2 * pq)
        size = np.abs(ratio)
        # beyond 2^60 its square overflows, and the root is the number itself
        root = np.where(size > 2.0**60, size, np.sqrt(1 + np.square(np.minimum(size, np.float32(2.0**60)))))
        tangent = np.where(near, np.float32(0), np.where(ratio < 0, np.float32(-1), np.float32(1)) / (size + root))
        cosine = 1 / np.sqrt(1 + np.square(tangent))
        sine = cosine * tangent
        left, right = cosine * left - sine * right, sine * left + cosine * right
        if half == 1:
            return left, right
        return (np.concatenate([left[..., :1], right[..., :1], left[..., 1:-1]], axis=-1),
                np.concatenate([right[..., 1:], left[..., -1:]], axis=-1))

    passes = _sweeps(n + odd) * max(n + odd - 1, 1)
    left, right = for_loop(passes, step, (both[..., :half].copy(), both[..., half:].copy()))
    both = np.concatenate([left, right], axis=-1)
    made, turn = both[..., :rows, :], both[..., rows:, :]
    if odd:  # the column of zeros is that whose turn has the added row
        last = np.argmax(np.abs(turn[..., -1, :]), axis=-1)
        at = np.arange(n, dtype=np.int32)
        kept = at + (at >= last[..., None]).astype(np.int32)
        made, turn = (np.take_along_axis(m, np.broadcast_to(kept[..., None, :], (*m.shape[:-1], n)), axis=-1)
                      for m in (made, turn[..., :-1, :]))
    return made, turn


def _ordered(values, *matrices, descending):
    """Values in order along the last axis, and columns likewise."""
    order = np.argsort(-values if descending else values, axis=-1)
    out = [np.take_along_axis(values, order, axis=-1)]
    for m in matrices:
        out.append(np.take_along_axis(m, np.broadcast_to(order[..., None, :], m.shape), axis=-1))
    return out


def _scaled(x):
    """(x over its largest element, that element), so that squares neither overflow nor vanish."""
    largest = np.max(np.abs(x), axis=(-2, -1), keepdims=True)
    scale = np.where(largest > 0, largest, np.float32(1))
    return x / scale, scale


def _straight(v):
    """Columns that are nearly orthonormal, made more so: one step of Newton's."""
    return 1.5 * v - 0.5 * np.matmul(v, np.matmul(_turned(v), v))


def _tall(x):
    """(x V in falling order of length, the lengths, V) of matrices with no more columns than rows."""
    small, scale = _scaled(x)
    made, turn = _rotated(small)
    lengths = np.sqrt(np.sum(np.square(made), axis=-2))
    lengths, made, turn = _ordered(lengths, made, turn, descending=True)
    return made, lengths, _straight(turn), scale


def _singular_values(x):
    x = x if x.shape[-2] >= x.shape[-1] else _turned(x)
    _, lengths, _, scale = _tall(x)
    return lengths * scale[..., 0]


def _decomposed(x, full_matrices):
    """(U, S, V) with x = U S V^T."""
    if x.shape[-2] < x.shape[-1]:
        v, s, u = _decomposed(_turned(x), full_matrices)
        return u, s, v
    made, lengths, turn, scale = _tall(x)
    n = x.shape[-1]
    q, r = reflected(made)  # columns without length get some direction, too
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, np.float32(-1), np.float32(1))[..., None, :]
    u = np.concatenate([q[..., :, :n] * signs, q[..., :, n:]], axis=-1) if full_matrices else q[..., :, :n] * signs
    return u, lengths * scale[..., 0], turn


@implements(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    x = _matrices(a, "svd")
    if hermitian:
        x = _symmetric(x, "L")
    if not compute_uv:
        return _singular_values(x)
    u, s, v = _decomposed(x, full_matrices)
    return _result("SVDResult", u, s, _turned(v).copy())


@implements(np.linalg.svdvals)
def svdvals(x, /):
    return _singular_values(_matrices(x, "svdvals"))


# What follows from singular values.

def spectral_norm(x, ord, axes, keepdims):
    """The norms of matrices by singular values: 2, -2 and 'nuc'."""
    row, column = axes
    s = _singular_values(_matrices(np.moveaxis(x, (row, column), (-2, -1)), "norm"))
    made = {2: np.max, -2: np.min, "nuc": np.sum}[ord](s, axis=-1)
    return np.expand_dims(made, tuple(sorted(axes))) if keepdims else made


@implements(np.linalg.cond)
def cond(x, p=None):
    a = _matrices(x, "cond")
    if p is None or p in (2, -2):
        s = _singular_values(a)
        made = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        square(a)
        made = norm(a, p, axis=(-2, -1)) * norm(inv(a), p, axis=(-2, -1))
    is_bad = np.isnan(made) & ~np.any(np.isnan(a), axis=(-2, -1))
    return np.where(is_bad, np.float32(math.inf), made)


def _least(s, rows, columns, relative=None):
    """Below which a singular value counts as zero."""
    relative = max(rows, columns) * _EPSILON if relative is None else as_array(relative).astype(np.float32)[..., None]
    return np.max(s, axis=-1, keepdims=True) * relative


@implements(np.linalg.matrix_rank)
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    x = as_array(A)
    if x.ndim < 2:
        return np.any(x != 0).astype(np.int32)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = _matrices(x, "matrix_rank")
    s = _singular_values(_symmetric(x, "L") if hermitian else x)
    least = _least(s, *x.shape[-2:], rtol) if tol is None else as_array(tol).astype(np.float32)[..., None]
    return np.count_nonzero(s > least, axis=-1)


@implements(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    x = _matrices(a, "pinv")
    x = _symmetric(x, "L") if hermitian else x
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    u, s, v = _decomposed(x, False)
    return np.matmul(v * _inverse(s, _least(s, *x.shape[-2:], rcond))[..., None, :], _turned(u))


def _inverse(s, least):
    """1 / s, and 0 where s counts as zero."""
    kept = s > least
    return np.where(kept, 1 / np.where(kept, s, np.float32(1)), np.float32(0))


@implements(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """Residuals as of a matrix of full rank: whether it is of less is known at run time alone."""
    x, y = _matrices(a, "lstsq"), floating(b)
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise np.linalg.LinAlgError("lstsq takes a matrix, and a vector or a matrix")
    if x.shape[0] != y.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    rows, columns = x.shape
    u, s, v = _decomposed(x, False)
    least = _least(s, rows, columns, None if rcond is None else max(rcond, 0) if rcond >= 0 else _EPSILON)
    wide = y if y.ndim == 2 else y[:, None]
    made = np.matmul(v * _inverse(s, least), np.matmul(_turned(u), wide))
    left = np.sum(np.square(wide - np.matmul(x, made)), axis=0) if rows > columns else np.zeros(0, np.float32)
    made = made if y.ndim == 2 else made[:, 0].copy()
    return made, left, np.count_nonzero(s > least), s


# Symmetric matrices.

def _symmetric(x, uplo):
    uplo = str(uplo).upper()
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    square(x)
    half = np.tril(x, -1) if uplo == "L" else np.triu(x, 1)
    on_diagonal = np.where(np.eye(x.shape[-1], dtype=bool), x, np.float32(0))
    return half + _turned(half) + on_diagonal


def _eigen(a, uplo, name):
    """(values in rising order, vectors as columns): moved by more than the largest value, a matrix has the same vectors
    as singular ones."""
    x, scale = _scaled(_symmetric(_matrices(a, name), uplo))
    n = x.shape[-1]
    above = 1.25 * np.max(np.sum(np.abs(x), axis=-1, keepdims=True), axis=-2, keepdims=True)
    _, vectors = _rotated(x + above * np.eye(n, dtype=np.float32))
    vectors = _straight(vectors)
    values = np.sum(vectors * np.matmul(x, vectors), axis=-2)
    values, vectors = _ordered(values, vectors, descending=False)
    return values * scale[..., 0], vectors


@implements(np.linalg.eigh)
def eigh(a, UPLO="L"):
    return _result("EighResult", *_eigen(a, UPLO, "eigh"))


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    return _eigen(a, UPLO, "eigvalsh")[0]


# Polynomials through points.

@implements(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    order = operator.index(deg) + 1
    x, y = floating(x) + 0.0, floating(y) + 0.0
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1 or x.size == 0:
        raise TypeError("expected 1D vector for x" if x.ndim != 1 else "expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    rcond = x.shape[0] * _EPSILON if rcond is None else rcond
    left, right = np.vander(x, order), y
    if w is not None:
        w = floating(w) + 0.0
        left, right = left * w[:, None], right * (w if y.ndim == 1 else w[:, None])
    scale = np.sqrt(np.sum(np.square(left), axis=0))
    made, residuals, rank, s = lstsq(left / scale, right, rcond)
    made = made / (scale if y.ndim == 1 else scale[:, None])
    if full:
        return made, residuals, rank, s, rcond
    if cov is False:
        return made
    inner = left / scale
    base = inv(np.matmul(_turned(inner), inner)) / np.multiply.outer(scale, scale)
    factor = 1 if cov == "unscaled" else residuals / (x.shape[0] - order)
    if y.ndim == 1:
        return made, base * factor
    return made, base[:, :, None] * factor
