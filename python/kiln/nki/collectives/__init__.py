"""nki.collectives: what the ranks of a launch do together. nki.simulate(kernel, ranks=n) runs a kernel on n of them."""

from kiln import _kiln
from kiln._trace import traced_kernel as _traced_kernel
from kiln.nki import _as_of
from kiln.nki.collectives import _operands
from kiln.nki.collectives._groups import ReplicaGroup, lists_of as _lists_of, pairs_of as _pairs_of

__all__ = ["ReplicaGroup", "all_gather", "all_gather_v", "all_reduce", "all_to_all", "all_to_all_v",
           "collective_permute", "collective_permute_implicit",
           "collective_permute_implicit_current_processing_rank_id",
           "collective_permute_implicit_reduce", "rank_id", "reduce_scatter"]


def _issue(function, srcs, dsts, **arguments):
    arguments = {"srcs": _operands.tensors(function, "srcs", srcs), "dsts": _operands.tensors(function, "dsts", dsts),
                 **arguments}
    if "replica_group" in arguments:
        arguments["replica_group"] = _lists_of(arguments["replica_group"])
    if "op" in arguments:
        _operands.operator(function, arguments["op"])
    _kiln.issue(function, [], arguments)


def all_reduce(srcs, dsts, replica_group, op, priority=None, name=None):
    """dst = op over the src of every rank of the group."""
    _issue("all_reduce", srcs, dsts, replica_group=replica_group, op=op, priority=priority, name=name)


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """dst = the src of every rank of the group, one after the other along collective_dim."""
    _issue("all_gather", srcs, dsts, replica_group=replica_group, collective_dim=collective_dim, priority=priority,
           name=name)


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """dst = this rank's part, along collective_dim, of op over the src of every rank of the group."""
    _issue("reduce_scatter", srcs, dsts, replica_group=replica_group, collective_dim=collective_dim, op=op,
           priority=priority, name=name)


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Part j of rank i's src goes to part i of rank j's dst."""
    _issue("all_to_all", srcs, dsts, replica_group=replica_group, collective_dim=collective_dim, priority=priority,
           name=name)


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """The dst of every target is the src of its source; ranks in no pair do nothing."""
    _issue("collective_permute", srcs, dsts, source_target_pairs=_pairs_of(source_target_pairs), priority=priority,
           name=name)


def collective_permute_implicit(srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,), priority=None,
                                name=None):
    """A step around the ring of the group: dst is the predecessor's src."""
    this = "collective_permute_implicit"
    tensors = {role: _operands.by_channel(this, role, value) for role, value in
               (("srcs_by_channel", srcs_by_channel), ("dsts_by_channel", dsts_by_channel))}
    _kiln.issue(this, [], {**tensors, "replica_group": _lists_of(replica_group), "channel_ids": channel_ids,
                           "priority": priority, "name": name})


def collective_permute_implicit_reduce(srcs0_by_channel, srcs1_by_channel, dsts_by_channel, replica_group, op,
                                       channel_ids=(0,), priority=None, name=None):
    """A step around the ring of the group: dst is the predecessor's op(src0, src1)."""
    this = "collective_permute_implicit_reduce"
    tensors = {role: _operands.by_channel(this, role, value) for role, value in
               (("srcs0_by_channel", srcs0_by_channel), ("srcs1_by_channel", srcs1_by_channel),
                ("dsts_by_channel", dsts_by_channel))}
    _kiln.issue(this, [], {**tensors, "replica_group": _lists_of(replica_group), "op": _operands.operator(this, op),
                           "channel_ids": channel_ids, "priority": priority, "name": name})


def _register(function, **arguments):
    """A new register that the function sets."""
    _traced_kernel.running(f"nki.collectives.{function}")
    register = _kiln.active_trace().new_register()
    _kiln.issue(function, [], {"dst": register, **arguments})
    return register


def collective_permute_implicit_current_processing_rank_id(iteration_id, replica_group, channel_id=0,
                                                           name=None):
    """A register with the rank whose data is here at a step around the ring."""
    return _register("collective_permute_implicit_current_processing_rank_id", iteration_id=iteration_id,
                     replica_group=_lists_of(replica_group), channel_id=channel_id)


def rank_id(name=None):
    """A register with the number of the rank that runs."""
    return _register("rank_id")


def all_to_all_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, has_rdispls=False, priority=None,
                 name=None):
    """all_to_all of parts whose sizes are in a tensor."""
    _issue("all_to_all_v", srcs, dsts, replica_group=replica_group, metadata_tensor=metadata_tensor,
           recv_counts_known=recv_counts_known, has_rdispls=has_rdispls, priority=priority, name=name)


def all_gather_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, has_rdispls=False, priority=None,
                 name=None):
    """all_gather of parts whose sizes are in a tensor, among 4 ranks."""
    _issue("all_gather_v", srcs, dsts, replica_group=replica_group, metadata_tensor=metadata_tensor,
           recv_counts_known=recv_counts_known, has_rdispls=has_rdispls, priority=priority, name=name)


__getattr__, __dir__ = _as_of.names("collectives", globals())
