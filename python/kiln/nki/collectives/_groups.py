"""Replica groups, and the one rank that a run simulates."""

from kiln._trace import rules
from kiln._trace.errors import not_yet, refuse

RANK = 0


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


def other_ranks(name, ranks):
    not_yet(f"nki.collectives.{name} among the ranks {', '.join(map(str, ranks))}",
            "a run simulates rank 0 alone: give it a replica group of one rank, e.g. ReplicaGroup([[0]])")


def require_alone(name, replica_group):
    """Refuses a group in which rank 0 has company, or in which it is not."""
    groups = replica_group.groups if isinstance(replica_group, ReplicaGroup) else ReplicaGroup(replica_group).groups
    mine = [group for group in groups if RANK in group]
    if not mine:
        not_yet(f"nki.collectives.{name} in {ReplicaGroup(groups)}, without rank 0",
                "a run simulates rank 0: give it a replica group with this rank, e.g. ReplicaGroup([[0]])")
    if len(mine[0]) > 1:
        other_ranks(name, mine[0])
