"""nki.simulate(kernel, ranks=n): a kernel on several ranks at once, each with arguments and results of its own."""

from kiln import _kiln
from kiln._trace import divergence, env, inside, rules, simulate
from kiln._trace.arrays import Argument, is_array
from kiln._trace.errors import refuse
from kiln._trace.nki_object import NKIObject
from kiln._trace.passes import Passes


class PerRank:
    """An argument that differs from rank to rank."""

    def __init__(self, values):
        self.values = list(values)

    def __repr__(self):
        return f"per_rank({self.values!r})"


def per_rank(values):
    """An argument of a kernel on several ranks: the first of these values for rank 0, the next one for rank 1, ..."""
    return PerRank(values)


def ranks():
    """On how many ranks kernels run that do not say it themselves: as `kiln run --ranks` or KILN_RANKS says, else 1."""
    return env.ranks() or 1


def _of_rank(value, rank, ranks):
    """An argument as one rank gets it."""
    if isinstance(value, PerRank):
        if len(value.values) != ranks:
            refuse(rules.PER_RANK, f"per_rank of {len(value.values)} values", ranks=ranks)
        return value.values[rank]
    if type(value) in (tuple, list):
        return type(value)(_of_rank(v, rank, ranks) for v in value)
    if type(value) is dict:
        return {k: _of_rank(v, rank, ranks) for k, v in value.items()}
    return value


def _leaves(value):
    """Arrays and other values of an argument, in the order in which a traced kernel meets them."""
    if type(value) in (tuple, list):
        for item in value:
            yield from _leaves(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, NKIObject):
        for item in vars(value).values():
            yield from _leaves(item)
    else:
        yield value


def _arrays(args, kwargs):
    """The arrays of a call, each once."""
    return list({id(v): v for v in _leaves([*args, *kwargs.values()]) if is_array(v)}.values())


def _is_alike(first, other):
    """Whether a kernel does the same with the arguments of two ranks: arrays agree in shape and dtype, and in which of
    them are one, and all other values are equal."""
    a, b = (list(_leaves([*args, *kwargs.values()])) for args, kwargs in (first, other))
    if len(a) != len(b) or list(first[1]) != list(other[1]):
        return False
    same = {}
    for x, y in zip(a, b):
        if is_array(x) and is_array(y):
            kinds = [(tuple(v.shape), v.dtype, type(v)) for v in (x, y)]
            if kinds[0] != kinds[1] or same.setdefault(id(x), y) is not y:
                return False
        elif x is not y and (type(x) is not type(y) or is_array(x) or x != y):
            return False
    return len({id(v) for v in same.values()}) == len(same)


class _Rank:
    """What one rank runs: traced cores, programs and the Arguments of its arrays."""

    def __init__(self, call, cores, programs, arguments):
        self.call, self.cores, self.programs, self.arguments = call, cores, programs, arguments


def _trace(function, lnc, call, schedule):
    with inside.with_values():
        cores = simulate.trace_cores(function, lnc, *call, schedule)
    programs = [core.program() for core in cores]
    simulate.require_effect(cores, programs)
    divergence.require_same(function, cores, programs)
    simulate.check_all(programs)
    return _Rank(call, cores, programs, simulate.arguments_of(cores[0]))


def _with_arrays(traced, call):
    """The rank that runs the programs of another one on arrays of its own; constants of the kernel stay."""
    names = {id(argument.value): name for name, argument in traced.arguments.items()}
    arguments = dict(traced.arguments)
    for old, new in zip(_arrays(*traced.call), _arrays(*call)):
        name = names[id(old)]
        arguments[name] = traced.arguments[name] if new is old else Argument(new, name)
    return _Rank(call, traced.cores, traced.programs, arguments)


def _require_own(ranks):
    """Refuses an array that the kernel writes and that several ranks have."""
    if len(ranks) == 1:
        return
    seen = set()
    for rank in ranks:
        written = {t["name"] for p in rank.programs for t in p.border if t["role"] == "inout"}
        for name in written:
            value = rank.arguments[name].value
            if id(value) in seen:
                refuse(rules.PER_RANK, f"the kernel writes `{name}`, which is one array for several ranks",
                       ranks=len(ranks))
        seen |= {id(rank.arguments[name].value) for name in written}


def calls_of_ranks(ranks, args, kwargs):
    """The arguments of each rank."""
    return [(tuple(_of_rank(a, r, ranks) for a in args), {k: _of_rank(v, r, ranks) for k, v in kwargs.items()})
            for r in range(ranks)]


def kinds_of_calls(ranks, args, kwargs):
    """(calls, kinds): one call for each kind of ranks, and by rank the number of its kind."""
    calls, kinds = [], []
    for call in calls_of_ranks(ranks, args, kwargs):
        kind = next((k for k, other in enumerate(calls) if _is_alike(other, call)), len(calls))
        if kind == len(calls):
            calls.append(call)
        kinds.append(kind)
    return calls, kinds


def run(function, lnc, ranks, args, kwargs, schedule=(), nan=None):
    """Runs a kernel on so many ranks; returns a list of what it returns on each."""
    env.check_lnc(lnc)
    simulate.note_start(function)
    asked = env.times_asked()
    traced, launched = [], []
    for call in calls_of_ranks(ranks, args, kwargs):
        like = next((rank for rank in traced if _is_alike(rank.call, call)), None)
        if like is None:
            traced.append(like := _trace(function, lnc, call, schedule))
            simulate.note_traced(function, like.programs, env.times_asked() > asked)
        launched.append(_with_arrays(like, call))
    _require_own(launched)
    programs = [program for rank in launched for program in rank.programs]
    _kiln.require_memory(programs, env.max_memory(), ranks)
    arrays = [simulate.buffers(rank.cores, rank.programs, rank.arguments) for rank in launched]

    def describe(core, instruction, loops):
        rank = launched[core // lnc]
        return Passes(rank.cores, *rank.call).describe(core % lnc, instruction, loops)

    report = simulate.run_on(programs, arrays, nan=nan or env.nan(), describe_pass=describe)
    simulate.warn(report.warnings)
    return [simulate.results(rank.cores[0].result, rank.programs, rank.arguments, own)
            for rank, own in zip(launched, arrays)]
