"""softmax, rms_norm, dropout."""

import numbers

from kiln._trace import rules
from kiln._trace.errors import refuse
from kiln.nki import isa as nisa
from kiln.nki.language import _elementwise, _movement, _reductions, _tiles
from kiln.nki.language._tokens import token

__all__ = ["dropout", "rms_norm", "softmax"]


def softmax(x, axis=-1, dtype=None):
    """exp(x - max) / sum(exp(x - max)) over the last dimensions of x."""
    count = _reductions.suffix("softmax", x, axis)
    dst = _tiles.like(x, dtype)
    weights = _tiles.scratch(x.shape, "float32")
    stat = _tiles.scratch(_reductions.reduced_shape(x.shape, count, True), "float32")
    _reductions.reduce_into(stat, "maximum", x, count)
    nisa.tensor_tensor(weights, x, _reductions.stretched(stat, x.shape), token("subtract"))
    nisa.activation(weights, token("exp"), weights)
    _reductions.reduce_into(stat, "add", weights, count)
    nisa.reciprocal(stat, stat)
    nisa.tensor_tensor(dst, weights, _reductions.stretched(stat, x.shape), token("multiply"))
    return dst


def rms_norm(x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None):
    """x / sqrt(sum(x^2) / n + epsilon) * w, the sum over the last dimensions of x."""
    count = _reductions.suffix("rms_norm", x, axis)
    _tiles.require_number_or_tile("rms_norm", w)
    if not isinstance(n, numbers.Real) or n <= 0:
        refuse(rules.ARGUMENT_KIND, f"n={n!r} of nl.rms_norm",
               "pass how many elements the mean is taken over, e.g. x.shape[1]")
    work = _tiles.scratch(x.shape, compute_dtype or "float32")
    stat = _tiles.scratch(_reductions.reduced_shape(x.shape, count, True), "float32")
    nisa.activation(work, token("square"), x)
    _reductions.reduce_into(stat, "add", work, count)
    nisa.tensor_scalar(stat, stat, token("multiply"), 1.0 / n, op1=token("add"), operand1=epsilon)
    nisa.tensor_scalar(stat, stat, token("rsqrt"), 0.0)
    nisa.tensor_tensor(work, x, _reductions.stretched(stat, x.shape), token("multiply"))
    return _elementwise.binary("multiply", work, w, dtype or x.dtype)


def dropout(x, rate, dtype=None):
    """x with elements zeroed with probability rate, a number or a (P, 1) tile; the others stay as they are."""
    _tiles.require_tile("dropout", x)
    _tiles.require_number_or_tile("dropout", rate)
    dst = _tiles.like(x)
    nisa.dropout(dst, x, rate)
    return _movement.cast(dst, dtype)
