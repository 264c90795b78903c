"""nki.collectives: names that kernels import; the functions are not built yet."""

from kiln._errors import not_yet


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


_FUNCTIONS = (
    "all_gather", "all_gather_v", "all_reduce", "all_to_all", "all_to_all_v", "collective_permute",
    "collective_permute_implicit", "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce", "rank_id", "reduce_scatter",
)


def _make(name):
    def function(*args, **kwargs):
        not_yet(f"nki.collectives.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Not built yet: raises not_yet."
    return function


for _name in _FUNCTIONS:
    globals()[_name] = _make(_name)
