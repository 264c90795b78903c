"""nki.collectives as one rank sees them: a run simulates rank 0, so a group that is this rank alone is simulated, and a
group with other ranks is refused."""

from kiln._trace import memory as _memory, views as _views
from kiln._trace.errors import not_yet
from kiln.nki import _as_of, isa
from kiln.nki.collectives import _operands
from kiln.nki.collectives._groups import RANK, ReplicaGroup, other_ranks, require_alone
from kiln.nki.language import _creation, _tiles

__all__ = ["ReplicaGroup", "all_gather", "all_gather_v", "all_reduce", "all_to_all", "all_to_all_v",
           "collective_permute", "collective_permute_implicit",
           "collective_permute_implicit_current_processing_rank_id",
           "collective_permute_implicit_reduce", "rank_id", "reduce_scatter"]


def _copy(srcs, dsts):
    for src, dst in zip(srcs, dsts):
        isa.dma_copy(dst=dst, src=src)


def all_reduce(srcs, dsts, replica_group, op, priority=None, name=None):
    """dst = op over the src of every rank of the group."""
    require_alone("all_reduce", replica_group)
    _operands.require("all_reduce", srcs, dsts)
    _operands.require_operator("all_reduce", op)
    _operands.require_priority("all_reduce", priority)
    _copy(srcs, dsts)


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """dst = the src of every rank of the group, one after the other along collective_dim."""
    require_alone("all_gather", replica_group)
    _operands.require("all_gather", srcs, dsts)
    _operands.require_dimension("all_gather", srcs[0], collective_dim, in_sbuf=(0, 1))
    _operands.require_priority("all_gather", priority)
    _copy(srcs, dsts)


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """dst = this rank's part, along collective_dim, of op over the src of every rank of the group."""
    require_alone("reduce_scatter", replica_group)
    _operands.require("reduce_scatter", srcs, dsts)
    _operands.require_dimension("reduce_scatter", srcs[0], collective_dim)
    _operands.require_operator("reduce_scatter", op)
    _operands.require_priority("reduce_scatter", priority)
    _copy(srcs, dsts)


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Part j of rank i's src goes to part i of rank j's dst."""
    require_alone("all_to_all", replica_group)
    _operands.require("all_to_all", srcs, dsts, sbuf=False)
    _operands.require_dimension("all_to_all", srcs[0], collective_dim)
    _operands.require_priority("all_to_all", priority)
    _copy(srcs, dsts)


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """The dst of every target is the src of its source; ranks in no pair do nothing."""
    _operands.require("collective_permute", srcs, dsts, sbuf=False, several=False)
    _operands.require_priority("collective_permute", priority)
    for source, target in source_target_pairs:
        if RANK in (source, target):
            if source != target:
                other_ranks("collective_permute", (source, target))
            _copy(srcs, dsts)


def collective_permute_implicit(srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,), priority=None,
                                name=None):
    """A step around the ring of the group: dst is the predecessor's src."""
    this = "collective_permute_implicit"
    require_alone(this, replica_group)
    _operands.require_channels(
        this, {"srcs_by_channel": srcs_by_channel, "dsts_by_channel": dsts_by_channel}, channel_ids)
    _operands.require_priority(this, priority)
    for srcs, dsts in zip(srcs_by_channel, dsts_by_channel):
        _operands.require(this, srcs, dsts, several=False)
        _copy(srcs, dsts)


def collective_permute_implicit_reduce(srcs0_by_channel, srcs1_by_channel, dsts_by_channel, replica_group, op,
                                       channel_ids=(0,), priority=None, name=None):
    """A step around the ring of the group: dst is the predecessor's op(src0, src1)."""
    this = "collective_permute_implicit_reduce"
    require_alone(this, replica_group)
    _operands.require_channels(this, {"srcs0_by_channel": srcs0_by_channel, "srcs1_by_channel": srcs1_by_channel,
                                      "dsts_by_channel": dsts_by_channel}, channel_ids)
    _operands.require_operator(this, op)
    _operands.require_priority(this, priority)
    for srcs0, srcs1, dsts in zip(srcs0_by_channel, srcs1_by_channel, dsts_by_channel):
        _operands.require(this, srcs0, dsts, several=False)
        _operands.require(this, srcs1, dsts, several=False)
        _reduce(dsts[0], srcs0[0], srcs1[0], op)


def _reduce(dst, first, second, op):
    """dst = op(first, second): in SBUF at once, in HBM through two tiles."""
    if _memory.is_sbuf(dst.buffer):
        isa.tensor_tensor(dst, first, second, op)
        return
    flat = [tensor.reshape((_views.size(tensor),)) for tensor in (first, second, dst)]
    tiles = [_tiles.scratch(_creation.staging_shape(dst), dst.dtype) for _ in range(2)]
    for start, part in _creation.pieces(_views.size(dst), tiles[0]):
        other = tiles[1][0:part.shape[0], 0:part.shape[1]]
        here = slice(start, start + _views.size(part))
        isa.dma_copy(part, flat[0][here].reshape(part.shape))
        isa.dma_copy(other, flat[1][here].reshape(part.shape))
        isa.tensor_tensor(part, part, other, op)
        isa.dma_copy(flat[2][here], part)


def collective_permute_implicit_current_processing_rank_id(iteration_id, replica_group, channel_id=0,
                                                           name=None):
    """A register with the rank whose data is here at a step around the ring."""
    require_alone("collective_permute_implicit_current_processing_rank_id", replica_group)
    return isa.register_alloc(RANK)


def rank_id(name=None):
    """A register with the number of the rank that runs: 0."""
    return isa.register_alloc(RANK)


def all_to_all_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, has_rdispls=False, priority=None,
                 name=None):
    """all_to_all of parts whose sizes are in a tensor. Not built yet: raises not_yet."""
    not_yet("nki.collectives.all_to_all_v", "with sizes that are known beforehand write all_to_all, or nisa.dma_copy")


def all_gather_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, has_rdispls=False, priority=None,
                 name=None):
    """all_gather of parts whose sizes are in a tensor, among 4 ranks. Not built yet: raises not_yet."""
    not_yet("nki.collectives.all_gather_v, which takes groups of 4 ranks",
            "with one rank and a size that is known beforehand write all_gather, or nisa.dma_copy")


__getattr__, __dir__ = _as_of.names("collectives", globals())
