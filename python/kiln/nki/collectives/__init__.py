"""nki.collectives as one rank sees them: a run simulates rank 0, so a group that is this rank alone is simulated, and a
group with other ranks is refused."""

from kiln._errors import not_yet
from kiln.nki import isa


class ReplicaGroup:
    """Groups of ranks that take part in a collective."""

    def __init__(self, groups):
        self.groups = tuple(tuple(g) for g in groups)

    def __eq__(self, other):
        return isinstance(other, ReplicaGroup) and self.groups == other.groups

    def __hash__(self):
        return hash(self.groups)

    def __repr__(self):
        return f"ReplicaGroup({self.groups})"


_RANK = 0


def _other_ranks(name, ranks):
    not_yet(f"nki.collectives.{name} among the ranks {', '.join(map(str, ranks))}",
            "a run simulates rank 0 alone: give it a replica group of one rank, e.g. ReplicaGroup([[0]])")


def _require_alone(name, replica_group):
    groups = replica_group.groups if isinstance(replica_group, ReplicaGroup) else ReplicaGroup(replica_group).groups
    for group in groups:
        if _RANK in group and len(group) > 1:
            _other_ranks(name, group)


def _copy(srcs, dsts):
    for src, dst in zip(srcs, dsts, strict=True):
        isa.dma_copy(dst=dst, src=src)


def all_reduce(srcs, dsts, replica_group, op, priority=None, name=None):
    """dst = op over the src of every rank of the group."""
    _require_alone("all_reduce", replica_group)
    _copy(srcs, dsts)


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """dst = the src of every rank of the group, one after the other along collective_dim."""
    _require_alone("all_gather", replica_group)
    _copy(srcs, dsts)


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """dst = this rank's part, along collective_dim, of op over the src of every rank of the group."""
    _require_alone("reduce_scatter", replica_group)
    _copy(srcs, dsts)


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Part j of rank i's src goes to part i of rank j's dst."""
    _require_alone("all_to_all", replica_group)
    _copy(srcs, dsts)


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """The dst of every target is the src of its source; ranks in no pair do nothing."""
    for source, target in source_target_pairs:
        if _RANK in (source, target):
            if source != target:
                _other_ranks("collective_permute", (source, target))
            _copy(srcs, dsts)


def collective_permute_implicit(srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,), priority=None,
                                name=None):
    """A step around the ring of the group: dst is the predecessor's src."""
    _require_alone("collective_permute_implicit", replica_group)
    for srcs, dsts in zip(srcs_by_channel, dsts_by_channel, strict=True):
        _copy(srcs, dsts)


def collective_permute_implicit_current_processing_rank_id(iteration_id, replica_group, channel_id=0):
    """A register with the rank whose data is here at a step around the ring."""
    _require_alone("collective_permute_implicit_current_processing_rank_id", replica_group)
    return isa.register_alloc(_RANK)


def rank_id():
    """A register with the number of the rank that runs: 0."""
    return isa.register_alloc(_RANK)


_NOT_YET = ("all_gather_v", "all_to_all_v", "collective_permute_implicit_reduce")


def _make(name):
    def function(*args, **kwargs):
        not_yet(f"nki.collectives.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Not built yet: raises not_yet."
    return function


for _name in _NOT_YET:
    globals()[_name] = _make(_name)
