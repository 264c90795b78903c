"""Products in a precision that the caller chooses, or the cheapest one that keeps a bound."""

import contextlib
import functools

import numpy as np

from kiln import tune
from kiln._kiln import blas as native

from . import _backend
from ._arrays import word
from ._native import NO_TRANS, ROWS, TRANS, Matrix, invoke, operand

PRECISIONS = ("fp32", "bf16", "bf16x3", "bf16x6")  # as Precision in kernels/blas/host/blas.h counts
_UNIT = 2.0 ** -24


def error_bound(precision, k):
    """The largest forward error of a product over k, relative to |op(A)| |op(B)|, element by element. 'fp64' is
    relative to the largest elements of row and column."""
    if word(precision, "precision", (*PRECISIONS, "fp64")) == "fp64":
        return k * 2.0 ** -42
    return native.product_error(PRECISIONS.index(precision)) + k * _UNIT


@functools.lru_cache(maxsize=1024)
def _predicted_ns(m, n, k, trans_a, trans_b, precision, target):
    return tune.predicted_ns(native.gemm_program(m, n, k, trans_a, trans_b, precision=PRECISIONS.index(precision),
                                                 target=target))


def _cheapest(m, n, k, ta, tb, wanted, rounding):
    """The precision that is predicted to be fastest among those within the wanted error; None when none is."""
    enough = [p for p in PRECISIONS if error_bound(p, k) + rounding <= wanted]
    target = native.get_target()
    return min(enough, default=None,
               key=lambda p: (_predicted_ns(m, n, k, ta != NO_TRANS, tb != NO_TRANS, p, target), PRECISIONS.index(p)))


def _chosen(form, m, n, k, ta, tb, precision, wanted):
    """(precision, bound) of a call."""
    is_double = form.letter == "d"
    rounding = 2 * _UNIT if is_double else 0.0  # of the operands
    if precision is not None:
        if wanted is not None:
            raise ValueError("target_forward_error: it chooses the precision, which is given too")
        known = (*PRECISIONS, "fp64") if is_double else PRECISIONS
        word(precision, "precision", known)
        return precision, error_bound(precision, k) + (0.0 if precision == "fp64" else rounding)
    if not isinstance(wanted, (int, float)) or not wanted > 0:
        raise ValueError(f"target_forward_error: {wanted!r}, expected a positive number")
    found = _cheapest(m, n, k, ta, tb, wanted, rounding)
    if found is not None:
        return found, error_bound(found, k) + rounding
    if is_double and error_bound("fp64", k) <= wanted:
        return "fp64", error_bound("fp64", k)
    least = error_bound("fp64" if is_double else "fp32", k)
    raise ValueError(f"target_forward_error: {wanted:g} is less than the {least:.2g} that can be promised for "
                     f"{k} products of {form.dtype}")


@contextlib.contextmanager
def products_in(form, precision, depth):
    """A with statement's worth of products over `depth` in a precision; None: as ever."""
    if precision is None:
        yield
        return
    word(precision, "precision", PRECISIONS)
    if form.letter != "s":
        raise TypeError(f"A: elements are {form.dtype}; precisions are for those that are computed in float32")
    with native.PrecisionScope(PRECISIONS.index(precision)):
        yield
    _backend.note_precision(precision, error_bound(precision, depth))


def gemm_by_precision(form, alpha, a, b, beta, out, ta, tb, precision, target_forward_error):
    """alpha op(a) op(b) + beta out, written to out."""
    if form.is_complex:
        raise TypeError(f"A: elements are {form.dtype}; precisions are for real ones")
    if (ta, tb) != (min(ta, TRANS), min(tb, TRANS)):  # of real matrices the conjugate is itself
        ta, tb = min(ta, TRANS), min(tb, TRANS)
    (m, n), k = out.shape, a.shape[1] if ta == NO_TRANS else a.shape[0]
    chosen, bound = _chosen(form, m, n, k, ta, tb, precision, target_forward_error)
    if out.size and chosen == "fp64":
        (am, ta), (bm, tb) = operand(a, ta), operand(b, tb)
        invoke(native.dgemm, ROWS, ta, tb, m, n, k, alpha, am, bm, beta, Matrix(out))
    elif out.size:
        single = [np.asarray(v, np.float32) for v in (a, b)]
        result = np.array(out, np.float32)
        (am, ta), (bm, tb) = operand(single[0], ta), operand(single[1], tb)
        invoke(native.sgemm_in, PRECISIONS.index(chosen), ROWS, ta, tb, m, n, k, alpha, am, bm, beta,
                        Matrix(result))
        out[...] = result
    _backend.note_precision(chosen, bound)
    return out
