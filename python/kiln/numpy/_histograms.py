"""Histograms: how many elements lie in each bin. Bins are as many as the call says; their edges may be of the run."""

import builtins

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy._array import Array, as_array, known_of
from kiln.numpy._dispatch import implements
from kiln.numpy._rules import DYNAMIC_SHAPE, refuse


def _edges(x, bins, range, name):
    """The edges of one axis: those given, or evenly between the ends of the range or of the data."""
    if isinstance(bins, str):
        refuse(DYNAMIC_SHAPE, f"np.{name}(bins={bins!r})", "say how many bins, or pass their edges", kind=ValueError)
    given = as_array(bins)
    if given.ndim == 1:
        known = given._known()
        if known is not None and not np.all(known[:-1] <= known[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return given
    if given.ndim > 1:
        raise ValueError("`bins` must be 1d, when an array")
    if given._known() is None:
        refuse(DYNAMIC_SHAPE, f"np.{name} with a number of bins of the run", "say how many bins", kind=ValueError)
    if given.dtype.kind not in "iu":
        raise TypeError("`bins` must be an integer, a string, or an array")
    count = int(given._known())
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if range is not None:
        low, high = range
        if known_of(low) is not None and known_of(high) is not None and low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if any(known_of(end) is not None and not np.isfinite(known_of(end)) for end in (low, high)):
            raise ValueError(f"supplied range of [{low}, {high}] is not finite")
    else:
        low, high = (np.min(x), np.max(x)) if x.size else (0, 1)
    if known_of(low) is not None and known_of(high) is not None:
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        return as_array(np.linspace(low, high, count + 1))
    low, high = as_array(low).astype(np.float32), as_array(high).astype(np.float32)
    apart = np.where(low == high, np.float32(0.5), np.float32(0))
    return np.linspace(low - apart, high + apart, count + 1, dtype=np.float32)


def _inside(x, edges, is_even=False):
    """[element, bin]: whether it lies there; the last bin has its upper edge, too. is_even: the edges are so many,
    evenly between the ends of the data."""
    edges = edges.astype(np.float32)
    reached = x.astype(np.float32).reshape(-1, 1) >= edges[:-1]
    if is_even and x.size and x.dtype.kind in "iu":
        reached = _reached_exactly(x, edges.size - 1, reached)
    over = np.concatenate([reached[:, 1:], x.astype(np.float32).reshape(-1, 1) > edges[-1:]], axis=1)
    return reached & ~over


def _reached_exactly(x, count, nearly):
    """Which integers are at the lower edge of a bin or beyond it, without rounding while 32 bits hold the products."""
    x = x.astype(np.int32)
    low, high = np.min(x), np.max(x)
    exactly = (x - low).reshape(-1, 1) * count >= np.arange(count, dtype=np.int32) * (high - low)
    fits = (high.astype(np.float32) - low.astype(np.float32)) * count < 2.0**31
    return np.where(fits & (low < high), exactly, nearly)


_MANY = 1 << 15  # elements, from which on they are counted on all partitions
_PARTITIONS = 128


def _counts(x, edges):
    """How many lie in each bin: the difference of those that have reached its edge and those that have reached the
    next, which are sums of long lines."""
    edges, x = edges.astype(np.float32), x.astype(np.float32)
    over = -x.size % _PARTITIONS
    if over:
        x = np.concatenate([x, np.full(over, np.nan, np.float32)])  # reaches nothing
    lines = x.reshape(_PARTITIONS, 1, -1)

    def many(truth):
        return np.sum(np.sum(truth.astype(np.float32), axis=2).astype(np.int32), axis=0)

    reached, over = many(lines >= edges[:-1].reshape(-1, 1)), many(lines > edges[-1:].reshape(-1, 1))
    return reached - np.concatenate([reached[1:], over])


def _is_even(bins, range):
    return range is None and not np.iterable(bins)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    return _edges(as_array(a).reshape(-1), bins, range, "histogram_bin_edges")


@implements(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    x = as_array(a).reshape(-1)
    edges = _edges(x, bins, range, "histogram")
    if weights is None and x.size >= _MANY and not (_is_even(bins, range) and x.dtype.kind in "iu"):
        counts = _counts(x, edges)
    elif weights is None:
        counts = np.sum(_inside(x, edges, _is_even(bins, range)), axis=0)
    else:
        inside = _inside(x, edges, _is_even(bins, range))
        w = as_array(weights)
        if w.shape != as_array(a).shape:
            raise ValueError("weights should have the same shape as a.")
        dtype = _dtypes.narrow(w.dtype)
        counts = np.sum(np.where(inside, w.reshape(-1, 1), np.zeros(1, dtype)), axis=0, dtype=dtype)
    if density:
        counts = counts / np.diff(edges).astype(np.float32) / np.sum(counts)
    return counts, edges


@implements(np.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    if isinstance(sample, Array):
        columns = [sample[:, i] for i in builtins.range(sample.shape[1])] if sample.ndim > 1 else [sample]
    else:
        columns = [as_array(x) for x in sample]
        columns = columns if columns[0].ndim == 1 else [as_array(sample)[:, i] for i in builtins.range(columns[0].size)]
    rank = len(columns)
    bins = list(bins) if np.iterable(bins) and not isinstance(bins, str) else [bins] * rank
    if len(bins) != rank:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * rank if range is None else list(range)
    if len(ranges) != rank:
        raise ValueError("range argument must have one entry per dimension")
    edges = [_edges(x, b, r, "histogramdd") for x, b, r in zip(columns, bins, ranges)]
    made = None
    for x, e, b, r in zip(columns, edges, bins, ranges):  # products of 0 and 1, one dimension more with each
        one = _inside(x, e, _is_even(b, r)).astype(np.float32)
        made = one if made is None else made[..., None] * one.reshape(one.shape[0], *(1,) * (made.ndim - 1), -1)
    if weights is not None:
        made = made * as_array(weights).astype(np.float32).reshape(-1, *(1,) * rank)
    counts = np.sum(made, axis=0)
    if density:
        total = np.sum(counts)
        for i, e in enumerate(edges):
            counts = counts / np.diff(e).astype(np.float32).reshape([-1 if i == j else 1 for j in builtins.range(rank)])
        counts = counts / total
    return counts, tuple(edges)


@implements(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if as_array(x).shape != as_array(y).shape:
        raise ValueError("x and y must have the same length.")
    if np.iterable(bins) and not isinstance(bins, str):
        bins = [bins, bins] if len(bins) not in (1, 2) else [bins[0], bins[-1]]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
