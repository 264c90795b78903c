"""What kernels have besides the cases of instruction_cases: every operator and function, dtypes in pairs, other shapes,
parts of tiles as operands and as results, one number per partition, PSUM.

They are the same kind of Case and have the same limit; `bench/speed/instructions --wide` measures them.
"""

import math

import layouts
import numpy as np
from instruction_cases import BF16, F32, FLOATS, I32, U8, Case
from layouts import DENSE, WIDE, whole
from scipy import special

F16, E4M3, E5M2, I8, I16, U16, U32 = "float16", "float8_e4m3", "float8_e5m2", "int8", "int16", "uint16", "uint32"
CASES = []


def add(instruction, issue, peer, *, variant="", dtypes=(F32,), seen=(DENSE,), **more):
    for dtype in dtypes:
        for layout in seen:
            CASES.append(Case(instruction, variant, dtype, layout, issue, peer, **more))


def dense(ufunc, *arrays, dtype=None):
    """A new array without gaps, as the tile of the result is; NumPy's own choice follows the operands."""
    return ufunc(*arrays, out=np.empty(np.broadcast_shapes(*(np.shape(a) for a in arrays)), dtype or arrays[0].dtype))


def converted(dtype):
    return lambda a: a.astype(dtype, order="C")


def copied(a):
    return np.array(a, order="C")


# ---- shapes

add("tensor_tensor", lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.nl.add),
    lambda a, b: dense(np.add, a, b), variant="add", dtypes=(F32, BF16, I32), seen=WIDE, operands=2)
add("tensor_tensor",
    lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.nl.add, engine=k.nisa.gpsimd_engine),
    lambda a, b: dense(np.add, a, b), variant="add_gpsimd", dtypes=(I32,), seen=WIDE, operands=2)
add("tensor_tensor", lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.nl.bitwise_or),
    lambda a, b: dense(np.bitwise_or, a, b), variant="bitwise_or", dtypes=(I32, U8), seen=WIDE, operands=2)
add("tensor_scalar",
    lambda k, a: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.multiply, operand0=0.5, op1=k.nl.add, operand1=1.5),
    lambda a: dense(np.add, a * np.float32(0.5), np.float32(1.5)), variant="multiply_add", dtypes=FLOATS, seen=WIDE)
add("tensor_scalar",
    lambda k, a: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.multiply, operand0=k.column(a), op1=k.nl.add,
                                      operand1=k.column(a)),
    lambda a: dense(np.add, a * by_row(a), by_row(a)), variant="by_columns", dtypes=FLOATS, seen=WIDE)
add("tensor_scalar",
    lambda k, a: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.add, operand0=3),
    lambda a: dense(np.add, a, 3), variant="add", dtypes=(I32,), seen=WIDE)
add("tensor_scalar",
    lambda k, a: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.left_shift, operand0=1, op1=k.nl.bitwise_and,
                                      operand1=15),
    lambda a: dense(np.bitwise_and, a << 1, 15), variant="bits", dtypes=(I32, U8), seen=WIDE)
add("scalar_tensor_tensor",
    lambda k, a, b: k.nisa.scalar_tensor_tensor(dst=k.out(), data=a, op0=k.nl.multiply, operand0=k.column(a),
                                                op1=k.nl.add, operand1=b),
    lambda a, b: dense(np.add, a * by_row(a), b), variant="by_column", dtypes=FLOATS, seen=WIDE, operands=2)
add("tensor_copy", lambda k, a: k.nisa.tensor_copy(dst=k.out(), src=a), copied, dtypes=(F32, BF16, U8), seen=WIDE)
add("tensor_copy", lambda k, a: k.nisa.tensor_copy(dst=k.out(BF16), src=a), converted(np.float32),
    variant="to_bfloat16", dtypes=(F32, I32), seen=WIDE)
add("tensor_copy", lambda k, a: k.nisa.tensor_copy(dst=k.out(F32), src=a), converted(np.float32),
    variant="to_float32", dtypes=(BF16, I32), seen=WIDE)
for fn, formula in (("exp", lambda a: dense(np.exp, a)), ("copy", copied)):
    add("activation", lambda k, a, fn=fn: k.nisa.activation(dst=k.out(), op=k.op(fn), data=a), formula, variant=fn,
        dtypes=FLOATS, seen=WIDE)
add("activation",
    lambda k, a: k.nisa.activation(dst=k.out(), op=k.nl.relu, data=a, scale=k.column(a), bias=k.column(a)),
    lambda a: dense(np.maximum, a * by_row(a) + by_row(a), np.float32(0)), variant="relu_by_columns",
    dtypes=FLOATS, seen=WIDE)
add("activation",
    lambda k, a: k.nisa.activation(dst=k.out(), op=k.nl.exp, data=a, reduce_op=k.nl.add,
                                   reduce_res=k.out(F32, (a.shape[0], 1)), reduce_cmd=k.nisa.reduce_cmd.reset_reduce),
    lambda a: np.exp(a).sum(axis=rest(a)), variant="exp_sum", dtypes=FLOATS, seen=WIDE)
add("reciprocal", lambda k, a: k.nisa.reciprocal(dst=k.out(), data=a),
    lambda a: dense(np.divide, np.float32(1), a), dtypes=FLOATS, seen=WIDE)
for op, formula in (("add", np.sum), ("maximum", np.max)):
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, (a.shape[0], 1)), op=k.op(op), data=a,
                                                 axis=tuple(range(1, len(a.shape)))),
        lambda a, formula=formula: formula(a, axis=rest(a)), variant=op, dtypes=(F32, BF16, I32), seen=WIDE,
        one_per_row=True)
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, tuple(a.shape)[:-1]), op=k.op(op), data=a,
                                                 axis=len(a.shape) - 1),
        lambda a, formula=formula: formula(a, axis=-1), variant=f"{op}_last", dtypes=(F32, BF16),
        seen=[s for s in (*WIDE, layouts.PERMUTED) if len(s.shape()) > 2])
add("tensor_scalar_reduce",
    lambda k, a: k.nisa.tensor_scalar_reduce(dst=k.out(), data=a, op0=k.nl.multiply, operand0=k.column(a),
                                             reduce_op=k.nl.maximum, reduce_res=k.out(F32, (a.shape[0], 1))),
    lambda a: (a * by_row(a)).max(axis=rest(a)), variant="maximum", dtypes=FLOATS, seen=WIDE)
add("tensor_scalar_cumulative",
    lambda k, a: k.nisa.tensor_scalar_cumulative(dst=k.out(), src=a, op0=k.nl.multiply, op1=k.nl.add, imm0=1.0,
                                                 imm1=0.0),
    lambda a: np.cumsum(a.reshape(len(a), -1), axis=1), dtypes=FLOATS, seen=WIDE)
add("tensor_tensor_scan",
    lambda k, a, b: k.nisa.tensor_tensor_scan(dst=k.out(), data0=a, data1=b, initial=0.0, op0=k.nl.multiply,
                                              op1=k.nl.add),
    lambda a, b: np.cumsum((a * b).reshape(len(a), -1), axis=1), dtypes=FLOATS, seen=WIDE, operands=2)
add("tensor_partition_reduce",
    lambda k, a: k.nisa.tensor_partition_reduce(dst=k.out(None, (1, *tuple(a.shape)[1:])), op=k.nl.add, data=a),
    lambda a: a.sum(axis=0, keepdims=True), dtypes=(F32, BF16, I32), seen=WIDE)
add("bn_stats", lambda k, a: k.nisa.bn_stats(dst=k.out(F32, (a.shape[0], 6)), data=a),
    lambda a: (a.mean(axis=1), a.var(axis=1)), dtypes=FLOATS,
    seen=[s for s in WIDE if len(s.shape()) == 2 and s.shape()[1] <= 512], one_per_row=True)
add("affine_select",
    lambda k, a: k.nisa.affine_select(dst=k.out(), pattern=[[-1, math.prod(a.shape[1:])]], channel_multiplier=4,
                                      on_true_tile=a, on_false_value=-1.0, cmp_op=k.nl.greater_equal),
    lambda a: np.where(4 * np.arange(len(a))[:, None] >= np.arange(a[0].size), a.reshape(len(a), -1), np.float32(-1)),
    dtypes=FLOATS, seen=WIDE)
add("select_reduce",
    lambda k, a, b: k.nisa.select_reduce(dst=k.out(), predicate=k.mask(b), on_true=a, on_false=-1.0),
    lambda a, b: np.where(b > 0, a, np.float32(-1)), operands=2, seen=WIDE, dtypes=FLOATS)
add("tensor_copy_predicated",
    lambda k, a, b: k.nisa.tensor_copy_predicated(dst=k.filled_out(), src=a, predicate=k.mask(b)),
    lambda a, b: np.where(b > 0, a, np.float32(0)), operands=2, dtypes=FLOATS, seen=WIDE)
add("memset", lambda k, a: k.nisa.memset(dst=k.out(), value=1), lambda a: np.full(a.shape, 1, a.dtype),
    dtypes=(F32, BF16, I32, U8), seen=WIDE)
add("iota", lambda k, a: k.nisa.iota(dst=k.out(), pattern=[[1, math.prod(a.shape[1:])]], channel_multiplier=512),
    lambda a: (512 * np.arange(len(a))[:, None] + np.arange(a[0].size)).astype(a.dtype), dtypes=(I32, F32), seen=WIDE)
add("dma_copy", lambda k, a: k.nisa.dma_copy(dst=k.out(), src=a), copied, dtypes=(F32, BF16, U8), seen=WIDE)
add("dma_copy", lambda k, a: k.nisa.dma_copy(dst=k.out(BF16), src=a), copied, variant="to_bfloat16", seen=WIDE)
add("nc_stream_shuffle",
    lambda k, a: k.nisa.nc_stream_shuffle(dst=k.out(), src=a, shuffle_mask=[(i + 1) % 32 for i in range(32)]),
    lambda a: a.reshape(-1, 32, a[0].size)[:, np.arange(1, 33) % 32], dtypes=(F32, BF16),
    seen=[s for s in WIDE if s.shape()[0] % 32 == 0])


def by_row(a):
    """One number per partition, as Tiles.column has it."""
    return np.ones((len(a),) + (1,) * (a.ndim - 1), np.float32)


def rest(a):
    return tuple(range(1, a.ndim))


# ---- where results go

INTO = (layouts.STRIDED, layouts.HALF, layouts.HEADS, layouts.STRIDE3, layouts.PERMUTED)


def into(layout, dtype):
    """A result of NumPy that lies so."""
    return layout.numpy(np.empty(layout.loaded, np.float32 if dtype == BF16 else dtype))


def add_into(instruction, issue, formula, dtypes, operands=1):
    for dtype in dtypes:
        for layout in INTO:
            def peer(*arrays, layout=layout, dtype=dtype):
                result = into(layout, dtype)
                result[...] = formula(*arrays).reshape(result.shape)

            CASES.append(Case(instruction, f"into_{layout.name}", dtype, DENSE,
                              lambda k, *given, layout=layout: issue(k, k.out_as(layout), *given), peer, operands))


add_into("tensor_tensor", lambda k, d, a, b: k.nisa.tensor_tensor(dst=d, data1=a, data2=b, op=k.nl.multiply),
         np.multiply, FLOATS, 2)
add_into("tensor_scalar", lambda k, d, a: k.nisa.tensor_scalar(dst=d, data=a, op0=k.nl.add, operand0=1.0),
         lambda a: a + np.float32(1), FLOATS)
add_into("tensor_copy", lambda k, d, a: k.nisa.tensor_copy(dst=d, src=a), lambda a: a, (F32, BF16, U8))
add_into("activation", lambda k, d, a: k.nisa.activation(dst=d, op=k.nl.exp, data=a), np.exp, FLOATS)
add_into("dma_copy", lambda k, d, a: k.nisa.dma_copy(dst=d, src=a), lambda a: a, (F32, BF16))
add_into("memset", lambda k, d, a: k.nisa.memset(dst=d, value=0), np.zeros_like, FLOATS)

# ---- dtypes in pairs

KINDS = (F32, BF16, F16, E4M3, E5M2, I8, I16, I32, U8, U16, U32)
for source in KINDS:
    for result in KINDS:
        def narrowed(a, result=result):
            return a.astype(np.float32 if result in (BF16, F16, E4M3, E5M2) else result)

        add("tensor_copy", lambda k, a, result=result: k.nisa.tensor_copy(dst=k.out(result), src=a), narrowed,
            variant=f"to_{result}", dtypes=(source,))
for dtype in (F16, E4M3, I8, I16, U8, U16, U32):
    add("tensor_tensor", lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.nl.maximum),
        np.maximum, variant="maximum", dtypes=(dtype,), operands=2)
    add("tensor_scalar", lambda k, a: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.maximum, operand0=2),
        lambda a: np.maximum(a, a.dtype.type(2)), variant="maximum", dtypes=(dtype,))
    add("tensor_reduce", lambda k, a: k.nisa.tensor_reduce(dst=k.out(F32, (128, 1)), op=k.nl.maximum, data=a, axis=1),
        lambda a: a.max(axis=1), variant="maximum", dtypes=(dtype,), one_per_row=True)
    add("activation", lambda k, a: k.nisa.activation(dst=k.out(F32), op=k.nl.exp, data=a),
        lambda a: np.exp(a.astype(np.float32)), variant="exp", dtypes=(dtype,))
for source, result in ((BF16, F32), (F32, BF16), (F16, F32), (F32, F16), (I32, F32), (F32, I32), (F32, E4M3)):
    add("tensor_tensor",
        lambda k, a, b, result=result: k.nisa.tensor_tensor(dst=k.out(result), data1=a, data2=b, op=k.nl.multiply),
        np.multiply, variant=f"multiply_to_{result}", dtypes=(source,), operands=2)
    add("tensor_scalar",
        lambda k, a, result=result: k.nisa.tensor_scalar(dst=k.out(result), data=a, op0=k.nl.multiply, operand0=2.0),
        lambda a: a * np.float32(2), variant=f"multiply_to_{result}", dtypes=(source,))
    add("activation", lambda k, a, result=result: k.nisa.activation(dst=k.out(result), op=k.nl.relu, data=a),
        lambda a: np.maximum(a, 0), variant=f"relu_to_{result}", dtypes=(source,))
    add("scalar_tensor_tensor",
        lambda k, a, b, result=result: k.nisa.scalar_tensor_tensor(dst=k.out(result), data=a, op0=k.nl.multiply,
                                                                   operand0=2.0, op1=k.nl.add, operand1=b),
        lambda a, b: a * np.float32(2) + b, variant=f"to_{result}", dtypes=(source,), operands=2)
add("tensor_tensor",
    lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(F32), data1=a, data2=k.copied(b, F32), op=k.nl.multiply),
    np.multiply, variant="mixed", dtypes=(BF16, I32, U8), operands=2)

# ---- operators

ALU = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "equal": np.equal, "not_equal": np.not_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "less": np.less, "less_equal": np.less_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "power": np.power,
    "abs_max": lambda a, b: np.where(np.abs(a) > np.abs(b), a, b),
    "abs_min": lambda a, b: np.where(np.abs(a) < np.abs(b), a, b),
}
UNARY = {"abs": np.abs, "square": np.square, "relu": lambda a: np.maximum(a, 0), "rsqrt": lambda a: 1 / np.sqrt(a),
         "reciprocal": lambda a: 1 / a}
BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
        "left_shift": np.left_shift, "right_shift": np.right_shift}
NEWER = ("abs_max", "abs_min", "square", "relu")  # operators of gen4

for op, formula in ALU.items():
    target = "trn3" if op in NEWER else "trn2"
    add("tensor_tensor", lambda k, a, b, op=op: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.op(op)),
        formula, variant=f"op_{op}", dtypes=FLOATS, operands=2, target=target)
    add("tensor_scalar",
        lambda k, a, op=op: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.op(op), operand0=1.5),
        lambda a, formula=formula: formula(a, np.float32(1.5)), variant=f"op_{op}", dtypes=FLOATS, target=target)
for op, formula in UNARY.items():
    add("tensor_scalar", lambda k, a, op=op: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.op(op), operand0=None),
        formula, variant=f"op_{op}", dtypes=FLOATS, target="trn3" if op in NEWER else "trn2")
for op, formula in BITS.items():
    add("tensor_tensor", lambda k, a, b, op=op: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.op(op)),
        formula, variant=f"op_{op}", dtypes=(U8, I16, U32), operands=2)
    add("tensor_scalar", lambda k, a, op=op: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.op(op), operand0=3),
        lambda a, formula=formula: formula(a, a.dtype.type(3)), variant=f"op_{op}", dtypes=(U8, I16, U32))
for op in ("add", "multiply", "maximum", "less"):
    add("tensor_tensor",
        lambda k, a, b, op=op: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.op(op),
                                                    engine=k.nisa.gpsimd_engine),
        ALU[op], variant=f"gpsimd_{op}", dtypes=(I32, U32), operands=2)
for op in ("multiply", "minimum", "subtract"):
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, (128, 1)), op=k.op(op), data=a, axis=1),
        lambda a, op=op: ALU[op].reduce(a, axis=1), variant=f"op_{op}", dtypes=FLOATS, one_per_row=True)
for op in ("logical_and", "logical_or", "logical_xor"):
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, (128, 1)), op=k.op(op), data=a, axis=1),
        lambda a, op=op: ALU[op].reduce(a, axis=1), variant=f"op_{op}", dtypes=(F32, U8), one_per_row=True)
for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, (128, 1)), op=k.op(op), data=a, axis=1),
        lambda a, op=op: BITS[op].reduce(a, axis=1), variant=f"op_{op}", dtypes=(I32, U8, U16), one_per_row=True)
for op, formula in (("average", np.mean), ("maximum", np.max)):
    add("tensor_partition_reduce",
        lambda k, a, op=op: k.nisa.tensor_partition_reduce(dst=k.out(None, (1, 512)), op=k.op(op), data=a),
        lambda a, formula=formula: formula(a, axis=0), variant=f"op_{op}", dtypes=FLOATS)
add("tensor_partition_reduce",
    lambda k, a: k.nisa.tensor_partition_reduce(dst=k.out(None, (1, 512)), op=k.nl.bitwise_or, data=a),
    lambda a: np.bitwise_or.reduce(a, axis=0), variant="bitwise_or", dtypes=(U8, I32))
for first, second in (("add", "multiply"), ("maximum", "add"), ("multiply", "maximum"), ("subtract", "minimum")):
    add("tensor_tensor_scan",
        lambda k, a, b, first=first, second=second: k.nisa.tensor_tensor_scan(
            dst=k.out(), data0=a, data1=b, initial=k.column(a), op0=k.op(first), op1=k.op(second)),
        lambda a, b, first=first, second=second: ALU[second].accumulate(ALU[first](a, b), axis=1),
        variant=f"{first}_{second}", dtypes=FLOATS, operands=2)
for op in ("multiply", "maximum", "minimum"):
    add("tensor_scalar_cumulative",
        lambda k, a, op=op: k.nisa.tensor_scalar_cumulative(dst=k.out(), src=a, op0=k.nl.add, op1=k.op(op), imm0=1.0),
        lambda a, op=op: ALU[op].accumulate(a + np.float32(1), axis=1), variant=op, dtypes=FLOATS)
    add("tensor_scalar_reduce",
        lambda k, a, op=op: k.nisa.tensor_scalar_reduce(dst=k.out(), data=a, op0=k.nl.add, operand0=1.0,
                                                        reduce_op=k.op(op), reduce_res=k.out(F32, (128, 1))),
        lambda a, op=op: ALU[op].reduce(a + np.float32(1), axis=1), variant=op, dtypes=FLOATS)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normal(x):
    return np.float32(0.5) * (1 + special.erf(x * np.float32(math.sqrt(0.5))))


FUNCTIONS = {
    "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "gelu": lambda x: x * normal(x), "tanh": np.tanh,
    "gelu_dx": lambda x: normal(x) + x * np.exp(-x * x / 2) * np.float32(0.3989423),
    "gelu_apprx_tanh": lambda x: x / 2 * (1 + np.tanh(np.float32(0.79788456) * (x + np.float32(0.044715) * x * x * x))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(np.float32(1.702) * x), "softplus": lambda x: np.log1p(np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "erf": special.erf, "log": np.log, "sin": np.sin,
    "arctan": np.arctan, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x,
    "sign": np.sign, "abs": np.abs, "square": np.square, "relu": lambda x: np.maximum(x, 0),
    "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "erf_dx": lambda x: np.float32(1.1283792) * np.exp(-x * x),
}
for fn, formula in FUNCTIONS.items():
    add("activation", lambda k, a, fn=fn: k.nisa.activation(dst=k.out(), op=k.op(fn), data=a), formula,
        variant=f"fn_{fn}", dtypes=FLOATS)
    add("activation",
        lambda k, a, fn=fn: k.nisa.activation(dst=k.out(), op=k.op(fn), data=a, scale=0.5, bias=k.column(a)),
        lambda x, formula=formula: formula(x * np.float32(0.5) + by_row(x)), variant=f"scaled_{fn}")
add("activate2",
    lambda k, a: k.nisa.activate2(dst=k.out(), op=k.nl.exp, data=a, imm0=2.0, imm1=k.column(a), op0=k.nl.multiply,
                                  op1=k.nl.subtract, reduce_op=k.nl.maximum, reduce_res=k.out(F32, (128, 1)),
                                  reduce_cmd=k.nisa.reduce_cmd.reset_reduce),
    lambda a: np.exp(a * np.float32(2) - by_row(a)).max(axis=1), dtypes=FLOATS, target="trn3")
for op in ("equal", "not_equal", "less"):
    add("affine_select",
        lambda k, a, op=op: k.nisa.affine_select(dst=k.out(), pattern=[[-1, 512]], channel_multiplier=4, on_true_tile=a,
                                                 on_false_value=-1.0, cmp_op=k.op(op)),
        lambda a, op=op: np.where(ALU[op](4 * np.arange(128)[:, None], np.arange(512)), a, np.float32(-1)), variant=op,
        dtypes=(F32, BF16, I32))
add("range_select",
    lambda k, a, b: k.nisa.range_select(dst=k.out(), on_true_tile=a, comp_op0=k.nl.greater_equal, comp_op1=k.nl.less,
                                        bound0=k.copied(b, F32)[:, 0:1], bound1=k.copied(b, F32)[:, 1:2],
                                        reduce_res=k.out(F32, (128, 1))),
    lambda a, b: np.where((np.arange(512) >= b[:, :1]) & (np.arange(512) < b[:, 1:2]), a, np.float32(-1)).max(axis=1),
    dtypes=(BF16,), operands=2)
add("select_reduce",
    lambda k, a, b: k.nisa.select_reduce(dst=k.out(), predicate=k.mask(b), on_true=a, on_false=k.column(a),
                                         reduce_res=k.out(F32, (128, 1)),
                                         reduce_cmd=k.nisa.reduce_cmd.reset_reduce, reverse_pred=True),
    lambda a, b: np.where(b > 0, a, np.float32(-1)).max(axis=1), variant="maximum", dtypes=FLOATS, operands=2)
add("sequence_bounds", lambda k, a: k.nisa.sequence_bounds(dst=k.out(None, (1, 2, 512)), segment_ids=a),
    lambda a: (np.searchsorted(a[0], a[0]), np.searchsorted(a[0], a[0], side="right")), dtypes=(I32,),
    loads=((1, 512),))

# ---- search, in other sizes and dtypes

for columns in (64, 2048):
    add("max8", lambda k, a: k.nisa.max8(dst=k.out(None, (128, 8)), src=a),
        lambda a: -np.sort(np.partition(-a, 7, axis=1)[:, :8], axis=1), variant=str(columns), dtypes=FLOATS,
        loads=((128, columns),), one_per_row=True)
    add("nc_find_index8",
        lambda k, a, b: k.nisa.nc_find_index8(dst=k.out("uint32", (128, 8)), data=a, vals=b),
        lambda a, b: (a[:, None, :] == b[:, :, None]).argmax(axis=2), variant=str(columns), dtypes=FLOATS, operands=2,
        loads=((128, columns), (128, 8)), one_per_row=True)
    add("nc_match_replace8",
        lambda k, a, b: k.nisa.nc_match_replace8(dst=k.out(None, tuple(a.shape)), data=a, vals=b, imm=-1.0),
        lambda a, b: np.where((a[:, None, :] == b[:, :, None]).any(axis=1), np.float32(-1), a), variant=str(columns),
        dtypes=FLOATS, operands=2, loads=((128, columns), (128, 8)))
add("topk", lambda k, a: k.nisa.topk(val_dst=k.out(None, (128, 64)), idx_dst=k.out("uint32", (128, 64)), src=a, n=64),
    lambda a: np.argsort(-a, axis=1, kind="stable")[:, :64], variant="64", dtypes=(BF16,), loads=((128, 2048),),
    one_per_row=True)
add("nonzero_with_count", lambda k, a: k.nisa.nonzero_with_count(dst=k.out(I32, (128, 513)), src=a),
    lambda a: [np.flatnonzero(row) for row in a], loads=((128, 512),))
add("local_gather",
    lambda k, a, b: k.nisa.local_gather(dst=k.out(None, (128, 512)), src_buffer=a, index=k.indices(b, 64, U16),
                                        num_elem_per_idx=8),
    lambda a, b: np.repeat(np.take_along_axis(a, np.abs(b[:, :1].astype(int)) % 512 + np.zeros((1, 64), int), axis=1),
                           8, axis=1),
    variant="runs", operands=2, dtypes=FLOATS, loads=((128, 512), (128, 4)))
add("nc_n_gather",
    lambda k, a, b: k.nisa.nc_n_gather(dst=k.out(None, (128, 64)), data=a, indices=k.indices(b, 2048, U32)),
    lambda a, b: np.take_along_axis(a, np.abs(b.astype(int)) % 2048, axis=1), variant="few", operands=2,
    dtypes=(F32, BF16, I32, U8), loads=((128, 2048), (128, 64)))

# ---- products and transpositions

for rows, m, n in ((64, 64, 256), (128, 100, 300), (32, 32, 32), (8, 128, 512), (128, 128, 8), (96, 128, 500)):
    add("nc_matmul",
        lambda k, a, b: k.nisa.nc_matmul(dst=k.out(F32, (a.shape[1], b.shape[1]), "psum"), stationary=a, moving=b),
        lambda a, b: a.T @ b, variant=f"{rows}_{m}_{n}", dtypes=FLOATS, operands=2, loads=((rows, m), (rows, n)))
add("nc_matmul",
    lambda k, a, b: k.nisa.nc_matmul(dst=k.out(F32, (128, 512), "psum"), stationary=a[:, 0:256:2],
                                     moving=b[:, 0:1024:2]),
    lambda a, b: a[:, ::2].T @ b[:, ::2], variant="stride2", dtypes=(*FLOATS, F16, E4M3), operands=2,
    loads=((128, 256), (128, 1024)))
add("nc_matmul",
    lambda k, a, b: k.nisa.nc_matmul(dst=k.out(F32, (128, 512), "psum"), stationary=a,
                                     moving=b.ap([[512, 128], [1, 32], [32, 16]])),
    lambda a, b: a.T @ b.reshape(128, 16, 32).transpose(0, 2, 1).reshape(128, 512), variant="permuted",
    dtypes=FLOATS, operands=2, loads=((128, 128), (128, 512)))
for dtype in (F16, E4M3, E5M2):
    add("nc_matmul",
        lambda k, a, b: k.nisa.nc_matmul(dst=k.out(F32, (a.shape[1], b.shape[1]), "psum"), stationary=a, moving=b),
        lambda a, b: a.T @ b, variant="128_128_512", dtypes=(dtype,), operands=2, loads=((128, 128), (128, 512)))
for rows, columns in ((64, 128), (100, 60), (128, 8), (8, 128)):
    add("nc_transpose", lambda k, a: k.nisa.nc_transpose(dst=k.out(None, tuple(a.shape)[::-1], "psum"), data=a),
        lambda a: np.ascontiguousarray(a.T), variant=f"{rows}_{columns}", dtypes=(*FLOATS, F16),
        loads=((rows, columns),))
add("dma_transpose", lambda k, a: k.nisa.dma_transpose(dst=k.out(None, (128, 512)), src=a),
    lambda a: np.ascontiguousarray(a.T), dtypes=(BF16,), memory="hbm", loads=((512, 128),))
add("dma_compute",
    lambda k, a, b: k.nisa.dma_compute(dst=k.out(), srcs=[a, b, a, b], reduce_op=k.nl.add,
                                       scales=[1.0] * 4),
    lambda a, b: a + b + a + b, variant="four", operands=2, dtypes=FLOATS)

# ---- PSUM

add("tensor_copy", lambda k, a: k.nisa.tensor_copy(dst=k.out(BF16), src=k.in_psum(a)), np.copy,
    variant="from_psum_to_bfloat16")
add("tensor_copy", lambda k, a: k.nisa.tensor_copy(dst=k.out(), src=k.in_psum(a)), np.copy, variant="from_psum")
add("tensor_tensor", lambda k, a: k.nisa.tensor_tensor(dst=k.out(), data1=k.in_psum(a), data2=a, op=k.nl.add),
    lambda a: a + a, variant="psum")
add("activation",
    lambda k, a: k.nisa.activation(dst=k.out(BF16), op=k.nl.exp, data=k.in_psum(a), scale=0.5, bias=k.column(a)),
    lambda a: np.exp(a * np.float32(0.5) + by_row(a)), variant="psum_to_bfloat16")
add("tensor_reduce",
    lambda k, a: k.nisa.tensor_reduce(dst=k.out(F32, (128, 1)), op=k.nl.maximum, data=k.in_psum(a), axis=1),
    lambda a: a.max(axis=1), variant="psum_maximum", one_per_row=True)

# ---- few columns, and views that published kernels have

SEEN = layouts.NARROW + layouts.VIEWS


def truth(ufunc, *arrays):
    return dense(ufunc, *arrays, dtype=bool)


add("tensor_tensor", lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.nl.multiply),
    lambda a, b: dense(np.multiply, a, b), variant="multiply", dtypes=(F32, BF16, F16, U8), seen=SEEN, operands=2)
add("tensor_tensor", lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(U8), data1=a, data2=b, op=k.nl.greater),
    lambda a, b: truth(np.greater, a, b), variant="greater_to_uint8", dtypes=(F32, BF16, I32), seen=SEEN, operands=2)
add("tensor_scalar", lambda k, a: k.nisa.tensor_scalar(dst=k.out(U8), data=a, op0=k.nl.less, operand0=k.column(a)),
    lambda a: truth(np.less, a, by_row(a)), variant="less_to_uint8", dtypes=FLOATS, seen=SEEN)
for result in (BF16, F32, E4M3):
    add("tensor_copy", lambda k, a, result=result: k.nisa.tensor_copy(dst=k.out(result), src=a), converted(np.float32),
        variant=f"to_{result}", dtypes=[t for t in (F32, BF16, I32, U8) if t != result], seen=SEEN)
add("activation",
    lambda k, a: k.nisa.activation(dst=k.out(), op=k.nl.square, data=a, reduce_op=k.nl.add,
                                   reduce_res=k.out(F32, (a.shape[0], 1)), reduce_cmd=k.nisa.reduce_cmd.reset_reduce),
    lambda a: np.square(a).sum(axis=rest(a)), variant="square_sum", dtypes=FLOATS, seen=SEEN)
add("activation",
    lambda k, a: k.nisa.activation(dst=k.out(BF16), op=k.nl.sigmoid, data=a, scale=k.column(a), bias=k.column(a)),
    lambda a: sigmoid(a * by_row(a) + by_row(a)), variant="sigmoid_by_columns", dtypes=FLOATS, seen=SEEN)
add("activate2",
    lambda k, a: k.nisa.activate2(dst=k.out(), op=k.nl.silu, data=a, imm0=1.0, imm1=k.column(a), op0=k.nl.multiply,
                                  op1=k.nl.add),
    lambda a: (a + 1) * sigmoid(a + 1), variant="silu", dtypes=FLOATS, target="trn3", seen=SEEN)
add("exponential",
    lambda k, a: k.nisa.exponential(dst=k.out(), src=a, max_value=k.column(a), reduce_res=k.out(F32, (a.shape[0], 1)),
                                    reduce_cmd=k.nisa.reduce_cmd.reset_reduce),
    lambda a: np.exp(a - by_row(a)).sum(axis=rest(a)), variant="sum", dtypes=FLOATS, target="trn3", seen=SEEN)
for op, formula in (("maximum", np.max), ("add", np.sum)):
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, (a.shape[0], 1)), op=k.op(op), data=a,
                                                 axis=tuple(range(1, len(a.shape)))),
        lambda a, formula=formula: formula(a, axis=rest(a)), variant=op, dtypes=(F32, BF16, I32), seen=SEEN,
        one_per_row=True)
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, tuple(a.shape)[:-1]), op=k.op(op), data=a,
                                                 axis=len(a.shape) - 1),
        lambda a, formula=formula: formula(a, axis=-1), variant=f"{op}_last", dtypes=FLOATS,
        seen=[s for s in SEEN if len(s.shape()) > 2])
add("tensor_tensor_scan",
    lambda k, a, b: k.nisa.tensor_tensor_scan(dst=k.out(), data0=a, data1=b, initial=k.column(a), op0=k.nl.multiply,
                                              op1=k.nl.add),
    lambda a, b: np.cumsum((a * b).reshape(len(a), -1), axis=1), variant="by_column", dtypes=FLOATS, seen=SEEN,
    operands=2)
add("tensor_scalar_cumulative",
    lambda k, a: k.nisa.tensor_scalar_cumulative(dst=k.out(), src=a, op0=k.nl.multiply, op1=k.nl.add, imm0=k.column(a)),
    lambda a: np.cumsum(a.reshape(len(a), -1), axis=1), variant="by_column", dtypes=FLOATS, seen=SEEN)
add("tensor_partition_reduce",
    lambda k, a: k.nisa.tensor_partition_reduce(dst=k.out(None, (1, *tuple(a.shape)[1:])), op=k.nl.maximum, data=a),
    lambda a: a.max(axis=0), variant="maximum", dtypes=FLOATS, seen=SEEN)
add("select_reduce",
    lambda k, a, b: k.nisa.select_reduce(dst=k.out(), predicate=k.mask(b), on_true=a, on_false=k.column(a)),
    lambda a, b: np.where(b > 0, a, by_row(a)), variant="by_column", operands=2, seen=SEEN, dtypes=FLOATS)
add("tensor_copy_predicated",
    lambda k, a, b: k.nisa.tensor_copy_predicated(dst=k.filled_out(), src=2.5, predicate=k.mask(b)),
    lambda a, b: np.where(b > 0, np.float32(2.5), a), variant="number", operands=2, dtypes=FLOATS, seen=SEEN)
for columns, pattern in ((1, [[0, 1]]), (8, [[1, 8]]), (512, [[1, 64], [0, 8]]), (512, [[0, 8], [8, 64]])):
    steps = "_".join(f"{step}x{count}" for step, count in pattern)
    add("iota",
        lambda k, a, pattern=pattern: k.nisa.iota(dst=k.out(), pattern=pattern, channel_multiplier=1),
        lambda a, pattern=pattern: iota(a, pattern), variant=steps, dtypes=(F32, BF16, I32, U8, I16),
        seen=(whole(128, columns),))


def iota(a, pattern):
    """Counted as NumPy does, in 64 bits."""
    free = np.zeros(1, int)
    for step, count in reversed(pattern):
        free = (step * np.arange(count)[:, None] + free).reshape(-1)
    return (np.arange(len(a))[:, None] + free).astype(a.dtype)


# ---- memory

add("dma_copy", lambda k, a: k.nisa.dma_copy(dst=k.out(), src=a.ap([[1, 128], [128, 512]])),
    lambda a: np.ascontiguousarray(a.T), variant="transposed", dtypes=(F32, BF16, U8), memory="hbm",
    seen=(whole(128, 512),), loads=((512, 128),))
add("dma_copy", lambda k, a: k.nisa.dma_copy(dst=k.out(), src=a.ap([[0, 128], [1, 512]])),
    lambda a: copied(np.broadcast_to(a, (128, 512))), variant="row_to_all", dtypes=(F32, BF16, U8), memory="hbm",
    loads=((1, 512),))
for columns in (1, 64, 512):
    add("dma_copy",
        lambda k, a, columns=columns: k.nisa.dma_copy(
            dst=k.out(None, (128, columns)), src=a.ap([[columns, 128], [1, columns]], vector_offset=k.every_7th())),
        lambda a: a[7 * np.arange(128)], variant=f"gather_{columns}", dtypes=FLOATS, memory="hbm",
        loads=((1024, columns),))
for rows, m, n in ((128, 1, 128), (128, 2, 512), (16, 16, 512), (4, 4, 4)):
    add("nc_matmul",
        lambda k, a, b: k.nisa.nc_matmul(dst=k.out(F32, (a.shape[1], b.shape[1]), "psum"), stationary=a, moving=b),
        lambda a, b: a.T @ b, variant=f"{rows}_{m}_{n}", dtypes=(F32, BF16, F16, E4M3), operands=2,
        loads=((rows, m), (rows, n)))
