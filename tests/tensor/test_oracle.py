"""The oracle of tensor programs against NumPy: every elementwise op, reductions, products and moves, over dtypes and
odd shapes. Inputs are random; KILN_SEED repeats a run."""

import os

import ml_dtypes
import numpy as np
import pytest

from kiln import _kiln

SEED = int(os.environ["KILN_SEED"])
DTYPES = ["bool_", "uint8", "uint16", "uint32", "int8", "int16", "int32", "float32", "bfloat16", "float16"]
FLOATS = ["float32", "bfloat16", "float16"]
NAMES = {"bool_": "bool"}
NARROWER = {"float64": "float32", "int64": "int32", "uint64": "uint32"}  # what the chip has instead


@pytest.fixture(autouse=True)
def random():
    print(f"KILN_SEED={SEED}")  # pytest shows it when a test fails
    return np.random.default_rng(SEED)


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(NAMES.get(name, name))


def kiln_dtype(dtype):
    name = NARROWER.get(dtype.name, dtype.name)
    return "bool_" if name == "bool" else name


def values(random, dtype, shape):
    t = numpy_dtype(dtype)
    if dtype == "bool_":
        return random.integers(0, 2, shape).astype(t)
    if t.kind in "iu":
        low, high = np.iinfo(t).min, np.iinfo(t).max
        x = random.integers(low, high, shape, endpoint=True, dtype=np.int64)
        return np.where(random.integers(0, 2, shape), x, x % 7).astype(t)
    x = random.normal(0, 3, shape)
    if x.size > 4:
        x.flat[:4] = [np.inf, -np.inf, np.nan, -0.0]
    return x.astype(t)


def evaluated(op, arrays, **attributes):
    """dtype and exact values of one op."""
    graph = _kiln.TensorGraph("one")
    operands = [graph.input(f"x{i}", kiln_dtype(a.dtype), list(a.shape)) for i, a in enumerate(arrays)]
    graph.output("out", graph.add(op, *operands, **attributes))
    text = str(graph)
    assert str(_kiln.TensorGraph.parse(text)) == text
    inputs = {f"x{i}": np.ascontiguousarray(a).tobytes() for i, a in enumerate(arrays)}
    dtype, shape, data = graph.evaluate(inputs)["out"]
    return dtype, np.frombuffer(data).reshape(shape)


def softplus(x):
    return np.logaddexp(0, x)


def erf(x):
    import math
    return np.vectorize(math.erf, otypes=[float])(x)


OTHERS = {
    "relu": lambda x: np.where(x > 0, x, np.where(np.isnan(x), x, 0)), "rsqrt": lambda x: 1 / np.sqrt(x), "erf": erf,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x / 2 * (1 + erf(x / np.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "sinc": np.sinc, "rad2deg": lambda x: x * (180 / np.pi), "deg2rad": lambda x: x * (np.pi / 180),  # NumPy rounds
    "softplus": softplus, "mish": lambda x: x * np.tanh(softplus(x)),
}
ELEMENTWISE = sorted(name for name, (_, elementwise) in _kiln.tensor_ops().items() if elementwise)


def expected(op, arrays):
    """NumPy's answer: its dtype from the operands as they are, the values in double where they are floats."""
    function = OTHERS.get(op) or getattr(np, op)
    with np.errstate(all="ignore"):
        try:
            given = np.asarray(function(*arrays)) if op not in OTHERS else arrays[0]
        except TypeError:
            return None, None
        if given.dtype.kind in "iu" or given.dtype == bool:
            return given.dtype, given.astype(float)
        return given.dtype, np.asarray(function(*[a.astype(float) for a in arrays]), float)


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_elementwise(op, random):
    operands = _kiln.tensor_ops()[op][0]
    asked = 0
    for a in DTYPES if op not in OTHERS and op != "reciprocal" else FLOATS:  # NumPy's reciprocal of integers is 0
        for b in DTYPES if operands == 2 else ["float32"]:
            arrays = [values(random, a, (3, 1, 7)), values(random, b, (5, 1))][:operands]
            if op in ("left_shift", "right_shift") and numpy_dtype(b).kind in "iu":
                arrays[1] = np.abs(arrays[1].astype(np.int64) % 7).astype(arrays[1].dtype)
            if op == "power" and numpy_dtype(b).kind == "i":
                arrays[1] = np.abs(arrays[1].astype(np.int64) % 5).astype(arrays[1].dtype)
            dtype, wanted = expected(op, arrays)
            mixed = operands == 2 and "uint32" in (a, b) and {numpy_dtype(a).kind, numpy_dtype(b).kind} == {"i", "u"}
            if dtype is None or mixed:
                continue  # NumPy refuses it, or answers in 64 bits, which the chip has not
            got_dtype, got = evaluated(op, arrays)
            asked += 1
            assert got_dtype == kiln_dtype(dtype), (op, a, b)
            np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-14, err_msg=f"{op} {a} {b}")
    assert asked > 0


def test_promotion():
    graph = _kiln.TensorGraph("promotion")
    values = {t: graph.input(t, t, []) for t in DTYPES}
    for a in DTYPES:
        for b in DTYPES:
            if "uint32" in (a, b) and {numpy_dtype(a).kind, numpy_dtype(b).kind} == {"i", "u"}:
                continue
            try:
                wanted = kiln_dtype(np.promote_types(numpy_dtype(a), numpy_dtype(b)))
            except TypeError:
                wanted = "float32"  # bfloat16 with what NumPy knows no common dtype for
            assert graph.type(graph.add("maximum", values[a], values[b]))[0] == wanted, (a, b)


def test_python_numbers_are_weak():
    graph = _kiln.TensorGraph("weak")
    for t in DTYPES:
        x = graph.input(t, t, [])
        for number in (2, 2.0):
            wanted = kiln_dtype((np.ones((), numpy_dtype(t)) * number).dtype)
            if t == "bfloat16":
                wanted = "bfloat16"
            got = graph.type(graph.add("multiply", x, graph.number(number, x)))[0]
            if numpy_dtype(t).kind in "iub" and isinstance(number, float):
                wanted = "float32"  # float64 there, whatever the integer
            assert got == wanted, (t, number)


REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all,
              "mean": np.mean}


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("shape,axes", [((5, 7), [1]), ((5, 7), [0]), ((2, 3, 4), [0, 2]), ((6,), [0]), ((3, 0), [1])])
def test_reductions(op, shape, axes, random):
    for t in ["int8", "int32", "float32", "bool_"]:
        if 0 in shape and op in ("max", "min"):
            continue
        x = values(random, t, shape)
        with np.errstate(all="ignore"):
            given = exact = REDUCTIONS[op](x, axis=tuple(axes), keepdims=True)
            if given.dtype.kind == "f":
                exact = REDUCTIONS[op](x.astype(float), axis=tuple(axes), keepdims=True)
        dtype, got = evaluated(op, [x], axes=axes, keepdims=True)
        assert dtype == kiln_dtype(given.dtype)
        if given.dtype.kind in "iu":
            exact = given.astype(dtype)  # sums in 64 bits wrap to 32
        np.testing.assert_allclose(got, exact.astype(float), rtol=1e-12, equal_nan=True)


def test_variance_and_positions(random):
    x = random.normal(size=(4, 9)).astype("float32")
    for ddof in (0, 1):
        got = evaluated("variance", [x], axes=[1], keepdims=False, ddof=ddof)[1]
        np.testing.assert_allclose(got, x.astype(float).var(axis=1, ddof=ddof), rtol=1e-12)
    for op in ("argmax", "argmin"):
        y = np.round(x)  # with ties
        assert (evaluated(op, [y], axes=[1], keepdims=False)[1] == getattr(np, op)(y, axis=1)).all()
    np.testing.assert_allclose(evaluated("cumsum", [x], axis=0)[1], x.astype(float).cumsum(0))


@pytest.mark.parametrize("a,b", [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
                                 ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2))])
def test_matmul(a, b, random):
    x, y = (random.normal(size=s).astype("float32") for s in (a, b))
    dtype, got = evaluated("matmul", [x, y])
    wanted = np.matmul(x.astype(float), y.astype(float))
    assert dtype == "float32" and got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_moves(random):
    x = random.normal(size=(4, 6, 5)).astype("float32")
    y = random.normal(size=(4, 2, 5)).astype("float32")
    for got, wanted in [
        (evaluated("reshape", [x], shape=[8, 15]), x.reshape(8, 15)),
        (evaluated("transpose", [x], perm=[2, 0, 1]), x.transpose(2, 0, 1)),
        (evaluated("broadcast_to", [x[:1]], shape=[2, 3, 6, 5]), np.broadcast_to(x[:1], (2, 3, 6, 5))),
        (evaluated("slice", [x], starts=[3, 0, 1], sizes=[2, 6, 2], steps=[-2, 1, 3]), x[3::-2, :, 1::3]),
        (evaluated("concat", [x, y], axis=1), np.concatenate([x, y], 1)),
        (evaluated("pad", [x], low=[0, 1, 2], high=[1, 0, 3], value=2.5),
         np.pad(x, [(0, 1), (1, 0), (2, 3)], constant_values=2.5)),
        (evaluated("gather_rows", [x, np.array([[3, 0], [1, 1]], "int32")]), x[np.array([[3, 0], [1, 1]])]),
    ]:
        assert got[0] == "float32" and (got[1] == wanted).all()
    rows = np.array([2, 0], "int32")
    changed = x.copy()
    changed[rows] = y[:2].repeat(3, axis=1)
    assert (evaluated("scatter_rows", [x, rows, y[:2].repeat(3, axis=1)])[1] == changed).all()
    at = np.array(3, "int32")
    assert (evaluated("dynamic_slice", [x, at], axis=1, size=2)[1] == x[:, 3:5]).all()
    changed = x.copy()
    changed[:, 3:5] = y
    assert (evaluated("update_slice", [x, y, at], axis=1)[1] == changed).all()


def test_casts(random):
    for a in DTYPES:
        for b in DTYPES:
            x = np.clip(values(random, a, (9,)).astype(float), 0, 100)
            x = np.nan_to_num(x).astype(numpy_dtype(a))
            dtype, got = evaluated("cast", [x], dtype=b)
            assert dtype == b and (got == x.astype(numpy_dtype(b)).astype(float)).all(), (a, b)
