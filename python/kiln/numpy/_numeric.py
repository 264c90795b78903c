"""NumPy's numerical functions that are made of others: differences, triangles, polynomials, windows, statistics."""

import math
import operator

import numpy as np

from kiln.numpy import _dtypes, _lenses
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, known_of
from kiln.numpy._axes import axes_of, axis_of
from kiln.numpy._dispatch import _kind, implements, write_out
from kiln.numpy._rules import ARGUMENT, DYNAMIC_SHAPE, refuse
from kiln.numpy._triangles import MANY


def _floating(x):
    x = as_array(x)
    return x if _dtypes.is_float(_dtypes.narrow(x.dtype)) else x.astype(np.float32)


# Rounding.

@implements(np.round, np.around)
def round_(a, decimals=0, out=None):
    x = as_array(a)
    if not _dtypes.is_float(_dtypes.narrow(x.dtype)):
        if x.dtype.kind == "b":
            made = x.astype(np.float16) if decimals == 0 else refuse(ARGUMENT, "np.round of bool with decimals")
        elif decimals >= 0:
            made = x.copy()
        else:
            made = _rounded(x, 10 ** -decimals)
    elif decimals == 0:
        made = np.rint(x)
    else:
        scale = float(10 ** abs(decimals))
        wide = x.astype(np.float32)
        made = np.rint(wide * scale) / scale if decimals > 0 else np.rint(wide / scale) * scale
        made = made.astype(x.dtype)
    return made if out is None else write_out(made, out, "round")


def _rounded(x, scale):
    """Integers to a multiple of the scale, halves to an even one."""
    if scale > 2 * _dtypes.finite_range(_dtypes.narrow(x.dtype))[1]:
        return np.zeros_like(x)
    wide = x if x.dtype.itemsize == 4 else x.astype(np.int32)
    whole = np.floor_divide(wide, scale)
    twice = (wide - whole * scale) * 2
    up = (twice > scale) | ((twice == scale) & (whole % 2 != 0))
    return ((whole + up.astype(wide.dtype)) * scale).astype(x.dtype)


@implements(np.fix)
def fix(x, out=None):
    made = np.trunc(as_array(x))
    return made if out is None else write_out(made, out, "fix")


@implements(np.sinc)
def sinc(x):
    return Array(ops.sinc(_floating(x)._get()))


@implements(np.angle)
def angle(z, deg=False):
    x = _floating(z)
    made = np.where(np.isnan(x), x, np.where(np.signbit(x), np.asarray(math.pi, x.dtype), np.asarray(0, x.dtype)))
    return made * (180 / math.pi) if deg else made


_I0_BELOW = (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
_I0_ABOVE = (
    0.39894228,
    0.01328592,
    0.00225319,
    -0.00157565,
    0.00916281,
    -0.02057706,
    0.02635537,
    -0.01647633,
    0.00392377,
)


@implements(np.i0)
def i0(x):
    """The modified Bessel function: polynomials 9.8.1 and 9.8.2 of Abramowitz and Stegun, below and above 3.75."""
    dtype = _floating(x).dtype
    x = np.abs(_floating(x).astype(np.float32))
    low = polyval(np.asarray(_I0_BELOW[::-1], np.float32), np.square(np.minimum(x, 3.75) / 3.75))
    large = np.maximum(x, 3.75)
    high = np.exp(large) / np.sqrt(large) * polyval(np.asarray(_I0_ABOVE[::-1], np.float32), 3.75 / large)
    return np.where(x <= 3.75, low, high).astype(dtype)


# Differences and integrals.

@implements(np.diff)
def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    x = as_array(a)
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = axis_of(axis, x.ndim)
    parts = [x]
    for extra, at in ((prepend, 0), (append, 1)):
        if extra is not np._NoValue:
            extra = as_array(extra)
            shape = tuple(1 if i == axis else m for i, m in enumerate(x.shape))
            extra = np.broadcast_to(extra, shape) if extra.ndim == 0 else extra
            parts.insert(0, extra) if at == 0 else parts.append(extra)
    x = np.concatenate(parts, axis=axis) if len(parts) > 1 else x
    before = (slice(None),) * axis
    op = np.not_equal if x.dtype.kind == "b" else np.subtract
    for _ in range(n):
        x = op(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x


@implements(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    x = as_array(ary).reshape(-1)
    parts = [diff(x)]
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        if end is not None and not np.can_cast(as_array(end).dtype, x.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    if to_begin is not None:
        parts.insert(0, as_array(to_begin).reshape(-1).astype(x.dtype))
    if to_end is not None:
        parts.append(as_array(to_end).reshape(-1).astype(x.dtype))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    x = _floating(f)
    axes = axes_of(axis, x.ndim) if not isinstance(axis, tuple) else [axis_of(a, x.ndim) for a in axis]
    steps = list(varargs) or [1.0]
    steps = steps * len(axes) if len(steps) == 1 and np.ndim(steps[0]) == 0 else steps
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    for h, i in zip(steps, axes):
        if np.ndim(h) > 1:
            raise ValueError("distances must be either scalars or 1d")
        if np.ndim(h) == 1 and len(h) != x.shape[i]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    made = []
    for h, i in zip(steps, axes):
        if x.shape[i] < edge_order + 1:
            raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
                             "elements are required.")
        made.append(_gradient(x, h, i, edge_order))
    return made[0] if len(made) == 1 else tuple(made)


def _gradient(x, h, axis, edge_order):
    y = np.moveaxis(x, axis, 0)
    tail = (1,) * (y.ndim - 1)
    if np.ndim(h) == 0:
        middle = (y[2:] - y[:-2]) / (2.0 * h)
        if edge_order == 1:
            first, last = (y[1:2] - y[:1]) / h, (y[-1:] - y[-2:-1]) / h
        else:
            first = (-1.5 * y[:1] + 2.0 * y[1:2] - 0.5 * y[2:3]) / h
            last = (0.5 * y[-3:-2] - 2.0 * y[-2:-1] + 1.5 * y[-1:]) / h
    else:
        d = np.diff(as_array(h).astype(np.float32)).reshape(-1, *tail)
        d1, d2 = d[:-1], d[1:]
        a, b, c = -d2 / (d1 * (d1 + d2)), (d2 - d1) / (d1 * d2), d1 / (d2 * (d1 + d2))
        middle = a * y[:-2] + b * y[1:-1] + c * y[2:]
        if edge_order == 1:
            first, last = (y[1:2] - y[:1]) / d[:1], (y[-1:] - y[-2:-1]) / d[-1:]
        else:
            p, q = d[:1], d[1:2]
            first = -(2 * p + q) / (p * (p + q)) * y[:1] + (p + q) / (p * q) * y[1:2] - p / (q * (p + q)) * y[2:3]
            p, q = d[-2:-1], d[-1:]
            last = q / (p * (p + q)) * y[-3:-2] - (q + p) / (p * q) * y[-2:-1] + (2 * q + p) / (q * (p + q)) * y[-1:]
    return np.moveaxis(np.concatenate([first, middle, last], axis=0), 0, axis)


@implements(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = _floating(y)
    axis = axis_of(axis, y.ndim)
    if x is None:
        d = dx
    else:
        x = as_array(x)
        d = (
            np.diff(x).reshape([-1 if i == axis else 1 for i in range(y.ndim)])
            if x.ndim == 1
            else np.diff(x, axis=axis)
        )
    before = (slice(None),) * axis
    return np.sum(d * (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) / 2.0, axis=axis)


_PIECES_AT_ONCE = 1 << 18


@implements(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = (as_array(v).astype(np.float32) for v in (x, xp, fp))
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(float(period)), None, None
        x, xp = np.remainder(x, period), np.remainder(xp, period)
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    if xp.ndim != 1 or fp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not xp.size:
        raise ValueError("array of sample points is empty")
    flat = x.reshape(-1, 1)
    if xp.size == 1:
        made = np.broadcast_to(fp, flat.shape[:1])
    else:
        x0, x1, f0, f1 = xp[:-1], xp[1:], fp[:-1], fp[1:]
        slope = np.where(x1 == x0, 0.0, (f1 - f0) / np.where(x1 == x0, 1.0, x1 - x0))
        at_once = x.size * xp.size < _PIECES_AT_ONCE  # every piece for every element, of which one counts
        inside = np.logical_and(flat >= x0, flat < x1) if at_once else None
        if not at_once:
            flat = x.reshape(-1)
            piece = np.clip(np.searchsorted(xp, flat, side="right") - 1, 0, xp.size - 2)
            x0, x1, f0, f1, slope = (np.take(v, piece) for v in (x0, x1, f0, f1, slope))
        value = f0 + slope * (flat - x0)
        if known_of(fp) is None or not np.all(np.isfinite(known_of(fp))):  # as NumPy avoids NaN where it can
            other = f1 + slope * (flat - x1)
            value = np.where(np.isnan(value), np.where(np.isnan(other) & (f0 == f1), f0, other), value)
            value = np.where(flat == x0, f0, value)
        made = np.sum(np.where(inside, value, 0.0), axis=1) if at_once else value
    flat = flat.reshape(-1)
    made = np.where(flat < xp[0], fp[0] if left is None else left, made)
    made = np.where(flat == xp[-1], fp[-1], np.where(flat > xp[-1], fp[-1] if right is None else right, made))
    return np.where(np.isnan(flat), flat, made).reshape(x.shape)


# Triangles and diagonals.

def _triangle(m, k, lower):
    x = as_array(m)
    if x.ndim < 1:
        raise ValueError("tril and triu need at least one dimension")
    if x.ndim == 1:
        x = np.broadcast_to(x, (x.shape[0], x.shape[0]))
    rows, columns = x.shape[-2:]
    last = operator.index(k) if lower else operator.index(k) - 1  # column of the lower part, in the first row
    if x.size == 0:
        return x.copy()
    if rows * columns < MANY or abs(last) >= 1 << 23:  # which float32 counts
        keep = np.tri(rows, columns, k=last, dtype=bool)
        keep = keep if lower else ~keep
    else:
        keep = Array(ops.triangle_mask((rows, columns), last, lower))
    return np.where(keep, x, np.zeros(1, _dtypes.narrow(x.dtype))).reshape(x.shape)


@implements(np.tril)
def tril(m, k=0):
    return _triangle(m, k, True)


@implements(np.triu)
def triu(m, k=0):
    return _triangle(m, k, False)


def _diagonal_node(node, offset, axis1, axis2):
    """The diagonal as the last axis: a strided slice of the rows, joined, where they are long enough."""
    rest = [i for i in range(node.ndim) if i not in (axis1, axis2)]
    x = ops.transpose(node, [*rest, axis1, axis2])
    rows, columns = x.shape[-2:]
    first_row, first_column = max(-offset, 0), max(offset, 0)
    n = max(min(rows - first_row, columns - first_column), 0)
    if n == 0:
        return ops.slices(ops.reshape(x, (*x.shape[:-2], rows * columns)), [0] * (x.ndim - 1),
                          [*x.shape[:-2], 0], [1] * (x.ndim - 1))
    flat = ops.reshape(x, (*x.shape[:-2], rows * columns))
    start = first_row * columns + first_column
    return ops.cut(flat, flat.ndim - 1, start, start + (n - 1) * (columns + 1) + 1, columns + 1)


@implements(np.diagonal, view=True)
def diagonal(a, offset=0, axis1=0, axis2=1):
    x = as_array(a)
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = operator.index(offset)
    shape = np.diagonal(
        np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), x.shape, (0,) * x.ndim), offset, i, j
    ).shape
    lens = _lenses.ReadOnly(lambda node: _diagonal_node(node, offset, i, j), lambda h: np.diagonal(h, offset, i, j))
    return x._view(lens, shape)


@implements(np.linalg.diagonal, view=True)
def linalg_diagonal(x, /, *, offset=0):
    return diagonal(x, offset, -2, -1)


@implements(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@implements(np.linalg.trace)
def linalg_trace(x, /, *, offset=0, dtype=None):
    return trace(x, offset, -2, -1, dtype)


@implements(np.diag)
def diag(v, k=0):
    x = as_array(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return _on_diagonal(x, operator.index(k))


def _on_diagonal(x, k):
    n = x.shape[0] + abs(k)
    column = np.pad(x, (max(-k, 0), max(k, 0)))
    return np.where(np.eye(n, k=k, dtype=bool), column.reshape(-1, 1), np.zeros(1, _dtypes.narrow(x.dtype)))


@implements(np.diagflat)
def diagflat(v, k=0):
    return _on_diagonal(as_array(v).reshape(-1), operator.index(k))


@implements(np.vander)
def vander(x, N=None, increasing=False):
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = len(x) if N is None else N
    x = x.astype(_dtypes.narrow(np.promote_types(x.dtype, np.int64)))
    columns, now = [], np.ones_like(x)
    for _ in range(n):
        columns.append(now)
        now = now * x
    made = np.stack(columns, axis=1) if columns else np.zeros((len(x), 0), x.dtype)
    return made if increasing else made[:, ::-1]


@implements(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return np.tril_indices(arr.shape[-2], k=k, m=arr.shape[-1])


@implements(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return np.triu_indices(arr.shape[-2], k=k, m=arr.shape[-1])


@implements(np.diag_indices_from)
def diag_indices_from(arr):
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0], arr.ndim)


# Grids and ranges.

@implements(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    arrays = [as_array(x) for x in xi]
    arrays = [a.reshape([-1 if j == i else 1 for j in range(n)]) for i, a in enumerate(arrays)]
    if indexing == "xy" and n > 1:
        arrays = [np.swapaxes(a, 0, 1) for a in arrays]
    if not sparse:
        arrays = list(np.broadcast_arrays(*arrays))
    return tuple(a.copy() if copy else a for a in arrays)


@implements(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    num = operator.index(num)
    a, b = as_array(start).astype(np.float32), as_array(stop).astype(np.float32)
    a, b = np.broadcast_arrays(a, b)
    count = num - 1 if endpoint else num
    step = Array(ops.settled(((b - a) / count)._get())) if count > 0 else None
    ramp = np.arange(num, dtype=np.float32).reshape([-1] + [1] * a.ndim)
    made = a + ramp * step if step is not None else np.broadcast_to(a, (num, *a.shape))
    if endpoint and num > 1:
        made = np.concatenate([made[:-1], np.expand_dims(b, 0)], axis=0)
    made = np.moveaxis(made, 0, axis) if axis != 0 else made
    if dtype is not None:
        made = np.floor(made).astype(dtype) if np.dtype(dtype).kind in "iu" else made.astype(dtype)
    return (made, step if step is not None else math.nan) if retstep else made


@implements(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    start, stop, base = np.broadcast_arrays(*(as_array(x).astype(np.float32) for x in (start, stop, base)))
    made = np.power(np.expand_dims(base, axis) if base.ndim else base, linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else made.astype(dtype)


@implements(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    a, b = as_array(start), as_array(stop)
    sign = np.sign(a).astype(np.float32)
    made = sign * logspace(np.log10(np.abs(a)), np.log10(np.abs(b)), num, endpoint, axis=axis)
    return made if dtype is None else made.astype(dtype)


@implements(np.arange)
def arange(*args, **kwargs):
    refuse(DYNAMIC_SHAPE, "np.arange with bounds that are known at run time alone",
           "make it with known bounds and add the start: start + np.arange(n)", kind=ValueError)


# Polynomials.

@implements(np.poly)
def poly(seq_of_zeros):
    roots = as_array(seq_of_zeros)
    if roots.ndim == 2:
        refuse(ARGUMENT, "np.poly of a matrix", "pass its eigenvalues: np.linalg.eigvalsh, if it is symmetric")
    if roots.ndim > 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    roots = _floating(roots.reshape(-1))
    made = np.ones(1, _dtypes.narrow(roots.dtype))
    for i in range(roots.size):
        made = np.concatenate([made, np.zeros(1, made.dtype)]) - np.concatenate(
            [np.zeros(1, made.dtype), made * roots[i]])
    return made


@implements(np.polyval)
def polyval(p, x):
    p, x = as_array(p), as_array(x)
    made = np.zeros_like(x)
    for i in range(p.shape[0]):
        made = made * x + p[i]
    return made


def _aligned(a1, a2, combine):
    x, y = np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2))
    n = max(len(x), len(y))
    x, y = (np.pad(v, (n - len(v), 0)) for v in (x, y))
    return combine(x, y)


@implements(np.polyadd)
def polyadd(a1, a2):
    return _aligned(a1, a2, np.add)


@implements(np.polysub)
def polysub(a1, a2):
    return _aligned(a1, a2, np.subtract)


@implements(np.polymul)
def polymul(a1, a2):
    return np.convolve(np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2)))


@implements(np.polyder)
def polyder(p, m=1):
    p = as_array(p)
    for _ in range(m):
        n = len(p) - 1
        p = p[:-1] * np.arange(n, 0, -1, dtype=np.int32)
    return p


@implements(np.polyint)
def polyint(p, m=1, k=None):
    p = as_array(p)
    constants = [0.0] * m if k is None else list(np.broadcast_to(np.atleast_1d(known_of(k)), (m,)))
    for c in constants:
        n = len(p)
        p = np.concatenate([p / np.arange(n, 0, -1, dtype=np.float32), np.asarray([c], np.float32)])
    return p


# Sums of products along a line.

@implements(np.convolve)
def convolve(a, v, mode="full"):
    x, y = np.atleast_1d(as_array(a)), np.atleast_1d(as_array(v))
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("object too deep for desired array")
    if len(y) > len(x):
        x, y = y, x
    if not len(y):
        raise ValueError("v cannot be empty")
    return _correlate(x, y[::-1], mode)


@implements(np.correlate)
def correlate(a, v, mode="valid"):
    x, y = np.atleast_1d(as_array(a)), np.atleast_1d(as_array(v))
    if len(y) > len(x):
        return _correlate(y, x, mode)[::-1]
    return _correlate(x, y, mode)


def _correlate(x, y, mode):
    """Windows of the longer one times the shorter one."""
    n, m = len(x), len(y)
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be 'full', 'same' or 'valid'")
    low = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    dtype = _dtypes.loop(np.multiply, (_kind(x), _kind(y)))[0]
    x, y = x.astype(dtype), y.astype(dtype)
    padded = np.pad(x, (low, max(count + m - 1 - low - n, 0)))
    total = None
    for i in range(m):
        part = padded[i:i + count] * y[i]
        total = part if total is None else total + part
    return total


# Statistics.

@implements(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    refuse(DYNAMIC_SHAPE, "np.bincount: its length depends on the largest value",
           "kiln.numpy.bincount(x, length, weights=None) has the length that you say", kind=ValueError)


bincount.refuses = "its shape depends on the values; kiln.numpy.bincount(x, length) has one"


@implements(np.digitize)
def digitize(x, bins, right=False):
    """Which of bins that rise or fall."""
    known, side = known_of(bins), "left" if right else "right"
    if known is None:
        rising = np.searchsorted(bins, x, side=side)
        return np.where(bins[0] > bins[-1], bins.size - np.searchsorted(bins[::-1], x, side=side), rising)
    if known.size > 1 and not (np.all(np.diff(known) >= 0) or np.all(np.diff(known) <= 0)):
        raise ValueError("bins must be monotonically increasing or decreasing")
    if known.size > 1 and known[0] > known[-1]:
        return known.size - np.searchsorted(known[::-1], x, side=side)
    return np.searchsorted(known, x, side=side)


@implements(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    p = as_array(p)
    of_integers = p.dtype.kind in "iub" and isinstance(period, (int, np.integer))
    if of_integers:
        p = p.astype(_dtypes.narrow(np.result_type(p.dtype, np.int32)))
    elif not _dtypes.is_float(_dtypes.narrow(p.dtype)):
        p = p.astype(np.float32)
    axis = axis_of(axis, p.ndim)
    d = np.diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    half, odd = divmod(period, 2) if of_integers else (period / 2, 0)
    steps = np.remainder(d + half, period) - half
    if not odd:  # an odd number of integers has no middle
        steps = np.where(np.logical_and(steps == -half, d > 0), half, steps)
    correct = np.where(np.abs(d) < discont, np.zeros((), p.dtype), steps - d)
    before = (slice(None),) * axis
    return np.concatenate([p[(*before, slice(0, 1))], p[(*before, slice(1, None))] + np.cumsum(correct, axis=axis)],
                          axis=axis).astype(p.dtype)


@implements(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    x = np.moveaxis(as_array(arr), axis, -1)
    lead = x.shape[:-1]
    flat = x.reshape(-1, x.shape[-1])
    rows = [as_array(func1d(flat[i], *args, **kwargs)) for i in range(flat.shape[0])]
    if not rows:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = np.stack(rows)
    made = made.reshape(lead + made.shape[1:])
    extra = made.ndim - len(lead)
    return np.moveaxis(made, list(range(len(lead), made.ndim)),
                       list(range(axis_of(axis, arr.ndim), axis_of(axis, arr.ndim) + extra))) if extra else made


@implements(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    x = as_array(a)
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        made = func(x, axis)
        x = made if made.ndim == x.ndim else np.expand_dims(made, axis_of(axis, x.ndim))
    return x


@implements(np.insert)
def insert(arr, obj, values, axis=None):
    x = as_array(arr)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    where = known_of(obj) if not isinstance(obj, slice) else np.arange(*obj.indices(n))
    if where is None:
        refuse(DYNAMIC_SHAPE, "np.insert at positions that are known at run time alone", kind=ValueError)
    if where.dtype.kind == "b":
        where = np.flatnonzero(where)
    at = np.atleast_1d(where)
    if np.any(at < -n) or np.any(at > n):
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {n}")
    at = np.where(at < 0, at + n, at)
    order = np.argsort(at, kind="stable")
    values, count = as_array(values).astype(x.dtype), len(at)
    if count == 1:  # as many as there are values, which lie along the first axis for a number
        values = values.reshape((1,) * (x.ndim - values.ndim) + values.shape)
        values = np.moveaxis(values, 0, axis) if np.ndim(where) == 0 else values
        count = values.shape[axis]
    shape = tuple(count if i == axis else m for i, m in enumerate(x.shape))
    values = np.broadcast_to(values, shape)
    before = (slice(None),) * axis
    parts, last = [], 0
    if len(at) == 1:
        parts = [x[(*before, slice(0, int(at[0])))], values, x[(*before, slice(int(at[0]), None))]]
    else:
        for i in order:
            parts += [x[(*before, slice(last, int(at[i])))], values[(*before, slice(int(i), int(i) + 1))]]
            last = int(at[i])
        parts.append(x[(*before, slice(last, None))])
    return np.concatenate(parts, axis=axis)


@implements(np.delete)
def delete(arr, obj, axis=None):
    x = as_array(arr)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    gone = np.arange(n)[obj] if isinstance(obj, slice) else known_of(obj)
    if gone is None:
        refuse(DYNAMIC_SHAPE, "np.delete at positions that are known at run time alone", kind=ValueError)
    keep = np.ones(n, bool)
    keep[gone if gone.dtype.kind == "b" or gone.size else gone.astype(int)] = False
    if isinstance(obj, slice) or np.size(gone) == 1:
        made = np.compress(keep, x, axis=axis)
        return np.copy(made, order="F") if x.flags.fnc else made
    return x[(slice(None),) * axis + (np.flatnonzero(keep),)]
