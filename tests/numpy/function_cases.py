"""At least one call for every function that docs/numpy.md says is there: name -> [(function, arguments), ...]."""

import collections
import functools

import numpy as np

from against_numpy import sample

G, P = sample(np.float32, (6, 8), 1, False), np.abs(sample(np.float32, (6, 8), 2, False)) + np.float32(0.1)
F, H = sample(np.float32, (6, 8), 3), sample(np.float16, (6, 8), 4, False)
N, U, B = sample(np.int32, (6, 8), 5), sample(np.uint8, (6, 8), 6), sample(np.bool_, (6, 8), 7)
V, W = sample(np.float32, (9,), 8, False), sample(np.float32, (4,), 9, False)
S, T = sample(np.float32, (5, 5), 10, False), sample(np.float32, (2, 3, 4), 11, False)
S = S + 6 * np.eye(5, dtype=np.float32)
E0, E1 = np.zeros((0, 4), np.float32), np.zeros((3, 0), np.float32)
J, K = np.array([2, 0, -1], np.int32), np.array([[1], [0], [-1], [2], [3], [4]], np.int32)
X3, Y3 = sample(np.float32, (5, 3), 12, False), sample(np.float32, (5, 3), 13, False)
RISING = np.cumsum(np.abs(V) + 0.1).astype(np.float32)
CASES = collections.defaultdict(list)


def case(names, function, *arguments):
    for name in names.split():
        CASES[name if "." in name else f"numpy.{name}"].append((function, arguments))


def calls(name, function, *arguments):
    """A function that gets that of NumPy first."""
    CASES[f"numpy.{name}"].append((functools.partial(function, getattr(np, name)), arguments))


def each(names, *arguments):
    """The function itself of these arguments."""
    for name in names.split():
        module, _, plain = name.rpartition(".")
        f = getattr(np.linalg if module else np, plain)
        CASES[f"numpy.{name}"].append((lambda *a, f=f: f(*a), arguments))


# Reductions.
_SUMS = "sum prod mean var std nansum nanprod nanmean nanvar nanstd"
_PICKS = "max min amax amin argmax argmin nanmax nanmin nanargmax nanargmin ptp"
for _names, _arrays in ((_SUMS, (G, N, U, B, H)), (_PICKS, (G, N, U, H)), ("any all count_nonzero", (G, N, B)),
                        ("cumsum cumprod nancumsum nancumprod", (G, N, B)), ("median nanmedian", (G, N))):
    for _name in _names.split():
        for _x in _arrays:
            for _axis in (None, 0, -1):
                calls(_name, lambda f, x, axis=_axis: f(x, axis=axis), _x)
for _name in "sum mean var std max min any all nansum nanmean nanmax prod argmax count_nonzero median".split():
    calls(_name, lambda f, x: f(x, axis=1, keepdims=True), G)
for _name in "sum mean prod any all".split():
    calls(_name, lambda f, x: f(x, axis=0), E0)
    calls(_name, lambda f, x: f(x, axis=1), E0)
    calls(_name, lambda f, x, m: f(x, axis=1, where=m), G, B)
for _name in "max min argmax".split():
    calls(_name, lambda f, x: f(x, axis=0), E0)
    calls(_name, lambda f, x: f(x, axis=0), F)
case("max", lambda x, m: np.max(x, axis=1, where=m, initial=-3), G, B)
case("min", lambda x: np.min(x, initial=0.5), G)
case("sum", lambda x: np.sum(x, axis=0, initial=3, dtype=np.float32), N)
case("sum", lambda x: np.sum(x, axis=(0, -1), keepdims=True), T)
case("sum", lambda x: x.sum(axis=(0, 2)), T)
case("var", lambda x: np.var(x, axis=0, ddof=1), G)
case("var", lambda x: np.var(x, axis=0, correction=1), G)
case("var std", lambda x, m: np.var(x, axis=0, where=m), G, B)
case("std", lambda x: np.std(x, ddof=2), G)
case("average", lambda x: np.average(x, axis=0), G)
case("average", lambda x, w: np.average(x, axis=1, weights=w), G, P)
case("average", lambda x, w: np.average(x, axis=1, weights=w, returned=True), G[:, :4], np.abs(W))
case("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), G)
case("cumulative_prod", lambda x: np.cumulative_prod(x, axis=0), G)

# Shapes.
each("ndim shape size transpose ravel squeeze copy", T)
case("reshape", lambda x: np.reshape(x, (4, -1)), G)
case("reshape", lambda x: np.reshape(x, (4, -1), order="F"), G)
case("reshape", lambda x: x.reshape(4, 0, 3), E0)
case("ravel", lambda x: x.ravel(order="F"), G)
case("permute_dims transpose", lambda x: np.transpose(x, (2, 0, 1)), T)
case("matrix_transpose numpy.linalg.matrix_transpose", lambda x: np.linalg.matrix_transpose(x), T)
case("swapaxes", lambda x: np.swapaxes(x, 0, -1), T)
case("moveaxis", lambda x: np.moveaxis(x, [0, 1], [-1, 0]), T)
case("rollaxis", lambda x: np.rollaxis(x, 2, 1), T)
case("expand_dims", lambda x: np.expand_dims(x, (0, -1)), G)
case("squeeze", lambda x: np.squeeze(x[:, None], axis=1), G)
case("atleast_1d atleast_2d atleast_3d", lambda x: (np.atleast_1d(x.sum()), np.atleast_2d(x), np.atleast_3d(x)), V)
case("broadcast_to", lambda x: np.broadcast_to(x, (3, 9)), V)
case("broadcast_arrays", lambda x, y: np.broadcast_arrays(x[:, None], y), V, W)
case("astype", lambda x: np.astype(x, np.int32), G)
case("astype", lambda x: (x.astype(np.int8), x.astype(bool), x.astype(np.float16)), N)
case("concatenate concat", lambda x, y: np.concatenate([x, y], axis=-1), G, N)
case("concatenate", lambda x, y: np.concatenate([x, y[:0]]), G, G)
case("concatenate", lambda x, y: np.concatenate((x, y), axis=None), G, V)
case("stack", lambda x, y: np.stack([x, y], axis=1), G, P)
if hasattr(np, "row_stack"):
    case("row_stack", lambda x, y: np.row_stack([x, y]), G, P)
case("vstack hstack dstack", lambda x, y: (np.vstack([x, y]), np.hstack([x, y]), np.dstack([x, y])), G, P)
case("column_stack", lambda x, y: np.column_stack((x, y)), V, V)
case("block", lambda x, y: np.block([[x, y], [y, x]]), G, P)
case("append", lambda x, y: (np.append(x, y), np.append(x, y, axis=0)), G, P)
case("split", lambda x: np.split(x, 2, axis=1), G)
case("split array_split", lambda x: np.array_split(x, 4), V)
case("hsplit", lambda x: np.hsplit(x, [2, 5]), G)
case("vsplit dsplit", lambda x: (np.vsplit(x, [1]), np.dsplit(x, 2)), T)
case("unstack", lambda x: np.unstack(x, axis=1), G)
case("flip", lambda x: (np.flip(x), np.flip(x, 0), np.flip(x, (0, 1))), G)
each("fliplr flipud rot90", G)
case("rot90", lambda x: (np.rot90(x, 2), np.rot90(x, 3), np.rot90(x, -1)), G)
case("roll", lambda x: (np.roll(x, 3), np.roll(x, (-2, 3), (0, 1)), np.roll(x, 1, axis=0)), G)
case("repeat", lambda x: (np.repeat(x, 2), np.repeat(x, 3, axis=1), np.repeat(x, [1, 0, 2, 1, 1, 3], axis=0)), G)
case("tile", lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3))), G)
case("resize", lambda x: (np.resize(x, (5, 4)), np.resize(x, 100)), G)
case("pad", lambda x: (np.pad(x, 1), np.pad(x, ((1, 2), (0, 3)), constant_values=7)), G)
case("pad", lambda x: np.pad(x, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))), G)
case("pad", lambda x: tuple(np.pad(x, 2, mode=m) for m in ("edge", "reflect", "symmetric", "wrap", "maximum", "minimum",
                                                           "mean")), G)
case("pad", lambda x: np.pad(x, 1), B)
for _mode in ("maximum", "mean", "median"):
    case("pad", lambda x, mode=_mode: np.pad(x, 2, mode, stat_length=((1, 2), (3, 40))), N)
case("pad", lambda x: (np.pad(x, 3, mode="linear_ramp", end_values=2), np.pad(x, ((4, 0), (1, 2)), "linear_ramp")), G)
case("pad", lambda x: tuple(np.pad(x, 9, mode=m, reflect_type="odd") for m in ("reflect", "symmetric")), N)
case("pad", lambda x, y: np.pad(x, 1, constant_values=y[0]), G, V)
case("zeros_like ones_like", lambda x: (np.zeros_like(x) + x, np.ones_like(x, dtype=np.int32) * x), N)
case("empty_like full_like", lambda x: (np.empty_like(x) * 0 + x if x.size == 0 else x, np.full_like(x, 3) + x), N)
case("real imag", lambda x: (np.real(x), np.imag(x)), G)

# Making arrays.
case("zeros ones empty full", lambda x: (np.zeros((6, 8), np.float32) + x, np.ones(8, np.float32) * x,
                                         np.full((1, 8), 2, np.float32) * x, np.empty((6, 8), np.float32) * 0 + x
                                         if False else x), G)
case("arange linspace logspace geomspace", lambda x: (
    x * np.arange(8), x + np.linspace(0, 1, 8), x * np.logspace(0, 1, 8), x * np.geomspace(1, 9, 8)), G)
case("eye identity tri", lambda x: (x @ np.eye(5), x @ np.identity(5), x * np.tri(5)), S)
case("array asarray asanyarray", lambda x: (np.array([x, x + 1]), np.asarray(x), np.asanyarray([x[0], x[1]])), G)
case("ascontiguousarray asfortranarray require asarray_chkfinite", lambda x: (
    np.ascontiguousarray(x.T), np.asfortranarray(x), np.require(x), np.asarray_chkfinite(np.ones(8)) * x), G)
case("indices fromfunction", lambda x: (x * np.indices((6, 8))[0], x + np.fromfunction(lambda i, j: i + j, (6, 8))), G)
case("hanning hamming bartlett blackman kaiser", lambda x: (
    x * np.hanning(8), x * np.hamming(8), x * np.bartlett(8), x * np.blackman(8), x * np.kaiser(8, 3.0)), G)
case("tril_indices triu_indices diag_indices mask_indices", lambda x: (
    x[np.tril_indices(5)], x[np.triu_indices(5, 1)], x[np.diag_indices(5)], x[np.mask_indices(5, np.triu)]), S)
case("tril_indices_from triu_indices_from diag_indices_from", lambda x: (
    x[np.tril_indices_from(x)], x[np.triu_indices_from(x)], x[np.diag_indices_from(x)]), S)
case("frombuffer fromiter", lambda x: (x + np.frombuffer(b"\x01\x02\x03\x04\x05\x06\x07\x08", np.uint8),
                                       x * np.fromiter(range(8), np.float32)), G)
case("linspace", lambda x: np.linspace(x[0], x[1], 5), V)
case("logspace geomspace", lambda x: (np.logspace(x[0], x[1], 4), np.geomspace(x[2], x[3], 4)), np.abs(V) / 3 + 0.1)
case("meshgrid", lambda x, y: (np.meshgrid(x, y), np.meshgrid(x, y, indexing="ij", sparse=True)), V, W)

# Choosing.
case(
    "where", lambda c, x, y: (np.where(c, x, y), np.where(c, x, 0), np.where(c, 1.0, -1.0), np.where(c, 2, y)), B, G, N
)
case("clip", lambda x: (np.clip(x, -1, 1), x.clip(max=2), np.clip(x, None, 0.5)), F)
case("clip", lambda x: np.clip(x, -10, None), N)
case("select", lambda x: np.select([x > 1, x < 0], [x, x * 2], -5.0), G)
case("piecewise", lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda a: -a, lambda a: a * 2]), G)
case("choose", lambda i, x: np.choose(i % 3, [x, x + 1, x * 2]), U.astype(np.int32), G)
case("take", lambda x: (np.take(x, [1, -1, 0], axis=1), np.take(x, [[0, 1], [2, 3]])), G)
case("take", lambda x, j: (np.take(x, j, axis=0), np.take(x, j, axis=1), x.take(j)), G, J)
case("take", lambda x, j: (np.take(x, j * 40, mode="clip"), np.take(x, j * 40, mode="wrap")), G, J)
case("take_along_axis", lambda x, k: np.take_along_axis(x, k, axis=1), G, K)
case("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(x, axis=0), axis=0), G)
case("put_along_axis", lambda x, k: (np.put_along_axis(x, k, 9, axis=1), x)[1], G, K)
case("put", lambda x: (np.put(x, [1, 5], [7, 8]), x)[1], G)
case("putmask", lambda x: (np.putmask(x, x < 0, [1.0, 2.0]), x)[1], G)
case("place", lambda x, m: (np.place(x, m, 3.0), x)[1], G, B)
case("copyto", lambda x, m: (np.copyto(x, 3, where=m), x)[1], G, B)
case("fill_diagonal", lambda x: (np.fill_diagonal(x, 7), x)[1], S)
case(
    "compress extract",
    lambda x: (np.compress([True, False, True], x, axis=0), np.extract(np.eye(6, 8, dtype=bool), x)),
    G,
)
case("isclose allclose", lambda x, y: (np.isclose(x, y), np.isclose(x, x, equal_nan=True), np.allclose(y, y)), F, G)
case(
    "array_equal array_equiv", lambda x, y: (np.array_equal(x, x), np.array_equal(x, y), np.array_equiv(x, x[:1])), G, P
)
each("isposinf isneginf isreal iscomplex nan_to_num real_if_close", F)
case("nan_to_num", lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0), F)
case("isrealobj iscomplexobj", lambda x: x * np.isrealobj(x) + np.iscomplexobj(x), G)
case("isin", lambda x: (np.isin(x, [1, 2, 3]), np.isin(x, [5], invert=True)), N)
case(
    "result_type can_cast common_type min_scalar_type",
    lambda x: (
        x.astype(np.result_type(x, np.float16))
        + np.can_cast(x.dtype, np.float32)
        + np.common_type(x)(1)
        + np.min_scalar_type(x).itemsize
    ),
    G,
)
case("shares_memory may_share_memory", lambda x: x + np.shares_memory(x, x[1:]) + np.may_share_memory(x, x + 1), G)
case("ravel_multi_index", lambda i, j: np.ravel_multi_index((i % 6, j % 8), (6, 8)), np.abs(N), np.abs(N))
case("unravel_index", lambda x: np.unravel_index(np.argmax(x), x.shape), G)
case("ix_", lambda x, j: x[np.ix_(j, [0, 1])], G, J)
case("insert", lambda x: (np.insert(x, 1, 5.0), np.insert(x, [1, 3], 7.0)), V)
case("insert", lambda x: np.insert(x, [1, 3], 7.0, axis=1), G)
case("delete", lambda x: (np.delete(x, [1, 3], axis=1), np.delete(x, 2), np.delete(x, slice(0, 4, 2), axis=0)), G)

# Numbers.
each("round around fix i0 sinc angle", G)
case("round", lambda x: (np.round(x, 2), np.round(x, -1)), G)
each("diff ediff1d unwrap", V)
case("diff", lambda x: np.diff(x, 2, axis=0, prepend=0), G)
case("gradient", lambda x: (np.gradient(x), np.gradient(x, 0.5, axis=1, edge_order=2)), G)
case("gradient", lambda x, y: np.gradient(x, y), V, RISING)
case("trapezoid", lambda x, y: (np.trapezoid(x), np.trapezoid(x, y), np.trapezoid(x, dx=0.5)), V, RISING)
case("interp", lambda x, p, f: (np.interp(x, p, f), np.interp(x, p, f, left=-1, right=9)), G, RISING, V)
case("tril triu", lambda x: (np.tril(x), np.triu(x, 1), np.tril(x, -1)), G)
case("diag diagflat diagonal", lambda x: (np.diag(x), np.diag(x, -2), np.diagflat(x), np.diagonal(x, 1)), S)
case("diag", lambda x: (np.diag(x), np.diag(x, 2), np.diag(x, -1)), V)
case("diagonal numpy.linalg.diagonal", lambda x: (np.diagonal(x, 1, 1, 2), np.linalg.diagonal(x)), T)
case("trace numpy.linalg.trace", lambda x: (np.trace(x), np.trace(x, 1), np.linalg.trace(x)), S)
case("vander", lambda x: (np.vander(x, 4), np.vander(x, 3, increasing=True)), V)
case("polyval", np.polyval, W, G)
case("polyadd polysub polymul", lambda p, q: (np.polyadd(p, q), np.polysub(p, q), np.polymul(p, q)), W, V)
case("polyder polyint", lambda p: (np.polyder(p), np.polyder(p, 2), np.polyint(p)), V)
case("convolve", lambda x, y: tuple(np.convolve(x, y, m) for m in ("full", "same", "valid")), V, W)
case("correlate", lambda x, y: tuple(np.correlate(x, y, m) for m in ("full", "same", "valid")), V, W)
each("cov corrcoef", G)
case("cov", lambda x, y: np.cov(x, y, bias=True), V, V[::-1].copy())
for _right in (False, True):
    case("digitize", lambda x, r=_right: (np.digitize(x, [-1.0, 0.0, 1.0], right=r),
                                          np.digitize(x, [1.0, 0.0, -1.0], right=r)), np.rint(G))
    case("digitize", lambda x, b, r=_right: (np.digitize(x, b, right=r), np.digitize(x, b[::-1], right=r)), np.rint(G),
         np.array([-2, -1, 0, 3], np.float32))
case("histogram", lambda x: (np.histogram(x), np.histogram(x, 4, density=True), np.histogram(x, 3, weights=x)), G)
case("histogram", lambda x: (np.histogram(x, 7), np.histogram(x[:0], 3), np.histogram(x * 0 + 2, 3)), N)
for _bins in (7, 10, 49):  # integers on edges
    case("histogram", lambda x, n=_bins: np.histogram(x, n)[0], np.arange(-49, 50, dtype=np.int32) // 2)
    case("histogram", lambda x, n=_bins: np.histogram(x, n)[0], np.arange(0, 196, 4, dtype=np.uint8))
INFINITE = G.copy()
INFINITE[1, 2], INFINITE[2, 0], INFINITE[3, :2], INFINITE[4] = np.inf, -np.inf, np.inf, -np.inf
for _method in ("linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased",
                "interpolated_inverted_cdf", "averaged_inverted_cdf", "closest_observation", "inverted_cdf"):
    case("quantile", lambda x, m=_method: np.quantile(x, [0, 0.1, 0.3, 0.5, 0.77, 1], axis=1, method=m), INFINITE)
case("median", lambda x: np.median(x, axis=1), INFINITE)
case("nanquantile", lambda x: np.nanquantile(x, [0, 0.2, 0.9], axis=1), INFINITE)
case("interp", lambda x, p, f: np.interp(x, p, f), np.array([-1, 0, 0.5, np.nan, np.inf, 1, 1.5, 2, 3], np.float32),
     np.array([0, 1, 2], np.float32), np.array([np.inf, 1, np.nan], np.float32))
case("histogram_bin_edges", lambda x: (np.histogram_bin_edges(x), np.histogram_bin_edges(x, 3, (-2, 5))), G)
case("histogram2d", lambda x, y: (np.histogram2d(x[0], y[0]), np.histogram2d(x[0], y[0], [3, 4], [[-2, 2], [0, 3]]),
                                  np.histogram2d(x[0], y[0], [-3, 0, 1, 4], weights=y[1])), G, P)
case("histogramdd", lambda x: (np.histogramdd(x[:, :3], (2, 3, 2)), np.histogramdd((x[0], x[1]), 3, density=True)), G)
case("histogram", lambda x: (np.histogram(x, bins=5, range=(-3, 3)), np.histogram(x, bins=[-2.0, 0.0, 1.0])), G)
case("apply_along_axis", lambda x: np.apply_along_axis(lambda r: r * r.sum(), 1, x), G)
case("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 2]), T)

# Order.
case("sort", lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None)), F)
case("sort", lambda x: np.sort(x, axis=0), N)
case("argsort", lambda x: (np.argsort(x, kind="stable"), np.argsort(x, axis=0, kind="stable")), N)
case("lexsort", lambda x, y: np.lexsort((x, np.round(y))), V, V[::-1].copy())
case("partition", lambda x: np.partition(x, 2, axis=1)[:, 2], G)
case("argpartition", lambda x: np.take_along_axis(x, np.argpartition(x, 2, axis=1), axis=1)[:, 2], G)
case("searchsorted", lambda x, y: (np.searchsorted(np.sort(x), y), np.searchsorted(np.sort(x), y, side="right")), V, G)
case("quantile percentile", lambda x: (np.quantile(x, 0.3), np.percentile(x, [10, 50, 90], axis=1), np.quantile(
    x, [0.2, 0.9], axis=0, method="nearest", keepdims=True)), G)
case("median", lambda x: np.median(x, axis=1), F)
case("nanmedian", lambda x: np.nanmedian(x, axis=1), F)
case("nanquantile", lambda x: (np.nanquantile(x, 0.3), np.nanquantile(x, [0, 0.5, 1], axis=0, keepdims=True)), F)
case("nanpercentile", lambda x: (np.nanpercentile(x, 30, axis=1), np.nanpercentile(x, [10, 90], axis=(0, 1))), F)

# Products.
case("dot", lambda x, y: np.dot(x, y.T), G, P)
case("dot", np.dot, T, sample(np.float32, (5, 4, 2), 20, False))
each("inner", G, P)
each("outer vdot linalg.outer linalg.vecdot", V, V[::-1].copy())
case("tensordot numpy.linalg.tensordot", lambda x, y: (np.tensordot(x, y, axes=([0, 2], [0, 2])),
                                                       np.linalg.tensordot(x, y.T, axes=1)), T, T)
each("kron", S, W.reshape(2, 2))
each("cross linalg.cross", X3, Y3)
case("cross", lambda x, y: (np.cross(x[:, :2], y), np.cross(x[:, 1:], y[:, :2])), X3, Y3)
case("einsum_path", lambda x, y: np.einsum_path("ij,kj->ik", x, y)[0][1:], G, P)
case("numpy.linalg.matmul", lambda x, y: np.linalg.matmul(x, y.T), G, P)
for _formula, _args in (("ij,kj->ik", (G, P)), ("ii", (S,)), ("ijk->kji", (T,)), ("bij,bkj->bik", (T, T)),
                        ("...j,...j->...", (T, T)), ("ij,jk,kl", (S, S, S)), ("i,j->ij", (V, W)), ("ii->i", (S,)),
                        ("ij->", (G,)), ("ij,ij->j", (G, P)), ("abc,cd->abd", (T, W.reshape(4, 1)))):
    case("einsum", lambda *a, f=_formula: np.einsum(f, *a), *_args)
case("einsum", lambda x, y: np.einsum(x, [0, 1], y, [2, 1], [0, 2]), G, P)

# numpy.linalg.
case("numpy.linalg.norm", lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=1, keepdims=True), np.linalg.norm(
    x, ord=3, axis=0), np.linalg.norm(x, np.inf), np.linalg.norm(x, 1), np.linalg.norm(x[0], 0)), G)
case("numpy.linalg.vector_norm numpy.linalg.matrix_norm", lambda x: (
    np.linalg.vector_norm(x, axis=1), np.linalg.vector_norm(x, ord=1), np.linalg.matrix_norm(x)), G)
each("linalg.det linalg.inv linalg.slogdet", S)
case("numpy.linalg.norm numpy.linalg.svdvals", lambda x: (
    np.linalg.norm(x, 2), np.linalg.norm(x, "nuc"), np.linalg.norm(x, -2, axis=(0, 1), keepdims=True),
    np.linalg.svdvals(x)), G)
case("numpy.linalg.svd", lambda x: (np.linalg.svd(x, compute_uv=False), np.linalg.svd(x + x.T, hermitian=True).S), S)
case("numpy.linalg.eigh numpy.linalg.eigvalsh", lambda x: (np.linalg.eigh(x).eigenvalues,
                                                           np.linalg.eigvalsh(x, "U")), S)
case("numpy.linalg.qr", lambda x: (np.linalg.qr(x), np.linalg.qr(x.T), np.linalg.qr(x, "r"),
                                   np.linalg.qr(x.T, "complete")[1]), G)
case("numpy.linalg.cond", lambda x: (np.linalg.cond(x), np.linalg.cond(x, 1), np.linalg.cond(x, -2)), S)
case("numpy.linalg.matrix_rank", lambda x: (np.linalg.matrix_rank(x), np.linalg.matrix_rank(np.outer(x[0], x[1])),
                                            np.linalg.matrix_rank(x[0]), np.linalg.matrix_rank(x, tol=7.0)), S)
case("numpy.linalg.pinv", lambda x: (np.linalg.pinv(x), np.linalg.pinv(x.T, rtol=1e-3)), G)
case("numpy.linalg.lstsq", lambda x, y: (np.linalg.lstsq(x.T, y.T), np.linalg.lstsq(x, y[:, 0])), G, P)
case("polyfit", lambda x, y: (np.polyfit(x, y, 2), np.polyfit(x, y, 1, w=y, full=True), np.polyfit(x, y, 1, cov=True)),
     RISING, V)
case("poly", lambda x: np.poly(x), W)
case("round", lambda x: (np.round(x, -1), np.round(x * 12345677, -2), np.round(x, -9), np.round(x, -12)), N)
case("interp", lambda x, y: np.interp(x, y[::-1], y, period=2.5), G, V)
case("cov", lambda x, w: (np.cov(x[:, :4], aweights=w), np.cov(x[:, :4], None, True, True, None, [1, 2, 3, 1], w)), G,
     np.abs(W) + np.float32(0.5))
for _method in ("hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf", "inverted_cdf",
                "averaged_inverted_cdf", "closest_observation"):
    case("quantile percentile", lambda x, m=_method: np.quantile(x, np.linspace(0, 1, 17), axis=1, method=m), G)
case("numpy.linalg.det numpy.linalg.inv", lambda x: (np.linalg.det(x), np.linalg.inv(x)), np.stack([S, S.T, S[::-1]]))
case("numpy.linalg.solve", lambda x, y: (np.linalg.solve(x, y[:5]), np.linalg.solve(x, x[:, :2])), S, V)
case("numpy.linalg.cholesky", lambda x: (np.linalg.cholesky(x @ x.T), np.linalg.cholesky(x @ x.T, upper=True)), S)
case("numpy.linalg.matrix_power", lambda x: (np.linalg.matrix_power(x / 8, 3), np.linalg.matrix_power(x, -1)), S)
case("numpy.linalg.multi_dot", lambda x, y: np.linalg.multi_dot([x, y.T, x]), G, P)
case("numpy.linalg.tensorsolve", lambda a, b: np.linalg.tensorsolve(a, b), S.reshape(5, 1, 5), V[:5].reshape(5, 1))
case("numpy.linalg.tensorinv", lambda a: np.linalg.tensorinv(a, 1), S)

# Bits and divisors.
case("packbits", lambda x, y: (np.packbits(x), np.packbits(x, axis=0, bitorder="little"), np.packbits(y, axis=1)), B, U)
case("unpackbits", lambda x: (np.unpackbits(x), np.unpackbits(x, axis=0, bitorder="little")), U)
case("unpackbits", lambda x: (np.unpackbits(x, axis=1, count=10), np.unpackbits(x, axis=1, count=-3)), U)
case("gcd lcm", lambda x, y: (np.gcd(x, y), np.gcd(x, 12), np.lcm(x, 6), np.gcd(y, 0)), N, U.astype(np.int32))
