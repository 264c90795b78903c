"""An instruction gives the same bits however its operands lie: dense, in steps, permuted, repeated, in narrow tiles.
What is read and written in short runs goes other ways than dense tiles do."""

import math
import os

import ml_dtypes
import numpy as np
import pytest

import kiln

kiln.activate()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

SEED = int(os.environ["KILN_SEED"])
DTYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "int32": np.int32, "uint8": np.uint8}


def layout(rng, rows, a, b, may_repeat):
    """A tile's width, how a kernel sees rows of (a, b) in it, and how NumPy does."""
    kind = rng.choice(["dense", "steps", "permuted", "halves", "gaps"] + ["repeated", "each"] * may_repeat)
    if kind == "dense":
        return a * b, [[a * b, rows], [b, a], [1, b]]
    if kind == "steps":
        return 2 * a * b, [[2 * a * b, rows], [2 * b, a], [2, b]]
    if kind == "permuted":
        return a * b, [[a * b, rows], [1, a], [a, b]]
    if kind == "halves" and a % 2 == 0:
        return a * b, [[a * b, rows], [b, 2], [2 * b, a // 2], [1, b]]
    if kind == "each":
        return a, [[a, rows], [1, a], [0, b]]
    if kind == "repeated":
        return b, [[b, rows], [0, a], [1, b]]
    return a * (b + 3), [[a * (b + 3), rows], [b + 3, a], [1, b]]


def seen(array, pattern):
    strides = [step * array.itemsize for step, _ in pattern]
    return np.lib.stride_tricks.as_strided(array, [n for _, n in pattern], strides)


def values(rng, shape, dtype):
    if dtype in ("int32", "uint8"):
        large = dtype == "int32" and rng.random() < 0.3
        return (rng.integers(0, 200, shape) * (10**6 if large else 1)).astype(DTYPES[dtype])
    x = rng.standard_normal(shape).astype(DTYPES[dtype])
    x[rng.random(shape) < 0.05] = rng.choice([0.0, -0.0, np.inf, 1e-40])
    return x


OPERATIONS = {
    "add": lambda d, x, y, c: nisa.tensor_tensor(dst=d, data1=x, data2=y, op=nl.add),
    "add_on_gpsimd": lambda d, x, y, c: nisa.tensor_tensor(dst=d, data1=x, data2=y, op=nl.add,
                                                           engine=nisa.gpsimd_engine),
    "maximum": lambda d, x, y, c: nisa.tensor_tensor(dst=d, data1=x, data2=y, op=nl.maximum),
    "number": lambda d, x, y, c: nisa.tensor_scalar(dst=d, data=x, op0=nl.add, operand0=3),
    "column": lambda d, x, y, c: nisa.tensor_scalar(dst=d, data=x, op0=nl.subtract, operand0=c, reverse0=True,
                                                    op1=nl.multiply, operand1=c),
    "three": lambda d, x, y, c: nisa.scalar_tensor_tensor(dst=d, data=x, op0=nl.multiply, operand0=c, op1=nl.subtract,
                                                          operand1=y, reverse1=True),
    "activation": lambda d, x, y, c: nisa.activation(dst=d, op=nl.relu, data=x, bias=c, scale=2.0),
    "ranged": lambda d, x, y, c: nisa.activation(dst=d, op=nl.sqrt, data=x, bias=c, scale=c),
    "copy": lambda d, x, y, c: nisa.tensor_copy(dst=d, src=x),
    "count": lambda d, x, y, c: nisa.iota(dst=d, pattern=[[2, math.prod(d.shape[1:])]], channel_multiplier=-3,
                                          offset=9),
    "and": lambda d, x, y, c: nisa.tensor_tensor(dst=d, data1=x, data2=y, op=nl.bitwise_and),
}


def row_numbers(x):
    return nl.ndarray((x.shape[0], 1), dtype=nl.float32)


def squares(d, x, y, c):
    sums = row_numbers(x)
    nisa.activation(dst=d, op=nl.square, data=x, scale=c, reduce_op=nl.add, reduce_res=sums,
                    reduce_cmd=nisa.reduce_cmd.reset_reduce)
    return sums


def less_column(d, x, y, c):
    largest = row_numbers(x)
    nisa.tensor_scalar_reduce(dst=d, data=x, op0=nl.subtract, operand0=c, reduce_op=nl.maximum, reduce_res=largest)
    return largest


def free_axes(x):
    return tuple(range(1, len(x.shape)))


def reduced(d, x, y, c):
    nisa.tensor_copy(dst=d, src=y)
    largest, total, smallest = row_numbers(x), row_numbers(x), nl.ndarray((x.shape[0], 1), dtype=x.dtype)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=x, axis=free_axes(x), negate=True)
    nisa.tensor_reduce(dst=total, op=nl.add, data=x, axis=free_axes(x))
    nisa.tensor_reduce(dst=smallest, op=nl.minimum, data=y, axis=free_axes(y))
    return largest, total, smallest


def selected(d, x, y, c):
    flags = nl.ndarray(x.shape, dtype=nl.uint8)
    nisa.tensor_tensor(dst=flags, data1=x, data2=y, op=nl.less)
    largest = row_numbers(x)
    nisa.select_reduce(dst=d, predicate=flags, on_true=x, on_false=c, reduce_res=largest, reverse_pred=True,
                       reduce_cmd=nisa.reduce_cmd.reset_reduce)
    return largest


def softmax(d, x, y, c):
    sums = row_numbers(x)
    nisa.exponential(dst=d, src=x, max_value=c, reduce_res=sums, reduce_cmd=nisa.reduce_cmd.reset_reduce)
    return sums


def across_partitions(d, x, y, c):
    largest, total = (nl.ndarray((1, *x.shape[1:]), dtype=nl.float32) for _ in range(2))
    nisa.tensor_partition_reduce(dst=largest, op=nl.maximum, data=x)
    nisa.tensor_partition_reduce(dst=total, op=nl.add, data=y)
    nisa.tensor_copy(dst=d, src=x)
    return largest, total


# Of floating-point numbers alone. What they return is compared as well.
OF_FLOATS = {
    "reduced": reduced,
    "squares": squares,
    "less_column": less_column,
    "selected": selected,
    "softmax": softmax,
    "across_partitions": across_partitions,
    "two_operators": lambda d, x, y, c: nisa.activate2(dst=d, op=nl.relu, data=x, imm0=c, imm1=0.5, op0=nl.multiply,
                                                       op1=nl.subtract, reverse1=True),
    "linear_scan": lambda d, x, y, c: nisa.tensor_tensor_scan(dst=d, data0=x, data1=y, initial=c, op0=nl.multiply,
                                                              op1=nl.add),
    "other_scan": lambda d, x, y, c: nisa.tensor_tensor_scan(dst=d, data0=x, data1=y, initial=c, op0=nl.add,
                                                             op1=nl.maximum, reverse0=True),
    "cumulative": lambda d, x, y, c: nisa.tensor_scalar_cumulative(dst=d, src=x, op0=nl.subtract, op1=nl.add, imm0=c,
                                                                   imm1=c, reduce_cmd=nisa.reduce_cmd.load_reduce),
}
FLOATS = ["float32", "bfloat16"]


def kernel_of(operation, result, patterns):
    def load(x, dtype):
        tile = nl.ndarray(x.shape, dtype=dtype)
        nisa.dma_copy(dst=tile, src=x)
        return tile

    def store(tile):
        out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=tile)
        return out

    @nki.jit
    def kernel(x, y, c, before):
        x, y, d = load(x, x.dtype), load(y, y.dtype), load(before, before.dtype)
        c = load(c, c.dtype)
        apply = OPERATIONS.get(operation) or OF_FLOATS[operation]
        more = apply(d.ap(patterns[2]), x.ap(patterns[0]), y.ap(patterns[1]), c)
        results = [d] + ([] if operation in OPERATIONS else [*more] if isinstance(more, tuple) else [more])
        return tuple(store(tile) for tile in results if hasattr(tile, "shape"))

    return kernel


def one(rng):
    """A random instruction on random views, and on dense copies of what they see."""
    operation = str(rng.choice([*OPERATIONS, *OF_FLOATS]))
    of_floats = operation in OF_FLOATS
    dtype = str(rng.choice(["int32", "uint8"] if operation == "and" else FLOATS if of_floats else list(DTYPES)))
    same = operation in ("and", "add_on_gpsimd")
    result = dtype if same else str(rng.choice(FLOATS if of_floats else list(DTYPES)))
    rows, a, b = int(rng.choice([1, 7, 128])), int(rng.choice([1, 2, 5, 8, 33, 34])), int(rng.choice([1, 3, 16, 70]))
    layouts = [layout(rng, rows, a, b, may_repeat) for may_repeat in (1, 1, 0)]
    x, y = (values(rng, (rows, width), dtype) for width, _ in layouts[:2])
    before = values(rng, (rows, layouts[2][0]), result)
    column = rng.uniform(0.5, 2, (rows, 1)).astype(np.float32)
    note = f"seed {SEED}: {operation} of {dtype} to {result}, rows {rows}, {[p for _, p in layouts]}"

    got, *got_more = kernel_of(operation, result, [p for _, p in layouts])(x, y, column, before)
    dense = [np.ascontiguousarray(seen(v, p)).reshape(rows, a * b) for v, (_, p) in zip((x, y, before), layouts)]
    plain = [[a * b, rows], [1, a * b]]
    want = before.copy()
    flat, *flat_more = kernel_of(operation, result, [plain] * 3)(dense[0], dense[1], column, dense[2])
    view = seen(want, layouts[2][1])
    view[...] = flat.reshape(view.shape)
    assert got.tobytes() == want.tobytes(), note
    assert [m.tobytes() for m in got_more] == [m.tobytes() for m in flat_more], note


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(300))
def test_views_give_what_dense_tiles_give(number, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")  # which has all of them
    one(np.random.default_rng([SEED, number]))
