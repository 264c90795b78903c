"""Replica groups: which ranks take part in a collective together."""

from kiln._trace import rules
from kiln._trace.errors import refuse


class ReplicaGroup:
    """Groups of ranks that take part in a collective."""

    def __init__(self, groups):
        try:
            self.groups = tuple(tuple(g) for g in groups)
        except TypeError:
            refuse(rules.REPLICA_GROUP, f"ReplicaGroup({groups!r})")
        ranks = [rank for group in self.groups for rank in group]
        for rank in ranks:
            if isinstance(rank, bool) or not isinstance(rank, int) or rank < 0:
                refuse(rules.REPLICA_GROUP, f"the rank {rank!r}", "ranks are ints from 0 on")
            if ranks.count(rank) > 1:
                refuse(rules.REPLICA_GROUP, f"rank {rank} stands in it {ranks.count(rank)} times",
                       "name each rank once")

    def __eq__(self, other):
        return isinstance(other, ReplicaGroup) and self.groups == other.groups

    def __hash__(self):
        return hash(self.groups)

    def __repr__(self):
        return f"ReplicaGroup({self.groups})"


def lists_of(replica_group):
    """The lists of ranks of a ReplicaGroup, or of what makes one."""
    return (replica_group if isinstance(replica_group, ReplicaGroup) else ReplicaGroup(replica_group)).groups


def pairs_of(source_target_pairs):
    """(source, target), ... of a collective_permute."""
    try:
        pairs = [tuple(pair) for pair in source_target_pairs]
    except TypeError:
        refuse(rules.REPLICA_GROUP, f"source_target_pairs={source_target_pairs!r}", "pass [(source, target), ...]")
    for rank in (rank for pair in pairs for rank in pair):
        if isinstance(rank, bool) or not isinstance(rank, int):
            refuse(rules.REPLICA_GROUP, f"the rank {rank!r}", "ranks are ints from 0 on")
    return pairs
