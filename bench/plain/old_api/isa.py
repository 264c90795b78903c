"""neuronxcc.nki.isa: each function is the instruction of that name; what it returned is what its dst is now."""

import numpy as np

from kiln._trace import memory
from kiln.nki import isa as nisa

from .indexing import box, trimmed
from .notes import GUESSES, NotRewritten
from .operators import broadcast_free, fitted, to_partitions, token, trimmed_shape
from .values import Pending, Value, move, on_sbuf, plain_dtype, settle

# What the old package has under the same names.
for _name in ("dge_mode", "engine", "get_nc_version", "nc_version", "oob_mode", "reduce_cmd"):
    globals()[_name] = getattr(nisa, _name)
unknown_engine, tensor_engine, vector_engine, scalar_engine, gpsimd_engine = (
    nisa.engine.unknown, nisa.engine.tensor, nisa.engine.vector, nisa.engine.scalar, nisa.engine.gpsimd)
ANYWHERE = (memory.sbuf, memory.psum)


def _number(x):
    return x.item() if isinstance(x, np.generic) else x


def _operand(x):
    """A number, or a column as a view."""
    if not isinstance(x, Value):
        return _number(x)
    view = x.view
    return fitted(view, (view.shape[0], 1)) if int(np.prod(view.shape)) == view.shape[0] else view


def _one(data, dtype, mask, issue, shape=None):
    """The result of an instruction on one tile."""
    view, sizes = data.view, box(mask)

    def emit(dst):
        if not (sizes and 0 in sizes):
            issue(trimmed(dst, sizes), trimmed(view, sizes), lambda other: _trim(other, sizes))

    return Pending(shape or view.shape, dtype or data.dtype, emit, places=ANYWHERE)


def _trim(operand, sizes):
    if sizes is None or not hasattr(operand, "shape"):
        return operand
    return trimmed(operand, sizes[:1])


def tensor_copy(src, *, mask=None, dtype=None, engine=unknown_engine, **_):
    return _one(src, dtype, mask, lambda dst, x, _: nisa.tensor_copy(dst, x, engine=engine))


def reciprocal(data, *, dtype=None, mask=None, **_):
    return _one(data, dtype, mask, lambda dst, x, _: nisa.reciprocal(dst, x))


def activation(op, data, *, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=None, dtype=None,
               mask=None, **_):
    options = {}
    if reduce_op is not None:
        options = dict(reduce_op=token(reduce_op), reduce_cmd=reduce_cmd or nisa.reduce_cmd.reset_reduce)
        if reduce_res is not None:
            options["reduce_res"] = _operand(Value(reduce_res.target))
    bias, scale = None if bias is None else _operand(bias), _operand(scale)

    def issue(dst, x, trim):
        extra = dict(options) if bias is None else dict(options, bias=trim(bias))
        nisa.activation(dst, token(op), x, scale=trim(scale), **extra)

    return _one(data, dtype, mask, issue)


def activation_reduce(op, data, *, reduce_op, reduce_res, bias=None, scale=1.0, mask=None, dtype=None, **_):
    return activation(op, data, bias=bias, scale=scale, reduce_op=reduce_op, reduce_res=reduce_res, mask=mask,
                      dtype=dtype)


def tensor_scalar(data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, *, dtype=None,
                  mask=None, engine=unknown_engine, **_):
    first, second = _operand(operand0), None if operand1 is None else _operand(operand1)

    def issue(dst, x, trim):
        options = dict(reverse0=reverse0, engine=engine)
        if op1 is not None:
            options.update(op1=token(op1), operand1=trim(second), reverse1=reverse1)
        nisa.tensor_scalar(dst, x, token(op0), trim(first), **options)

    return _one(data, dtype, mask, issue)


def tensor_tensor(data1, data2, op, *, dtype=None, mask=None, engine=unknown_engine, **_):
    partitions = max(data1.shape[0], data2.shape[0])
    x, y = to_partitions(data1, partitions), to_partitions(data2, partitions)
    a, b, sizes = x.view, y.view, box(mask)
    rank = max(len(a.shape), len(b.shape))
    a, b = (fitted(v, tuple(v.shape) + (1,) * (rank - len(v.shape))) for v in (a, b))
    shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))

    def emit(dst):
        if sizes and 0 in sizes:
            return
        wide = trimmed_shape(shape, sizes)
        p, q = (broadcast_free(trimmed(v, sizes), wide) for v in (a, b))
        nisa.tensor_tensor(trimmed(fitted(dst, shape), sizes), p, q, token(op), engine=engine)

    return Pending(shape, dtype or x.dtype, emit, places=ANYWHERE)


def scalar_tensor_tensor(*, data, op0, operand0, reverse0=False, op1, operand1, reverse1=False, dtype=None, mask=None,
                         **_):
    first, second, sizes = _operand(operand0), operand1.view, box(mask)
    return _one(data, dtype, mask, lambda dst, x, trim: nisa.scalar_tensor_tensor(
        dst, x, token(op0), trim(first), token(op1), trimmed(second, sizes), reverse0=reverse0, reverse1=reverse1))


def tensor_reduce(op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False, **_):
    axes = sorted(int(a) % len(data.shape) for a in (axis if isinstance(axis, (tuple, list)) else [axis]))
    kept = [d for d in range(len(data.shape)) if d not in axes]
    view, sizes = data.view, box(mask)
    shape = tuple(1 if d in axes else n for d, n in enumerate(view.shape)) if keepdims else \
        tuple(view.shape[d] for d in kept)

    def emit(dst):
        if sizes and 0 in sizes:
            return
        x = trimmed(view, sizes)
        out = trimmed(dst, None if sizes is None else sizes[:1])
        if kept + axes != list(range(len(view.shape))):
            x = x.permute(kept + axes)
        inner = tuple(x.shape[:len(kept)])
        out = fitted(out, inner if len(inner) > 1 else (*inner, 1))
        nisa.tensor_reduce(out, token(op), x, axis=list(range(len(kept), len(x.shape))), negate=negate)

    return Pending(shape, dtype or data.dtype, emit, places=ANYWHERE)


def tensor_tensor_scan(data0, data1, initial, op0, op1, reverse0=False, reverse1=False, *, dtype=None, mask=None, **_):
    partitions = max(data0.shape[0], data1.shape[0])
    x, y = to_partitions(data0, partitions), to_partitions(data1, partitions)
    a, b, start, sizes = x.view, y.view, _operand(initial), box(mask)
    start = float(start) if not hasattr(start, "shape") else start
    wide = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))

    def emit(dst):
        nisa.tensor_tensor_scan(trimmed(dst, sizes), trimmed(broadcast_free(a, wide), sizes),
                                trimmed(broadcast_free(b, wide), sizes), start, token(op0), token(op1),
                                reverse0=reverse0, reverse1=reverse1)

    return Pending(wide, dtype or x.dtype, emit, places=ANYWHERE)


def nc_matmul(stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False, mask=None,
              is_transpose=False, **_):
    sizes = box(mask)
    a, b = on_sbuf(stationary.view), on_sbuf(moving.view)
    if sizes is not None:
        rows = sizes[0]
        a, b = trimmed(a, [rows]), trimmed(b, sizes)
    square = tuple(b.shape) == (b.shape[0],) * 2
    options = dict(is_stationary_onezero=is_stationary_onezero, is_moving_onezero=is_moving_onezero,
                   is_transpose=is_transpose and square)
    shape = (int(np.prod(a.shape[1:])), *moving.shape[1:])

    def issue(dst, accumulate):
        if sizes and 0 in sizes:
            return
        dst = dst if sizes is None else trimmed(dst, [None, *sizes[1:]])
        columns = int(np.prod(b.shape[1:]))
        if int(np.prod(dst.shape[1:])) != columns:
            raise NotRewritten(f"a product of {columns} columns into {dst.shape}")
        nisa.nc_matmul(dst, a, b, accumulate=accumulate, **options)

    dtype = stationary.dtype if options["is_transpose"] else "float32"
    return Pending(shape, dtype, lambda dst: issue(dst, False), memory.psum,
                   None if options["is_transpose"] else (lambda dst: issue(dst, None)), (memory.psum,))


def nc_transpose(data, *, mask=None, dtype=None, engine=unknown_engine, **_):
    on_vector = engine == vector_engine and max(data.shape[0], int(np.prod(data.shape[1:]))) <= 32
    if engine == vector_engine and not on_vector:
        GUESSES["transposes of more than 32 x 32 on the tensor engine instead of the vector engine"] += 1
        engine = unknown_engine
    view = data.view if on_vector else on_sbuf(data.view)
    shape = (int(np.prod(view.shape[1:])), view.shape[0])
    flat = fitted(view, (view.shape[0], shape[0]))
    place = memory.sbuf if on_vector else memory.psum
    return Pending(shape, data.dtype, lambda dst: nisa.nc_transpose(dst, flat, engine=engine), place, None,
                   ANYWHERE if on_vector else (memory.psum,))


def memset(shape, value, dtype, *, mask=None, engine=unknown_engine, **_):
    value = _number(value)
    value = float(value) if "float" in str(plain_dtype(dtype)) else value
    return Pending(shape, dtype, lambda dst: nisa.memset(dst, value, engine=engine), places=ANYWHERE)


def dma_copy(*, dst, src, mask=None, dst_rmw_op=None, oob_mode=None, **_):
    if dst_rmw_op is not None:
        raise NotRewritten("dma_copy that adds")
    settle()
    sizes = box(mask)
    target = trimmed(dst.target, sizes)
    assign_from = trimmed(fitted(src.view, dst.shape), sizes)
    dst.origin.unset = False
    if not (sizes and 0 in sizes):
        move(target, assign_from)


def dma_transpose(src, *, axes=None, mask=None, dtype=None, **_):
    view = src.view
    return Pending((view.shape[1], view.shape[0]), src.dtype, lambda dst: nisa.dma_transpose(dst, view))


def affine_select(*_, **__):
    raise NotRewritten("affine_select")


tensor_copy_predicated = affine_select
