"""Kernels that bench/ranks measures, and plans of collectives that differ from rank to rank."""

from parts import copied, everyone, load, returned, shared

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def sums(x, times, ranks):
    """So many all_reduces of an argument, one after the other; two destinations in turn."""
    here = copied(x, "here")
    there = [shared(x.shape, x.dtype, f"there{i}") for i in range(2)]
    for i in range(times):
        ncc.all_reduce(srcs=[here], dsts=[there[i % 2]], replica_group=everyone(ranks), op=nl.maximum)
    return returned(there[0])


@nki.jit
def layers(x, weights, steps, depth, ranks):
    """Layers of a product and a tanh; after so many the ranks take the largest of their results."""
    ours = [shared(x.shape, x.dtype, f"ours{i}") for i in range(2)]
    all_of_us = [copied(x, "all0"), shared(x.shape, x.dtype, "all1")]
    stationary = load(weights)
    for step in range(steps):
        tile = load(all_of_us[step % 2])
        for _ in range(depth):
            product = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=product, stationary=stationary, moving=tile)
            nisa.activation(dst=tile, data=product, op=nl.tanh)
        nisa.dma_copy(dst=ours[step % 2], src=tile)
        ncc.all_reduce(srcs=[ours[step % 2]], dsts=[all_of_us[(step + 1) % 2]], replica_group=everyone(ranks),
                       op=nl.maximum)
    return returned(all_of_us[steps % 2])


def groups_of(size, ranks):
    """All ranks in groups of at most so many."""
    return ncc.ReplicaGroup([list(range(first, min(first + size, ranks))) for first in range(0, ranks, size)])


@nki.jit
def follow(x, plan, ranks):
    """The collectives of a plan: (name, rows, operator, size of a group)."""
    for i, (name, rows, op, size) in enumerate(plan):
        src = copied(x[0:rows], f"src{i}")
        dst = shared(src.shape, src.dtype, f"dst{i}")
        if name == "all_reduce":
            ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=groups_of(size, ranks), op=getattr(nl, op))
        else:
            ncc.collective_permute_implicit(srcs_by_channel=[[src]], dsts_by_channel=[[dst]],
                                            replica_group=groups_of(size, ranks), channel_ids=[0])
    return returned(x)


def random_step(rng, ranks):
    return (rng.choice(["all_reduce", "permute"]), rng.choice([1, 2, 4, 8]), rng.choice(["add", "maximum"]),
            rng.choice([size for size in (2, 4, 8, ranks) if size <= ranks and ranks % size == 0]))


def is_seen(step, other):
    """Whether two steps differ in what a run compares: a permutation has no operator."""
    return step[:2] + step[3:] != other[:2] + other[3:] or (step[0] == "all_reduce" and step != other)


def mismatched(rng, ranks):
    """Plans of all ranks that agree but for one step of one rank: it is left out, comes twice, or is another one."""
    plan = [random_step(rng, ranks) for _ in range(rng.randint(1, 6))]
    plans = [list(plan) for _ in range(ranks)]
    odd, at = rng.choice(plans), rng.randrange(len(plan))
    kind = rng.choice(["less", "more", "other"])
    if kind == "less":
        del odd[at]
    elif kind == "more":
        odd.insert(at, odd[at])
    else:
        other = random_step(rng, ranks)
        while not is_seen(plan[at], other):
            other = random_step(rng, ranks)
        odd[at] = other
    return [tuple(plan) for plan in plans]
