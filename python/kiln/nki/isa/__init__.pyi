"""nki.isa: one function per instruction. Made by `python -m kiln._stubs` from the instruction table."""

import enum
from collections.abc import Sequence

from kiln import NkiValidationError as NkiValidationError
from kiln._kiln import NkiInstruction as NkiInstruction, NkiTensor, Op, VirtualRegister as VirtualRegister
from kiln.nki.isa import constants as constants

class dge_mode(enum.Enum):
    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3

class dma_engine(enum.Enum):
    dma = 1
    gpsimd_dma = 2

class engine(enum.Enum):
    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6

class matmul_perf_mode(enum.Enum):
    none = 'none'
    double_row = 'double_row'

class oob_mode(enum.Enum):
    error = 0
    skip = 1

class reduce_cmd(enum.Enum):
    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4

class nc_version(enum.IntEnum):
    gen2 = 2
    gen3 = 3
    gen4 = 4

dma_engine_unknown: engine
gpsimd_engine: engine
scalar_engine: engine
tensor_engine: engine
unknown_engine: engine
vector_engine: engine

def get_nc_version() -> nc_version: ...
def get_nc_sub_version() -> int: ...

def activate2(
    dst: NkiTensor,
    op: Op,
    data: NkiTensor,
    imm0: int | float | NkiTensor,
    imm1: int | float | NkiTensor,
    op0: Op,
    op1: Op,
    relu_param: int | float | NkiTensor | None = ...,
    reverse0: bool | None = ...,
    reverse1: bool | None = ...,
    reduce_op: Op | None = ...,
    reduce_res: NkiTensor | None = ...,
    reduce_cmd: reduce_cmd | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """op applied to two chained operators with scalars or per-partition values, with an optional row reduction."""

def activation(
    dst: NkiTensor,
    op: Op,
    data: NkiTensor,
    bias: int | float | NkiTensor | None = ...,
    scale: int | float | NkiTensor | None = ...,
    reduce_op: Op | None = ...,
    reduce_res: NkiTensor | None = ...,
    reduce_cmd: reduce_cmd | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """op(data * scale + bias) with an optional row sum."""

def activation_reduce(
    dst: NkiTensor,
    op: Op,
    data: NkiTensor,
    reduce_op: Op,
    reduce_res: NkiTensor | None = ...,
    bias: int | float | NkiTensor | None = ...,
    scale: int | float | NkiTensor | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """activation that always starts a new row sum and writes it out."""

def affine_select(
    dst: NkiTensor,
    pattern: Sequence[Sequence[int]],
    channel_multiplier: int,
    on_true_tile: NkiTensor,
    on_false_value: float,
    cmp_op: Op | None = ...,
    offset: int | VirtualRegister | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Keeps the elements where an affine function of the indices satisfies a comparison with zero."""

def bn_aggr(
    dst: NkiTensor,
    data: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Combines the triples of bn_stats into mean and variance."""

def bn_stats(
    dst: NkiTensor,
    data: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Count, mean and sum of squared deviations of the even and of the odd elements of each partition."""

def core_barrier(
    data: NkiTensor,
    cores: Sequence[int],
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Waits until both cores of a pair arrive; orders their accesses to a shared tensor."""

def dma_compute(
    dst: NkiTensor,
    srcs: Sequence[NkiTensor],
    reduce_op: Op,
    scales: Sequence[float] | None = ...,
    unique_indices: bool | None = ...,
    oob_mode: oob_mode | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Adds up to 16 sources elementwise while moving them; with a vector offset, adds into gathered or scattered rows."""

def dma_copy(
    dst: NkiTensor,
    src: NkiTensor,
    priority: int | None = ...,
    oob_mode: oob_mode | None = ...,
    dge_mode: dge_mode | None = ...,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Copies elements between HBM and SBUF in any combination, converting dtypes on the way."""

def dma_transpose(
    dst: NkiTensor,
    src: NkiTensor,
    axes: Sequence[int] | None = ...,
    priority: int | None = ...,
    dge_mode: dge_mode | None = ...,
    oob_mode: oob_mode | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Swaps the first and the last dimension of a 2- to 4-dimensional view while copying it to SBUF."""

def dropout(
    dst: NkiTensor,
    data: NkiTensor,
    prob: int | float | NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Replaces elements by zero with a given probability."""

def exponential(
    dst: NkiTensor,
    src: NkiTensor,
    max_value: int | float | NkiTensor | None = ...,
    reduce_res: NkiTensor | None = ...,
    reduce_cmd: reduce_cmd | None = ...,
    reduce_init: int | float | NkiTensor | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """e^(x - max_value) on the vector engine, with an optional row sum."""

def iota(
    dst: NkiTensor,
    pattern: Sequence[Sequence[int]],
    offset: int | VirtualRegister | None = ...,
    channel_multiplier: int | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Fills a tile with an affine function of partition and free indices."""

def local_gather(
    dst: NkiTensor,
    src_buffer: NkiTensor,
    index: NkiTensor,
    num_elem_per_idx: int | None = ...,
    num_valid_indices: int | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Gathers runs of elements within each partition by indices shared by 16 partitions."""

def max8(
    dst: NkiTensor,
    src: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """The eight largest values of each partition in descending order."""

def memset(
    dst: NkiTensor,
    value: int | float,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Fills a tile with one value."""

def nc_find_index8(
    dst: NkiTensor,
    data: NkiTensor,
    vals: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Positions of eight values in each partition."""

def nc_match_replace8(
    dst: NkiTensor,
    data: NkiTensor,
    vals: NkiTensor,
    imm: float,
    dst_idx: NkiTensor | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Replaces the first match of each of eight values in each partition."""

def nc_matmul(
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    is_stationary_onezero: bool | None = ...,
    is_moving_onezero: bool | None = ...,
    is_transpose: bool | None = ...,
    accumulate: bool | None = ...,
    tile_position: Sequence[int] | None = ...,
    tile_size: Sequence[int] | None = ...,
    perf_mode: matmul_perf_mode | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Multiplies stationary, transposed, with moving into PSUM, overwriting or accumulating."""

def nc_matmul_mx(
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    stationary_scale: NkiTensor,
    moving_scale: NkiTensor,
    tile_position: Sequence[int] | None = ...,
    tile_size: Sequence[int] | None = ...,
    accumulate: bool | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Multiplies microscaled operands: packed elements with one power-of-two scale per group of 32."""

def nc_n_gather(
    dst: NkiTensor,
    data: NkiTensor,
    indices: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Gathers elements within each partition by an index tile."""

def nc_stream_shuffle(
    dst: NkiTensor,
    src: NkiTensor,
    shuffle_mask: Sequence[int],
    name: str | None = ...,
) -> NkiInstruction:
    """Moves partitions around within each group of 32."""

def nc_transpose(
    dst: NkiTensor,
    data: NkiTensor,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Transposes a tile of at most 128 x 128 on the tensor engine or 32 x 32 on the vector engine."""

def nonzero_with_count(
    dst: NkiTensor,
    src: NkiTensor,
    index_offset: int | None = ...,
    padding_val: int | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Indices of the nonzero elements of every 16th partition, and how many there are."""

def quantize_mx(
    dst: NkiTensor,
    src: NkiTensor,
    dst_scale: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Quantises 16-bit floats to packed 8-bit floats with one power-of-two scale per group of 32."""

def rand2(
    dst: NkiTensor,
    min: int | float | NkiTensor,
    max: int | float | NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Uniform random numbers between two bounds."""

def rand_get_state(
    dst: NkiTensor,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Reads the state of an engine's random generator."""

def rand_set_state(
    src_seeds: NkiTensor,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Sets the state of an engine's random generator."""

def range_select(
    dst: NkiTensor,
    on_true_tile: NkiTensor,
    comp_op0: Op,
    comp_op1: Op,
    bound0: NkiTensor,
    bound1: NkiTensor,
    reduce_cmd: reduce_cmd | None = ...,
    reduce_res: NkiTensor | None = ...,
    reduce_op: Op | None = ...,
    range_start: int | None = ...,
    on_false_value: float | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Keeps the elements whose index lies between two bounds per partition, with an optional row maximum."""

def reciprocal(
    dst: NkiTensor,
    data: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """1 / x, at higher precision than the scalar engine's."""

def register_alloc(x: int | NkiTensor | None = ...) -> VirtualRegister: ...

def register_load(
    dst: VirtualRegister,
    src: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Loads a register from a one-element tensor."""

def register_move(
    dst: VirtualRegister,
    src: int | VirtualRegister,
    name: str | None = ...,
) -> NkiInstruction:
    """Copies an integer or another register into a register."""

def register_store(
    dst: NkiTensor,
    src: VirtualRegister,
    name: str | None = ...,
) -> NkiInstruction:
    """Stores a register into a one-element tensor."""

def rng(
    dst: NkiTensor,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Random bits."""

def scalar_tensor_tensor(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Op,
    operand0: int | float | NkiTensor,
    op1: Op,
    operand1: NkiTensor,
    reverse0: bool | None = ...,
    reverse1: bool | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Applies an operator with a scalar, then an operator with a second tile."""

def select_reduce(
    dst: NkiTensor,
    predicate: NkiTensor,
    on_true: NkiTensor,
    on_false: int | float | NkiTensor,
    reduce_res: NkiTensor | None = ...,
    reduce_cmd: reduce_cmd | None = ...,
    reduce_op: Op | None = ...,
    reverse_pred: bool | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Chooses between a tile and a value by a predicate, with an optional row maximum."""

def sendrecv(
    src: NkiTensor,
    dst: NkiTensor,
    send_to_rank: int,
    recv_from_rank: int,
    pipe_id: int,
    dma_engine: dma_engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Exchanges tiles between the two cores of a pair."""

def sequence_bounds(
    dst: NkiTensor,
    segment_ids: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """First and one-past-last index of each element's run of equal segment ids."""

def set_rng_seed(
    src_seeds: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Seeds the vector engine's generator."""

def tensor_copy(
    dst: NkiTensor,
    src: NkiTensor,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Copies a tile, converting the dtype when it differs."""

def tensor_copy_predicated(
    dst: NkiTensor,
    src: int | float | NkiTensor,
    predicate: NkiTensor,
    reverse_pred: bool | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Copies the elements whose predicate is true and leaves the others as they are."""

def tensor_partition_reduce(
    dst: NkiTensor,
    op: Op,
    data: NkiTensor,
    name: str | None = ...,
) -> NkiInstruction:
    """Reduces a tile over its partitions into one partition."""

def tensor_reduce(
    dst: NkiTensor,
    op: Op,
    data: NkiTensor,
    axis: Sequence[int],
    negate: bool | None = ...,
    keepdims: bool | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Reduces the last free dimensions of a tile with one operator."""

def tensor_scalar(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Op,
    operand0: int | float | NkiTensor | None = ...,
    reverse0: bool | None = ...,
    op1: Op | None = ...,
    operand1: int | float | NkiTensor | None = ...,
    reverse1: bool | None = ...,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Applies one or two operators between a tile and scalars or per-partition values."""

def tensor_scalar_cumulative(
    dst: NkiTensor,
    src: NkiTensor,
    op0: Op,
    op1: Op,
    imm0: int | float | NkiTensor,
    imm1: int | float | NkiTensor | None = ...,
    reduce_cmd: reduce_cmd | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Running reduction of tensor_scalar results along the free dimension."""

def tensor_scalar_reduce(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Op,
    operand0: int | float | NkiTensor | None = ...,
    reduce_op: Op | None = ...,
    reduce_res: NkiTensor | None = ...,
    reverse0: bool | None = ...,
    reduce_cmd: reduce_cmd | None = ...,
    reduce_init: int | float | NkiTensor | None = ...,
    reduce_res_negate: bool | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """tensor_scalar with one operator, and a reduction of its result over the free dimensions."""

def tensor_tensor(
    dst: NkiTensor,
    data1: NkiTensor,
    data2: NkiTensor,
    op: Op,
    engine: engine | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Applies a binary operator to two tiles."""

def tensor_tensor_scan(
    dst: NkiTensor,
    data0: NkiTensor,
    data1: NkiTensor,
    initial: int | float | NkiTensor,
    op0: Op,
    op1: Op,
    reverse0: bool | None = ...,
    reverse1: bool | None = ...,
    name: str | None = ...,
) -> NkiInstruction:
    """Linear recurrence along the free dimension: s = op1(op0(data0, s), data1)."""

def topk(
    val_dst: NkiTensor,
    idx_dst: NkiTensor,
    src: NkiTensor,
    n: int,
    name: str | None = ...,
) -> NkiInstruction:
    """The largest values of each group of 16 partitions and their positions, ascending."""
