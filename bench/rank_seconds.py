"""Prints how many seconds an all_reduce takes: rank_seconds.py SIDE ROUNDS RANKS. bench/ranks runs it, in one process
and under mpirun."""

import sys

import numpy as np

import kiln
import nki
import rank_kernels
from figures import take_turns

side, rounds, ranks = map(int, sys.argv[1:])
arrays = [np.full((side, side), r, np.float32) for r in range(ranks)]


def reduce(times):
    nki.simulate(rank_kernels.sums, ranks=ranks, nan="off")(kiln.per_rank(arrays), times, ranks)


reduce(1), reduce(5)
once, often = take_turns([lambda: reduce(1), lambda: reduce(5)], rounds)
print((min(often) - min(once)) / 4)
