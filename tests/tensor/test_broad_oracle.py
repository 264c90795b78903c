"""The oracle of moves, indexing and order against NumPy. Inputs are random; KILN_SEED repeats a run."""

import os

import numpy as np
import pytest

from kiln import _kiln

SEED = int(os.environ["KILN_SEED"])
NARROWER = {"float64": "float32", "int64": "int32", "uint64": "uint32"}  # what the chip has instead


@pytest.fixture
def random():
    print(f"KILN_SEED={SEED}")  # pytest shows it when a test fails
    return np.random.default_rng(SEED)


def kiln_dtype(dtype):
    name = NARROWER.get(dtype.name, dtype.name)
    return "bool_" if name == "bool" else name


def expect(wanted, op, arrays, **attributes):
    """One op gives what NumPy gave; its text parses back."""
    graph = _kiln.TensorGraph("one")
    operands = [graph.input(f"x{i}", kiln_dtype(a.dtype), list(a.shape)) for i, a in enumerate(arrays)]
    graph.output("out", graph.add(op, *operands, **attributes))
    text = str(graph)
    assert str(_kiln.TensorGraph.parse(text)) == text
    inputs = {f"x{i}": np.ascontiguousarray(a).tobytes() for i, a in enumerate(arrays)}
    dtype, shape, data = graph.evaluate(inputs)["out"]
    wanted = np.asarray(wanted)
    assert dtype == kiln_dtype(wanted.dtype) and shape == list(wanted.shape), op
    if wanted.dtype.kind in "iu":
        wanted = wanted.astype(dtype)  # what wraps in 64 bits wraps to the same low 32
    np.testing.assert_allclose(np.frombuffer(data).reshape(shape), wanted.astype(float), rtol=1e-5, atol=1e-6,
                               err_msg=op)


def numbers(random, shape, dtype="float32"):
    if dtype == "float32":
        return random.normal(size=shape).astype(dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return random.integers(low, high, shape, endpoint=True, dtype=np.int64).astype(dtype)


def test_moves(random):
    x = numbers(random, (4, 6, 5))
    expect(np.flip(x, (0, 2)), "flip", [x], axes=[0, 2])
    expect(np.roll(x, (3, -8), (1, 2)), "roll", [x], shifts=[3, -8], axes=[1, 2])
    expect(np.tile(x, (2, 1, 3)), "tile", [x], counts=[2, 1, 3])
    expect(np.tile(x, (2, 1, 1, 2)), "tile", [x], counts=[2, 1, 1, 2])
    expect(np.repeat(x, 3, 1), "repeat", [x], counts=[3], axis=1)
    expect(np.repeat(x, [2, 0, 1, 4], 0), "repeat", [x], counts=[2, 0, 1, 4], axis=0)
    for offset in (-7, -2, 0, 1, 9):
        expect(np.diagonal(x, offset, 2, 0), "diagonal", [x], offset=offset, axis1=2, axis2=0)
        expect(np.trace(x, offset, 1, 2), "trace", [x], offset=offset, axis1=1, axis2=2)
        expect(np.diag(x[0, 0], offset), "diag_matrix", [x[0, 0]], offset=offset)
    whole = numbers(random, (3, 3), "int8")
    expect(np.trace(whole), "trace", [whole], offset=0, axis1=0, axis2=1)


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "linear_ramp"])
def test_borders(mode, random):
    for x in (numbers(random, (4, 3, 5)), numbers(random, (4, 3, 5), "int16")):
        for low, high in (([0, 1, 2], [1, 0, 3]), ([9, 0, 0], [3, 7, 0])):
            expect(np.pad(x, list(zip(low, high, strict=True)), mode=mode), "pad_with", [x], low=low, high=high,
                   mode=mode)


def test_reads_by_index(random):
    x = numbers(random, (4, 6, 5))
    at = random.integers(-6, 6, (2, 3)).astype("int32")
    expect(np.take(x, at, 1), "take", [x, at], axis=1, mode="raise")
    far = random.integers(-99, 99, 7).astype("int32")
    for mode in ("wrap", "clip"):
        expect(np.take(x, far, 2, mode=mode), "take", [x, far], axis=2, mode=mode)
    along = random.integers(-6, 6, (4, 2, 5)).astype("int32")
    expect(np.take_along_axis(x, along, 1), "take_along_axis", [x, along], axis=1)
    i, j = random.integers(-4, 4, (3, 1)).astype("int32"), random.integers(-6, 6, 2).astype("int32")
    expect(x[i, j], "gather_nd", [x, i, j])
    mask = np.array([True, False, True, True])
    expect(np.compress(mask, x, 0), "compress", [x, mask], axis=0, count=3)
    sparse = np.where(random.random((5, 7)) < 0.3, 1, 0).astype("int8")
    found = np.flatnonzero(sparse).astype("int32")
    expect(found, "nonzero", [sparse], count=len(found))


@pytest.mark.parametrize("mode, ufunc", [("set", None), ("add", np.add), ("multiply", np.multiply),
                                         ("maximum", np.maximum), ("minimum", np.minimum)])
def test_writes_by_index(mode, ufunc, random):
    for dtype in ("float32", "int8", "int32"):
        x = numbers(random, (4, 6, 5), dtype)
        i, j = random.integers(-4, 4, 8).astype("int32"), random.integers(-6, 6, 8).astype("int32")

        def changed(at, rows, x=x):
            out = x.copy()
            if ufunc:
                ufunc.at(out, at, rows)
            else:
                for n in np.ndindex(rows.shape[:1]):  # in order: of equal indices the last one wins
                    out[tuple(a[n] if isinstance(a, np.ndarray) else a for a in at)] = rows[n]
            return out
        rows = numbers(random, (8, 5), dtype)
        expect(changed((i, j), rows), "scatter_nd", [x, rows, i, j], mode=mode)
        rows = numbers(random, (8, 6, 5), dtype)
        expect(changed((i,), rows), "scatter", [x, i, rows], axis=0, mode=mode)
        at, values = random.integers(-5, 5, (4, 6, 7)).astype("int32"), numbers(random, (4, 6, 7), dtype)
        out = x.copy()
        for a, b, c in np.ndindex(at.shape):
            with np.errstate(over="ignore"):
                k = at[a, b, c]
                out[a, b, k] = ufunc(out[a, b, k], values[a, b, c]) if ufunc else values[a, b, c]
        expect(out, "put_along_axis", [x, at, values], axis=2, mode=mode)


def test_counts(random):
    at = random.integers(-2, 9, (3, 4)).astype("int32")
    expect((at[..., None] == np.arange(7)).astype("float32"), "one_hot", [at], depth=7, dtype="float32")
    x = random.integers(0, 12, 40).astype("int32")
    w = numbers(random, 40)
    expect(np.bincount(x, minlength=15)[:15].astype("int32"), "bincount", [x], length=15)
    expect(np.bincount(x, w, minlength=12).astype("float32"), "bincount", [x, w], length=12)
    a = np.sort(numbers(random, 20).round(1))
    v = numbers(random, (3, 6)).round(1)
    v[0, 0] = np.nan
    a = np.append(a, np.float32(np.nan))
    for side in ("left", "right"):
        expect(np.searchsorted(a, v, side).astype("int32"), "searchsorted", [a, v], right=side == "right")


def expect_linear_scan(random, x, axis):
    """y[t] = a[t] * y[t - 1] + x[t] along an axis, step by step."""
    a, before = numbers(random, x.shape, "float32"), numbers(random, x.shape, "float32").take([0], axis)
    steps, now = [], before.take(0, axis).astype(np.float64)
    for t in range(x.shape[axis]):
        now = a.take(t, axis) * now + x.take(t, axis)
        steps.append(now)
    expect(np.stack(steps, axis).astype("float32"), "linear_scan", [a, x, before], axis=axis)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "uint16"])
def test_order(dtype, random):
    x = numbers(random, (4, 9, 5), dtype)
    x = x.round(0) if dtype == "float32" else x % 5
    if dtype == "float32":
        x.flat[3] = np.nan
    dealt = x[:, :8, :4].reshape(4, 4, 8)
    expect(dealt.reshape(4, 4, 4, 2).swapaxes(2, 3).reshape(4, 4, 8), "deal", [dealt], parts=2)
    for axis in range(3):
        if dtype == "float32":
            expect_linear_scan(random, x, axis)
        with np.errstate(over="ignore"):
            expect(np.cumprod(x, axis), "cumprod", [x], axis=axis)
        expect(np.maximum.accumulate(x, axis), "cummax", [x], axis=axis)
        expect(np.minimum.accumulate(x, axis), "cummin", [x], axis=axis)
        expect(np.sort(x, axis), "sort", [x], axis=axis, descending=False)
        order = np.argsort(x, axis, kind="stable").astype("int32")
        expect(order, "argsort", [x], axis=axis, descending=False)
        backwards = np.argsort(-x.astype(float), axis, kind="stable").astype("int32")
        expect(backwards, "argsort", [x], axis=axis, descending=True)
        first = np.take(backwards, range(3), axis)
        expect(first, "top_k_indices", [x], axis=axis, k=3, largest=True)
        expect(np.take_along_axis(x, first, axis), "top_k", [x], axis=axis, k=3, largest=True)
        expect(np.take(np.sort(x, axis), range(2), axis), "top_k", [x], axis=axis, k=2, largest=False)


def padded(x, dims, low, high, spread, value=0):
    """x with gaps between elements and a border, along its last dimensions."""
    for d, (a, b, s) in zip(dims, zip(low, high, spread, strict=True), strict=True):
        shape = list(x.shape)
        shape[d] = (shape[d] - 1) * s + 1
        out = np.full(shape, value, x.dtype)
        out[tuple(slice(None, None, s if i == d else 1) for i in range(x.ndim))] = x
        x = np.pad(out, [(a, b) if i == d else (0, 0) for i in range(x.ndim)], constant_values=value)
    return x


def windows(x, dims, taps, strides, dilation):
    """All windows, the taps as last dimensions."""
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=dims)
    at = [slice(None)] * view.ndim
    for i, d in enumerate(dims):
        at[d] = slice(None, None, strides[i])
        at[view.ndim - len(dims) + i] = slice(None, None, dilation[i])
    return view[tuple(at)]


@pytest.mark.parametrize("x, w, strides, low, high, dilation, spread, groups", [
    ((2, 4, 9), (6, 4, 3), [2], [1], [2], [2], [1], 1),
    ((2, 4, 7, 8), (6, 2, 3, 2), [1, 2], [1, 0], [0, 1], [1, 2], [1, 1], 2),
    ((1, 3, 4, 5), (3, 1, 3, 3), [1, 1], [2, 2], [2, 2], [1, 1], [2, 3], 3),
    ((1, 2, 3, 4, 5), (4, 2, 2, 2, 3), [1, 1, 2], [0, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 1], 1)])
def test_conv(x, w, strides, low, high, dilation, spread, groups, random):
    x, w = numbers(random, x), numbers(random, w)
    dims = list(range(2, x.ndim))
    view = windows(padded(x.astype(float), dims, low, high, spread), dims, w.shape[2:], strides, dilation)
    parts = [np.einsum(view[:, g * w.shape[1]:(g + 1) * w.shape[1]], [0, 1, *range(3, 3 + 2 * len(dims))],
                       w[g * (len(w) // groups):(g + 1) * (len(w) // groups)].astype(float),
                       [2, 1, *range(3 + len(dims), 3 + 2 * len(dims))], [0, 2, *range(3, 3 + len(dims))])
             for g in range(groups)]
    expect(np.concatenate(parts, 1).astype("float32"), "conv", [x, w], strides=strides, low=low, high=high,
           dilation=dilation, spread=spread, groups=groups)


@pytest.mark.parametrize("mode, number, function", [("max", -np.inf, np.max), ("min", np.inf, np.min),
                                                    ("sum", 0, np.sum), ("mean", 0, np.mean)])
def test_pool(mode, number, function, random):
    x = numbers(random, (3, 7, 8))
    wide = padded(x.astype(float), [1, 2], [1, 0], [1, 2], [1, 1], number)
    wanted = function(windows(wide, [1, 2], [3, 2], [2, 1], [1, 3]), axis=(-1, -2))
    expect(wanted.astype("float32"), "pool", [x], window=[3, 2], strides=[2, 1], low=[1, 0], high=[1, 2],
           dilation=[1, 3], mode=mode)


def test_loops(random):
    x, w = numbers(random, (4, 5)), numbers(random, (5, 5))
    body = _kiln.TensorGraph("body")
    pass_, state, reads = body.input("pass", "int32", []), body.input("s", "float32", [4, 5]), \
        body.input("w", "float32", [5, 5])
    product = body.add("matmul", state, reads)
    body.output("next", body.add("add", body.add("tanh", product), body.add("cast", pass_, dtype="float32")))
    graph = _kiln.TensorGraph("loop")
    loop = graph.add("for_loop", graph.input("x", "float32", [4, 5]), graph.input("w", "float32", [5, 5]), count=3,
                     carried=1, bodies=[body])
    graph.output("out", loop)
    text = str(graph)
    assert str(_kiln.TensorGraph.parse(text)) == text
    wanted = x.astype(float)
    for i in range(3):
        wanted = np.tanh(wanted @ w) + i
    got = np.frombuffer(graph.evaluate({"x": x.tobytes(), "w": w.tobytes()})["out"][2]).reshape(4, 5)
    np.testing.assert_allclose(got, wanted, rtol=1e-9)
