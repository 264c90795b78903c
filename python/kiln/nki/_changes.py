"""What changed between NKI 0.3.0 and 0.6.0, and how kiln.nki.api_version undoes it: tables only."""

from dataclasses import dataclass

from kiln.nki import _older


@dataclass(frozen=True)
class Change:
    since: str
    what: str
    before: str
    after: str
    names: tuple = ()  # (module, name) that came with it
    attributes: tuple = ()  # of tensors, that came with it
    sizes: tuple = ()  # of nl.tile_size, that came with it
    parameters: tuple = ()  # (function of nki.isa, parameter) that came with it
    calls: tuple = ()  # (function of nki.isa, what older versions do to its arguments)
    methods: tuple = ()  # (method of tensors, what stands for it in older versions)


_VIEWS = ("broadcast", "expand_dim", "flatten_dims", "get_pattern", "indirect", "is_contiguous", "is_indirect", "ndim",
          "permute", "rearrange", "reshape_dim", "select", "size", "slice", "squeeze_dim", "strides", "vector_select")
_BYTES = ("psum_bank_fmax_bytes", "sbuf_fmax_bytes", "sbuf_size_bytes")

CHANGES = (
    Change("0.4.0", "NKI_PRECISE_FP", "0 by default: low-precision tensors are stored as float32", "1 by default"),
    Change("0.4.0", "nisa.activate2, nl.abs_max, nl.abs_min, nl.bypass, nl.prelu", "do not exist", "exist",
           names=(("isa", "activate2"), *(("language", n) for n in ("abs_max", "abs_min", "bypass", "prelu")))),
    Change("0.4.0", "nl.square and nl.relu as op0", "activations only", "operators of the vector engine (trn3)",
           calls=(("tensor_scalar", _older.no_unary_op0), ("tensor_scalar_reduce", _older.no_unary_op0))),
    Change("0.4.0", "nisa.dma_copy", "third argument is oob_mode; no priority", "third argument is priority",
           parameters=(("dma_copy", "priority"),)),
    Change("0.4.0", "nisa.dma_transpose", "fourth argument is dge_mode; no priority", "fourth argument is priority",
           parameters=(("dma_transpose", "priority"),)),
    Change("0.4.0", "nisa.dma_compute(oob_mode=)", "does not exist", "exists",
           parameters=(("dma_compute", "oob_mode"),)),
    Change("0.4.0", "nisa.tensor_scalar_reduce(reduce_cmd=, reduce_init=)", "do not exist", "exist",
           parameters=(("tensor_scalar_reduce", "reduce_cmd"), ("tensor_scalar_reduce", "reduce_init"))),
    Change("0.4.0", "float8_e4m3fn in nisa.nc_matmul", "refused", "on trn3, not mixed with float8_e4m3",
           calls=(("nc_matmul", _older.no_e4m3fn),)),
    Change("0.4.0", "rank of dst in nisa.dma_transpose", "dimensions of size 1 do not count", "that of src",
           calls=(("dma_transpose", _older.any_rank),)),
    Change("0.4.0", "nisa.nc_transpose(engine=)", "has no effect", "chooses the engine",
           calls=(("nc_transpose", _older.no_engine),)),
    Change("0.4.0", "partitions of nisa.sendrecv", "a multiple of 16", "any number",
           calls=(("sendrecv", _older.sixteen_partitions),)),
    Change("0.4.0", "variable of nl.dynamic_range", "no part of an address", "scalar_offset, and index of select",
           methods=(("ap", _older.ap),)),
    Change("0.4.0", "nl.tile_size." + ", ".join(_BYTES), "do not exist", "exist", sizes=_BYTES),
    Change("0.5.0", "nl.float8_e8m0fnu, nl.average, nisa.get_nc_sub_version", "do not exist: MX scales are uint8",
           "exist", names=(("language", "float8_e8m0fnu"), ("language", "average"), ("isa", "get_nc_sub_version"))),
    Change("0.5.0", "views of tensors: " + ", ".join(_VIEWS), "do not exist: reshape, ap and view only", "exist",
           attributes=_VIEWS),
    Change("0.5.0", "reshape of a tensor in HBM", "to at most its number of elements", "to its number of elements",
           methods=(("reshape", _older.reshape),)),
    Change("0.5.0", "nl.matmul(transpose_x=False)", "refused", "transposes x first"),
    Change("0.5.0", "bfloat16 dst of nisa.nc_matmul", "at most 4096 elements in a partition", "at most 8192",
           calls=(("nc_matmul", _older.small_destination),)),
    Change("0.5.0", "scales of nisa.quantize_mx", "half as large; elements beyond the largest number are cut to it",
           "large enough for every finite element"),
    Change("0.5.0", "nl.rsqrt", "an activation on the scalar engine; takes PSUM", "on gpsimd, more precise; SBUF only"),
    Change("0.6.0", "nl.copy", "on the scalar engine, through float32: integers above 2^24 are rounded; SBUF only",
           "on the vector engine, bit for bit; SBUF and PSUM"),
    Change("0.6.0", "nl.fori_loop, nl.while_loop, nisa.topk, nki.collectives.all_gather_v", "do not exist", "exist",
           names=(("language", "fori_loop"), ("language", "while_loop"), ("isa", "topk"),
                  ("collectives", "all_gather_v"))),
    Change("0.6.0", "what a call of nki.isa returns", "None", "an NkiInstruction, for depends_on",
           names=(("isa", "NkiInstruction"),)),
    Change("0.6.0", "nisa.tensor_scalar_reduce(reduce_res_negate=)", "does not exist; reduce_res is required",
           "exists; reduce_res is optional", parameters=(("tensor_scalar_reduce", "reduce_res_negate"),),
           calls=(("tensor_scalar_reduce", _older.with_reduce_res),)),
    Change("0.6.0", "nisa.dma_transpose by hardware DGE", "16 rows, last dimension a multiple of 128",
           "1, 2, 4, 8 or 16 rows of 3-D and 4-D tensors, last dimension at most 128",
           calls=(("dma_transpose", _older.strict_hardware_dge),)),
    Change("0.6.0", "nl.dynamic_range, while register:", "device loops", "device loops with a DeprecationWarning"),
)  # fmt: skip

# What older versions did otherwise and Kiln does in one way for all: (version, what, how).
KEPT = (
    ("0.4.0", "nl.logical_and, nisa.local_gather, nisa.nc_stream_shuffle with 255, 3-D nisa.nc_matmul",
     "values of the hardware; older simulators of the vendor were wrong"),
    ("0.4.0", "nisa.tensor_scalar_reduce(reduce_op=nl.subtract)", "refused"),
    ("0.4.0", "writing the variable of nl.dynamic_range", "refused"),
    ("0.5.0", "nisa.nc_matmul(accumulate=True) on what nothing wrote", "reported"),
    ("0.5.0", "nisa.dma_transpose with scalar_offset and oob_mode.skip", "legal"),
    ("0.6.0", "float32 to integers", "rounds to the nearest, ties to even, and saturates"),
    ("0.6.0", "nisa.nc_find_index8, nisa.nc_match_replace8", "values of the hardware"),
    ("0.6.0", "operands of more than 128 partitions", "refused"),
)  # fmt: skip
