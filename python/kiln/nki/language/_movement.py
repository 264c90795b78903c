"""Moving tiles between HBM and SBUF, and laying them out anew."""

from kiln._trace import memory, rules, traced_kernel, version, views
from kiln._trace.errors import refuse
from kiln._trace.warnings import warn_not_portable
from kiln.nki import _older, isa as nisa
from kiln.nki._tile_size import tile_size
from kiln.nki.language import _tiles
from kiln.nki.language._tokens import token

__all__ = ["broadcast_to", "copy", "expand_dims", "gather_flattened", "load", "load_transpose2d", "matmul", "store",
           "transpose", "where"]


def _require_hbm(function, tensor, role, help):
    if not _tiles.is_tile(tensor):
        refuse(rules.HBM_AND_SBUF, f"{role} of nl.{function} is a {type(tensor).__name__}")
    if not memory.is_hbm(tensor.buffer):
        refuse(rules.HBM_AND_SBUF, f"{role} of nl.{function}, `{tensor.name}`, is in {tensor.buffer.name}", help)


def _require_tile_shape(function, shape, source):
    if len(shape) < 2:
        n = shape[0]
        refuse(rules.TILE_LAYOUT, f"nl.{function} of shape {shape}",
               f"tiles have two dimensions or more: pass {source}.reshape(({n}, 1)) or .reshape((1, {n}))")
    if shape[0] > tile_size.pmax:
        refuse(rules.TILE_LAYOUT, f"nl.{function} makes a tile of {shape[0]} partitions",
               f"a tile has at most {tile_size.pmax} partitions: take slices of {tile_size.pmax} in a loop")


def _copy(dst, src):
    """A DMA whose queue the vendor's compiler chooses; before NKI 0.5.0, instructions return nothing."""
    made = nisa.dma_copy(dst, src)
    if made is not None:
        made.leave_open()


def load(src, dtype=None):
    """A new SBUF tile with the elements of a tensor in HBM."""
    _require_hbm("load", src, "src", "a tile on chip is copied with nl.copy")
    _require_tile_shape("load", src.shape, "src")
    dst = _tiles.like(src, dtype)
    _copy(dst, src)
    return dst


def store(dst, value):
    """Writes a tile in SBUF to a tensor in HBM, converting to its dtype."""
    _require_hbm("store", dst, "dst", "write tiles on chip with nisa.tensor_copy")
    if not _tiles.is_tile(value) or not memory.is_on_chip(value.buffer):
        found = f"in {value.buffer.name}" if _tiles.is_tile(value) else f"a {type(value).__name__}"
        refuse(rules.HBM_AND_SBUF, f"value of nl.store is {found}",
               _tiles.help_for(value, "pass a tile in SBUF; HBM to HBM is nisa.dma_copy, numbers are nl.full"))
    if memory.is_psum(value.buffer):
        refuse(rules.HBM_AND_SBUF, f"value of nl.store, `{value.name}`, is in psum",
               "DMA does not read PSUM: nl.store(dst, nl.copy(value))")
    if _tiles.without_ones(dst.shape) != _tiles.without_ones(value.shape):
        refuse(rules.TILE_LAYOUT, f"nl.store of {value.shape} into {dst.shape}", "slice dst to the shape of value")
    _copy(dst, value)


def load_transpose2d(src, dtype=None):
    """The transpose of a 2-D tensor in HBM as a new SBUF tile; dimensions of size 1 after these two do not count."""
    _require_hbm("load_transpose2d", src, "src", "transpose tiles on chip with nl.transpose")
    while len(src.shape) > 2 and src.shape[-1] == 1:
        src = views.squeeze_dim(src, len(src.shape) - 1)
    if len(src.shape) != 2:
        refuse(rules.TILE_LAYOUT, f"nl.load_transpose2d of shape {src.shape}",
               "slice or reshape src to two dimensions")
    shape = (src.shape[1], src.shape[0])
    _require_tile_shape("load_transpose2d", shape, "src")
    is_argument = traced_kernel.running("nl.load_transpose2d").is_argument(src)
    if nisa.get_nc_version() == nisa.nc_version.gen2 and not is_argument:
        warn_not_portable(f"nl.load_transpose2d of `{src.name}`, which is no argument of the kernel",
                          "on trn1 pass the tensor in, or nl.load it and use nl.transpose")
    dst = _tiles.new(shape, src.dtype)
    nisa.dma_transpose(dst, src)
    return cast(dst, dtype)


def cast(x, dtype):
    """x itself, or a copy in another dtype."""
    if dtype is None or _tiles.dtype_name(dtype) == x.dtype:
        return x
    dst = _tiles.new(x.shape, dtype)
    nisa.tensor_copy(dst, x)
    return dst


def copy(x, dtype=None):
    """A new SBUF tile with x's elements: bit for bit unless dtype differs. Before NKI 0.6.0 through float32."""
    _tiles.require_tile("copy", x)
    dst = _tiles.like(x, dtype)
    if not version.at_least("0.6.0"):
        if memory.is_psum(x.buffer):
            _older.missing("nl.copy of a tile in PSUM (nisa.tensor_copy takes it)", "0.6.0")
        nisa.activation(dst, token("copy"), x)
        return dst
    nisa.tensor_copy(dst, x, engine=nisa.engine.vector)
    return dst


def transpose(x, dtype=None):
    """The transpose of a 2-D tile, in PSUM."""
    _tiles.require_tile("transpose", x)
    if len(x.shape) != 2:
        refuse(rules.TILE_LAYOUT, f"nl.transpose of shape {x.shape}", "reshape x to (P, F)")
    dst = _transposed(x, memory.psum)
    if dtype is None or _tiles.dtype_name(dtype) == x.dtype:
        return dst
    result = _tiles.new(dst.shape, dtype, memory.psum)
    nisa.tensor_copy(result, dst)
    return result


def _transposed(x, buffer):
    rows, columns = x.shape[1], x.shape[0]
    if x.dtype.itemsize == 1 and nisa.get_nc_version() > nisa.nc_version.gen2:
        # The tensor engine writes 1-byte results 16 bits apart.
        dst = _tiles.new((rows, columns, 2), x.dtype, buffer)[:, :, 0]
    else:
        dst = _tiles.new((rows, columns), x.dtype, buffer)
    nisa.nc_transpose(dst, x)
    return dst


def matmul(x, y, transpose_x=False):
    """x @ y, or x.T @ y with transpose_x, as a float32 tile in PSUM."""
    for operand in (x, y):
        _tiles.require_tile("matmul", operand)
        if len(operand.shape) != 2:
            refuse(rules.TILE_LAYOUT, f"nl.matmul of shape {operand.shape}",
                   "reshape the operands to two dimensions")
    inner = x.shape[0] if transpose_x else x.shape[1]
    if inner != y.shape[0]:
        refuse(rules.TILE_LAYOUT, f"nl.matmul of {x.shape} and {y.shape}, transpose_x={transpose_x}",
               "x is (K, M) with transpose_x=True, (M, K) without; y is (K, N)")
    stationary = x
    if not transpose_x:
        if not version.at_least("0.5.0"):
            _older.missing("nl.matmul with transpose_x=False", "0.5.0")
        in_psum = _transposed(x, memory.psum)
        stationary = _tiles.scratch(in_psum.shape, x.dtype)
        nisa.tensor_copy(stationary, in_psum)
    dst = _tiles.new((stationary.shape[1], y.shape[1]), "float32", memory.psum)
    nisa.nc_matmul(dst, stationary, y)
    return dst


def expand_dims(x, axis):
    """A view of x with a dimension of size 1 at axis."""
    if not _tiles.is_tile(x):
        _tiles.require_tile("expand_dims", x)
    return views.expand_dim(x, axis)


def broadcast_to(x, shape, dtype=None):
    """x with its dimensions of size 1 expanded, as a new SBUF tile; x itself when nothing changes."""
    _tiles.require_tile("broadcast_to", x)
    if not isinstance(shape, (tuple, list)):
        refuse(rules.ARGUMENT_KIND, f"the shape {shape!r} of nl.broadcast_to", f"pass a tuple of {len(x.shape)} ints")
    shape = tuple(shape)
    if len(shape) != len(x.shape) or not _expands(x.shape, shape):
        refuse(rules.TILE_LAYOUT, f"nl.broadcast_to of {x.shape} to {shape}",
               "both have the same rank, and dimensions that change have size 1 in x")
    if shape == x.shape:
        return cast(x, dtype)
    _require_tile_shape("broadcast_to", shape, "x")
    wide = x
    for dim in range(1, len(shape)):
        if wide.shape[dim] != shape[dim]:
            wide = views.broadcast(wide, dim, shape[dim])
    dst = _tiles.new(shape, dtype or x.dtype)
    if shape[0] == x.shape[0]:
        nisa.tensor_copy(dst, wide)
    else:
        _to_all_partitions(dst, wide)
    return dst


def _expands(old, new):
    return all(o == n or o == 1 for o, n in zip(old, new))


def _to_all_partitions(dst, row):
    """Copies a (1, ...) view into every partition of dst: floats by a product with ones, as the vendor's guide says of
    this function, integers by shuffles of 32 partitions."""
    if row.dtype in ("float32", "bfloat16", "float16"):
        return _multiply_by_ones(dst, row)
    source = _tiles.scratch((32, *dst.shape[1:]), dst.dtype)
    nisa.tensor_copy(source[0:1], row)
    for first in range(0, dst.shape[0], 32):
        nisa.nc_stream_shuffle(dst[first:min(first + 32, dst.shape[0])], source, [0] * 32)


def _multiply_by_ones(dst, row):
    ones = _ones(row.dtype)
    columns = _tiles.free_size(dst)
    if len(row.shape) > 2 or memory.is_psum(row.buffer):
        row = _in_one_row(row, columns)
    flat = dst.reshape((dst.shape[0], columns))
    for first in range(0, columns, tile_size.gemm_moving_fmax):
        part = slice(first, min(first + tile_size.gemm_moving_fmax, columns))
        bank = _tiles.scratch((dst.shape[0], part.stop - first), "float32", memory.psum)
        nisa.nc_matmul(bank, ones[:, 0:dst.shape[0]], row[:, part], is_stationary_onezero=True)
        nisa.activation(flat[:, part], token("copy"), bank)


def _ones(dtype):
    """A row of ones in SBUF, made once for the kernel, or anew in the body of a device loop."""
    kernel = traced_kernel.running("nl.broadcast_to")
    ones = None if kernel.trace.open_loops else kernel.ones.get(dtype)
    if ones is None:
        ones = _tiles.scratch((1, tile_size.gemm_stationary_fmax), dtype)
        nisa.memset(ones, 1.0)
        if not kernel.trace.open_loops:
            kernel.ones[dtype] = ones
    return ones


def _in_one_row(row, columns):
    copy = _tiles.scratch((1, columns), row.dtype)
    nisa.tensor_copy(copy.reshape(row.shape), row)
    return copy


def where(condition, x, y, dtype=None):
    """x where condition is 1, y where it is 0. x and y are tiles or numbers."""
    _tiles.require_tile("where", condition)
    for operand in (x, y):
        _tiles.require_number_or_tile("where", operand)
    dst = _tiles.new(condition.shape, dtype or _where_dtype(condition, x, y))
    on_true, on_false = fitted("where", x, dst), fitted("where", y, dst)
    if _tiles.is_tile(on_false):
        nisa.tensor_copy(dst, on_false)
    else:
        nisa.memset(dst, on_false if _tiles.is_float(dst.dtype) else int(on_false))
    if _tiles.is_tile(on_true) and on_true.dtype != dst.dtype:
        converted = _tiles.scratch(dst.shape, dst.dtype)
        nisa.tensor_copy(converted, on_true)
        on_true = converted
    nisa.tensor_copy_predicated(dst, on_true, _predicate(condition))
    return dst


def _where_dtype(condition, x, y):
    dtypes = sorted({t.dtype for t in (x, y) if _tiles.is_tile(t)})
    if len(dtypes) > 1:
        refuse(rules.ONE_DTYPE, f"nl.where of {' and '.join(dtypes)}", dtype="float32")
    return dtypes[0] if dtypes else condition.dtype


def fitted(function, operand, dst):
    """A number, or a tile seen in the size of dst."""
    if not _tiles.is_tile(operand) or operand.shape == dst.shape:
        return operand
    if operand.shape[0] == dst.shape[0] and _tiles.is_column(operand):
        return _tiles.spread(operand, _tiles.free_size(dst))
    refuse(rules.EQUAL_SHAPES, f"nl.{function} of {operand.shape} with {dst.shape}")


def _predicate(condition):
    if condition.dtype in ("uint8", "uint16", "uint32"):
        return condition
    predicate = _tiles.scratch(condition.shape, "uint8")
    nisa.tensor_copy(predicate, condition)
    return predicate


def gather_flattened(data, indices, axis=0, dtype=None):
    """Per partition, the elements of data's flattened free dimensions that indices name."""
    _tiles.require_tile("gather_flattened", data)
    _tiles.require_tile("gather_flattened", indices)
    if axis != 0:
        refuse(rules.TILE_LAYOUT, f"nl.gather_flattened along axis {axis}",
               "leave axis out; the free dimensions are flattened")
    if _tiles.is_float(indices.dtype):
        refuse(rules.ARGUMENT_KIND, f"indices of nl.gather_flattened are {indices.dtype}",
               "pass a tile of nl.uint32, e.g. nl.copy(indices, dtype=nl.uint32)")
    if indices.dtype != "uint32":
        unsigned = _tiles.scratch(indices.shape, "uint32")
        nisa.tensor_copy(unsigned, indices)
        indices = unsigned
    dst = _tiles.new(indices.shape, data.dtype)
    nisa.nc_n_gather(dst, data, indices)
    return cast(dst, dtype)
