"""What ranks exchange: functions for `kiln.jit(f, ranks=n)`, in which every rank runs the same program on arrays of its
own. Groups are lists of ranks; the order of a list is that of the parts. None: all ranks, as they count."""

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy._array import Array, as_array
from kiln.numpy._axes import axis_of
from kiln.numpy._rules import ON_RANKS, RANK_GROUPS, refuse
from kiln.numpy._trace import active

_OPERATORS = {np.add: "add", np.minimum: "minimum", np.maximum: "maximum", "add": "add", "sum": "add",
              "minimum": "minimum", "min": "minimum", "maximum": "maximum", "max": "maximum"}


def _ranks(name):
    ranks = active().ranks if active() is not None else None
    if ranks is None:
        refuse(ON_RANKS, f"kiln.numpy.{name} in a function that is not on ranks")
    return ranks


def _flat(lists):
    return [number for one in lists for number in (len(one), *one)]


def _groups(groups, name):
    """The lists, each after its length."""
    ranks = _ranks(name)
    if groups is None:
        return _flat([range(ranks)])
    try:
        lists = [[int(rank) for rank in one] for one in groups]
    except TypeError:
        refuse(RANK_GROUPS, f"groups={groups!r}", kind=TypeError)
    if sorted(rank for one in lists for rank in one) != list(range(ranks)):
        refuse(RANK_GROUPS, f"groups={groups!r} of {ranks} ranks", kind=ValueError)
    return _flat(lists)


def _operator(op):
    if not isinstance(op, (str, np.ufunc)) or op not in _OPERATORS:
        refuse(RANK_GROUPS, f"op={op!r}", 'pass "add", "minimum" or "maximum"', kind=ValueError)
    return _OPERATORS[op]


def _array(x):
    x = as_array(x)
    return x.astype(_dtypes.narrow(x.dtype)) if x.dtype.itemsize > 4 else x


def _pushed(op, x, attributes, *more):
    """The op of x and more; what is wrong with its groups is told first."""
    _ranks(op)
    x = _array(x)
    return active().push(op, (x._get(), *(_array(y)._get() for y in more)), *attributes(x.ndim))


def all_reduce(x, op="add", *, groups=None):
    """The sum of x over the ranks of a group, in order of ranks, on each of them; op: "minimum" and "maximum" too."""
    return Array(_pushed("all_reduce", x, lambda _: (_operator(op), _groups(groups, "all_reduce"))))


def all_gather(x, axis=0, *, groups=None):
    """What the ranks of a group have, one after the other along an axis, on each of them."""
    return Array(_pushed("all_gather", x, lambda n: (axis_of(axis, n), _groups(groups, "all_gather"))))


def reduce_scatter(x, axis=0, op="add", *, groups=None):
    """Of what all_reduce gives, the part along an axis that is this rank's."""
    return Array(_pushed("reduce_scatter", x,
                             lambda n: (_operator(op), axis_of(axis, n), _groups(groups, "reduce_scatter"))))


def all_to_all(x, split_axis=0, concat_axis=0, *, groups=None):
    """Part j of x along split_axis goes to rank j of the group; the parts that come are joined along concat_axis, in
    order of ranks."""
    return Array(_pushed("all_to_all", x, lambda n: (axis_of(split_axis, n), axis_of(concat_axis, n),
                                                         _groups(groups, "all_to_all"))))


def collective_permute(x, pairs):
    """x of the rank that sends to this one: pairs of (source, target), with each rank once as either."""
    ranks = _ranks("collective_permute")
    try:
        lists = [[int(a), int(b)] for a, b in pairs]
    except (TypeError, ValueError):
        refuse(RANK_GROUPS, f"pairs={pairs!r}", "pass pairs of (source, target)", kind=TypeError)
    for side in zip(*lists):
        if sorted(side) != list(range(ranks)):
            refuse(RANK_GROUPS, f"pairs={pairs!r} of {ranks} ranks", "let every rank send once and receive once",
                   kind=ValueError)
    return Array(_pushed("collective_permute", x, lambda _: (_flat(lists),)))


def collective_permute_implicit(x, *, channels=1, groups=None):
    """x of the rank before this one in its group, of the last one for the first: a step around a ring. Channels take
    parts of x at once."""
    name = "collective_permute_implicit"
    return Array(_pushed(name, x, lambda _: (_int(channels, "channels"), _groups(groups, name))))


def collective_permute_implicit_reduce(x, y, op="add", *, channels=1, groups=None):
    """op(x, y) of the rank before this one in its group: a step around a ring that adds up on its way."""
    name = "collective_permute_implicit_reduce"
    return Array(_pushed(name, x, lambda _: (_operator(op), _int(channels, "channels"), _groups(groups, name)), y))


def collective_permute_implicit_current_processing_rank_id(step, *, channel=0, groups=None):
    """The rank whose x is here after so many steps of collective_permute_implicit, an int32: this rank at step 0, then
    those before it."""
    name = "collective_permute_implicit_current_processing_rank_id"
    _ranks(name)
    step = as_array(step).astype(np.int32)
    return Array(_pushed(name, step, lambda _: (_int(channel, "channel"), _groups(groups, name))))


def rank_id():
    """The number of the rank that runs, an int32."""
    return Array(active().push("rank_id", (), _ranks("rank_id")))


def all_to_all_v(x, send_counts, send_displs=None, *, into, recv_displs=None, groups=None):
    """Parts of x of any size: send_counts[j] elements from send_displs[j] on go to rank j of the group. What came, in
    an array like `into`, and how many elements each rank sent.

    Arrays are taken as flat. What rank i sends lies at i * (into.size // ranks), or at recv_displs[i]; what nothing is
    sent to is as in `into`. Without send_displs parts follow each other.
    """
    counts = _counts("all_to_all_v", send_counts)
    if send_displs is None:
        send_displs = np.cumsum(counts) - counts
    more = [into, counts, _counts("all_to_all_v", send_displs)]
    if recv_displs is not None:
        more.append(_counts("all_to_all_v", recv_displs))
    return _received("all_to_all_v", x, groups, more)


def all_gather_v(x, send_count, send_displ=0, *, into, groups=None):
    """send_count elements of x, from send_displ on, of every rank of the group: what came, in an array like `into`,
    and how many elements each rank sent. Places are those of all_to_all_v."""
    more = [into, _counts("all_gather_v", send_count), _counts("all_gather_v", send_displ)]
    return _received("all_gather_v", x, groups, more)


def _counts(name, value):
    _ranks(name)
    return as_array(value).astype(np.int32)


def _received(name, x, groups, more):
    data = _pushed(name, x, lambda _: (_groups(groups, name),), *more)
    return Array(data), Array(active().push("result", (data,), 1))


def _int(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        refuse(RANK_GROUPS, f"{what}={value!r}", f"pass {what} as an int", kind=TypeError)
    return int(value)
