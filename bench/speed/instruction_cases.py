"""Every instruction that computes, beside the line of NumPy that says the same.

A case gets a Bench with its operands (`a`, `b`, ...: tiles seen by its layout), issues one instruction into a new tile
(`out()`), and names its peer: a function of the same operands as arrays of NumPy, in float32 where the chip has
bfloat16, which NumPy has not.
"""

import dataclasses
from collections.abc import Callable

import layouts
import numpy as np
from layouts import ALL, COLUMN, DENSE, STRIDED

F32, BF16, I32, U8 = "float32", "bfloat16", "int32", "uint8"


@dataclasses.dataclass(frozen=True)
class Case:
    instruction: str
    variant: str
    dtype: str
    layout: layouts.Layout
    issue: Callable  # (k, *operands)
    peer: Callable  # (*arrays)
    operands: int = 1
    target: str = "trn2"
    memory: str = "sbuf"  # of operands
    cores: int = 1
    loads: tuple = ()  # shapes of the operands, where they are not those of the layout
    one_per_row: bool = False  # the result has one element per row

    @property
    def name(self):
        words = [self.instruction, self.variant, self.dtype, self.layout.name]
        return ".".join(w for w in words if w)


CASES = []


def add(instruction, issue, peer, *, variant="", dtypes=(F32,), seen=(DENSE,), **more):
    for dtype in dtypes:
        for layout in seen:
            CASES.append(Case(instruction, variant, dtype, layout, issue, peer, **more))


FLOATS, ARITHMETIC = (F32, BF16), (F32, BF16, I32)

for op in ("add", "multiply", "maximum"):
    add("tensor_tensor", lambda k, a, b, op=op: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.op(op)),
        getattr(np, op), variant=op, dtypes=ARITHMETIC if op == "add" else FLOATS, seen=ALL, operands=2)
add("tensor_tensor", lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.nl.bitwise_and),
    np.bitwise_and, variant="bitwise_and", dtypes=(U8, I32), operands=2)
add("tensor_tensor", lambda k, a, b: k.nisa.tensor_tensor(dst=k.out(), data1=a, data2=b, op=k.nl.less),
    np.less, variant="less", operands=2)

add("tensor_scalar", lambda k, a: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.add, operand0=3),
    lambda a: a + 3, variant="add", dtypes=ARITHMETIC, seen=ALL)
add("tensor_scalar",
    lambda k, a: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.multiply, operand0=0.5, op1=k.nl.add, operand1=1.5),
    lambda a: a * np.float32(0.5) + np.float32(1.5), variant="multiply_add", dtypes=FLOATS, seen=ALL)
add("tensor_scalar",
    lambda k, a, b: k.nisa.tensor_scalar(dst=k.out(), data=a, op0=k.nl.subtract, operand0=b[:, 0:1]),
    lambda a, b: a - b[:, :1], variant="by_column", operands=2)
add("scalar_tensor_tensor",
    lambda k, a, b: k.nisa.scalar_tensor_tensor(dst=k.out(), data=a, op0=k.nl.multiply, operand0=2.0, op1=k.nl.add,
                                                operand1=b),
    lambda a, b: a * np.float32(2) + b, dtypes=FLOATS, seen=ALL, operands=2)

for source, result in ((F32, F32), (F32, BF16), (BF16, F32), (I32, F32), (F32, I32), (I32, I32), (U8, F32), (I32, U8)):
    add("tensor_copy", lambda k, a, result=result: k.nisa.tensor_copy(dst=k.out(result), src=a),
        lambda a, result=result: a.astype(np.float32 if result == BF16 else result), variant=f"to_{result}",
        dtypes=(source,), seen=ALL if source == result == F32 else (DENSE, COLUMN))
add("tensor_copy", lambda k, a: k.nisa.tensor_copy(dst=k.strided_out(), src=a),
    lambda a: np.empty((128, 1024), a.dtype).__setitem__((slice(None), slice(None, None, 2)), a),
    variant="strided_out", dtypes=(F32, BF16, U8))

for name, peer in {"exp": np.exp, "tanh": np.tanh, "sqrt": np.sqrt, "square": np.square,
                   "copy": np.copy, "relu": lambda a: np.maximum(a, 0)}.items():
    add("activation", lambda k, a, name=name: k.nisa.activation(dst=k.out(), op=k.op(name), data=a),
        peer, variant=name, dtypes=FLOATS if name in ("exp", "copy") else (F32,),
        seen=ALL if name in ("exp", "copy") else (DENSE,))
add("activation_reduce",
    lambda k, a: k.nisa.activation_reduce(dst=k.out(), op=k.nl.exp, data=a, reduce_op=k.nl.add,
                                          reduce_res=k.out(F32, (128, 1))),
    lambda a: np.exp(a).sum(axis=1, keepdims=True), dtypes=FLOATS)
add("reciprocal", lambda k, a: k.nisa.reciprocal(dst=k.out(), data=a), lambda a: 1 / a, dtypes=FLOATS, seen=ALL)
add("exponential", lambda k, a: k.nisa.exponential(dst=k.out(), src=a), np.exp, dtypes=FLOATS, target="trn3")

for op, peer in {"add": np.sum, "maximum": np.max}.items():
    add("tensor_reduce",
        lambda k, a, op=op: k.nisa.tensor_reduce(dst=k.out(None, (128, 1)), op=k.op(op), data=a,
                                                 axis=tuple(range(1, len(a.shape)))),
        lambda a, peer=peer: peer(a, axis=tuple(range(1, a.ndim))), variant=op, dtypes=ARITHMETIC,
        seen=(DENSE, STRIDED, layouts.PERMUTED), one_per_row=True)
add("tensor_scalar_reduce",
    lambda k, a: k.nisa.tensor_scalar_reduce(dst=k.out(), data=a, op0=k.nl.add, operand0=1.0, reduce_op=k.nl.add,
                                             reduce_res=k.out(F32, (128, 1))),
    lambda a: (a + np.float32(1)).sum(axis=1), dtypes=FLOATS)
add("tensor_scalar_cumulative",
    lambda k, a: k.nisa.tensor_scalar_cumulative(dst=k.out(), src=a, op0=k.nl.multiply, op1=k.nl.add, imm0=1.0,
                                                 imm1=0.0),
    lambda a: np.cumsum(a, axis=1), dtypes=FLOATS)
add("tensor_tensor_scan",
    lambda k, a, b: k.nisa.tensor_tensor_scan(dst=k.out(), data0=a, data1=b, initial=0.0, op0=k.nl.multiply,
                                              op1=k.nl.add),
    lambda a, b: np.cumsum(a * b, axis=1), dtypes=FLOATS, operands=2)
add("tensor_partition_reduce",
    lambda k, a: k.nisa.tensor_partition_reduce(dst=k.out(None, (1, 512)), op=k.nl.add, data=a),
    lambda a: a.sum(axis=0, keepdims=True), dtypes=FLOATS)
add("bn_stats", lambda k, a: k.nisa.bn_stats(dst=k.out(F32, (128, 6)), data=a),
    lambda a: (a.mean(axis=1), a.var(axis=1)), dtypes=FLOATS, one_per_row=True)
add("bn_aggr", lambda k, a: k.nisa.bn_aggr(dst=k.out(F32, (128, 2)), data=a),
    lambda a: (a.mean(axis=1), a.var(axis=1)), loads=((128, 60),), one_per_row=True)

add("affine_select",
    lambda k, a: k.nisa.affine_select(dst=k.out(), pattern=[[-1, 512]], channel_multiplier=4, on_true_tile=a,
                                      on_false_value=-1.0, cmp_op=k.nl.greater_equal),
    lambda a: np.where(4 * np.arange(128)[:, None] >= np.arange(512), a, np.float32(-1)), dtypes=FLOATS)
add("range_select",
    lambda k, a, b: k.nisa.range_select(dst=k.out(), on_true_tile=a, comp_op0=k.nl.greater_equal, comp_op1=k.nl.less,
                                        bound0=b[:, 0:1], bound1=b[:, 1:2], reduce_res=k.out(F32, (128, 1))),
    lambda a, b: np.where((np.arange(512) >= b[:, :1]) & (np.arange(512) < b[:, 1:2]), a, np.float32(-1)).max(axis=1),
    operands=2)
add("select_reduce",
    lambda k, a, b: k.nisa.select_reduce(dst=k.out(), predicate=k.mask(b), on_true=a, on_false=-1.0),
    lambda a, b: np.where(b > 0, a, np.float32(-1)), operands=2)
add("tensor_copy_predicated",
    lambda k, a, b: k.nisa.tensor_copy_predicated(dst=k.filled_out(), src=a, predicate=k.mask(b)),
    lambda a, b: np.where(b > 0, a, np.float32(0)), operands=2, dtypes=FLOATS)

add("memset", lambda k, a: k.nisa.memset(dst=k.out(), value=1), lambda a: np.full(a.shape, 1, a.dtype),
    dtypes=(F32, BF16, I32, U8), seen=(DENSE, COLUMN))
add("iota", lambda k, a: k.nisa.iota(dst=k.out(), pattern=[[1, 512]], channel_multiplier=512),
    lambda a: np.arange(65536).reshape(128, 512).astype(a.dtype), dtypes=(I32, F32))
add("rng", lambda k, a: k.nisa.rng(dst=k.out("uint32")),
    lambda a: RANDOM.integers(0, 2**32, a.shape, dtype=np.uint32), dtypes=(I32,))
add("dropout", lambda k, a: k.nisa.dropout(dst=k.out(), data=a, prob=0.5),
    lambda a: np.where(RANDOM.random(a.shape, dtype=np.float32) < 0.5, np.float32(0), a), dtypes=FLOATS)
add("rand2", lambda k, a: k.nisa.rand2(dst=k.out(), min=0.0, max=1.0),
    lambda a: RANDOM.random(a.shape, dtype=np.float32), target="trn3")
RANDOM = np.random.default_rng(3)


def matmul(k, a, b, **more):
    k.nisa.nc_matmul(dst=k.out(F32, (a.shape[1], b.shape[1]), "psum"), stationary=a, moving=b, **more)


for variant, m, n in (("", 128, 512), ("one_column", 128, 1), ("one_row", 1, 512), ("short", 128, 64)):
    add("nc_matmul", matmul, lambda a, b: a.T @ b, variant=variant, dtypes=FLOATS, operands=2,
        loads=((128, m), (128, n)))
add("nc_matmul",
    lambda k, a, b: k.nisa.nc_matmul(dst=k.out(None, (128, 128), "psum"), stationary=a, moving=k.identity(b),
                                     is_transpose=True),
    lambda a, b: np.ascontiguousarray(a.T), variant="is_transpose", dtypes=FLOATS, operands=2,
    loads=((128, 128), (128, 128)))
add("nc_transpose", lambda k, a: k.nisa.nc_transpose(dst=k.out(None, (128, 128), "psum"), data=a),
    lambda a: np.ascontiguousarray(a.T), variant="tensor", dtypes=FLOATS, loads=((128, 128),))
add("nc_transpose",
    lambda k, a: k.nisa.nc_transpose(dst=k.out(None, (32, 32)), data=a, engine=k.nisa.vector_engine),
    lambda a: np.ascontiguousarray(a.T), variant="vector", dtypes=FLOATS, loads=((32, 32),))

add("quantize_mx", lambda k, a: k.quantized(a), lambda a: (np.abs(a).reshape(16, 8, 512, 4).max(axis=(1, 3)), a * 2),
    dtypes=(BF16,), target="trn3", loads=((128, 2048),))
add("nc_matmul_mx",
    lambda k, a, b: k.nisa.nc_matmul_mx(**k.once("mx", lambda: k.mx_operands(a, b)),
                                        dst=k.out(F32, (128, 512), "psum")),
    lambda a, b: a.reshape(512, 128).T @ b.reshape(512, 512), dtypes=(BF16,), operands=2, target="trn3",
    loads=((128, 512), (128, 2048)))

add("max8", lambda k, a: k.nisa.max8(dst=k.out(None, (128, 8)), src=a),
    lambda a: -np.sort(np.partition(-a, 7, axis=1)[:, :8], axis=1), one_per_row=True)
add("nc_find_index8",
    lambda k, a, b: k.nisa.nc_find_index8(dst=k.out("uint32", (128, 8)), data=a, vals=b),
    lambda a, b: (a[:, None, :] == b[:, :, None]).argmax(axis=2), operands=2, loads=((128, 512), (128, 8)),
    one_per_row=True)
add("nc_match_replace8",
    lambda k, a, b: k.nisa.nc_match_replace8(dst=k.out(), data=a, vals=b, imm=-1.0),
    lambda a, b: np.where((a[:, None, :] == b[:, :, None]).any(axis=1), np.float32(-1), a), operands=2,
    loads=((128, 512), (128, 8)))
add("topk", lambda k, a: k.nisa.topk(val_dst=k.out(None, (128, 16)), idx_dst=k.out("uint32", (128, 16)), src=a, n=16),
    lambda a: np.argsort(-a, axis=1, kind="stable")[:, :16], dtypes=(BF16,), one_per_row=True)
add("nonzero_with_count", lambda k, a: k.nisa.nonzero_with_count(dst=k.out(I32, (128, 513)), src=a),
    lambda a: [np.flatnonzero(row) for row in a], dtypes=(I32,), loads=((128, 512),))
add("local_gather",
    lambda k, a, b: k.nisa.local_gather(dst=k.out(None, (128, 512)), src_buffer=a, index=k.indices(b, 512, "uint16")),
    lambda a, b: np.take_along_axis(a, np.abs(b[:, :1].astype(int)) % 512 + np.zeros((1, 512), int), axis=1),
    operands=2, dtypes=FLOATS, loads=((128, 512), (128, 32)))
add("nc_n_gather",
    lambda k, a, b: k.nisa.nc_n_gather(dst=k.out(), data=a, indices=k.indices(b, 512, "uint32")),
    lambda a, b: np.take_along_axis(a, np.abs(b.astype(int)) % 512, axis=1), operands=2, dtypes=FLOATS)
add("nc_stream_shuffle",
    lambda k, a: k.nisa.nc_stream_shuffle(dst=k.out(), src=a, shuffle_mask=[(i + 1) % 32 for i in range(32)]),
    lambda a: a.reshape(4, 32, -1)[:, np.arange(1, 33) % 32].reshape(a.shape), dtypes=FLOATS, seen=(DENSE, COLUMN))

add("dma_copy", lambda k, a: k.nisa.dma_copy(dst=k.out(), src=a), np.copy, dtypes=(F32, BF16, U8),
    seen=(DENSE, COLUMN, STRIDED))
add("dma_transpose", lambda k, a: k.nisa.dma_transpose(dst=k.out(None, (512, 128), "hbm"), src=a),
    lambda a: np.ascontiguousarray(a.T), dtypes=(BF16,), memory="hbm", loads=((128, 512),))
add("dma_compute",
    lambda k, a, b: k.nisa.dma_compute(dst=k.out(), srcs=[a, b], reduce_op=k.nl.add, scales=[1.0, 1.0]),
    np.add, operands=2, dtypes=FLOATS)
add("sendrecv",
    lambda k, a: k.nisa.sendrecv(src=a, dst=k.out(), send_to_rank=1 - k.core(), recv_from_rank=1 - k.core(),
                                 pipe_id=0),
    lambda a: (np.copy(a), np.copy(a)), cores=2, dtypes=FLOATS, seen=(DENSE, COLUMN))
