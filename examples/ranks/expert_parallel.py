"""A mixture of experts, one on each rank: tokens travel to the rank of their expert and back with all_to_all. Each rank
has room for the same number of its tokens in every expert; empty places hold zeros, as in routers with a capacity.

    kiln run examples/ranks/expert_parallel.py --ranks 4
"""

import numpy as np
from parts import copied, everyone, product, returned, shared

import kiln
import nki
import nki.collectives as ncc


@nki.jit
def experts(tokens, weights, ranks):
    """tokens: (experts, width, capacity), the tokens of this rank for each expert, transposed."""
    sent = copied(tokens, "sent")
    mine = shared(tokens.shape, tokens.dtype, "mine")
    ncc.all_to_all(srcs=[sent], dsts=[mine], replica_group=everyone(ranks), collective_dim=0)
    answers = shared(tokens.shape, tokens.dtype, "answers")
    for r in range(ranks):
        product(answers[r], weights, mine[r], relu=True)
    back = shared(tokens.shape, tokens.dtype, "back")
    ncc.all_to_all(srcs=[answers], dsts=[back], replica_group=everyone(ranks), collective_dim=0)
    return returned(back)


def run(ranks, width=32, capacity=4, seed=0):
    """What every rank returns, and what the whole problem gives in float64."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((ranks, width, width)).astype(np.float32)
    tokens = rng.standard_normal((ranks, ranks, width, capacity)).astype(np.float32)
    tokens[rng.random((ranks, ranks, capacity)).transpose(0, 1, 2)[:, :, None, :].repeat(width, 2) < 0.3] = 0
    results = nki.simulate(experts, ranks=ranks)(kiln.per_rank(tokens), kiln.per_rank(weights), ranks)
    want = np.maximum(np.einsum("ewv,rewc->revc", weights.astype(np.float64), tokens), 0)
    return results, list(want)


def main():
    results, want = run(kiln.ranks())
    print("largest error", max(np.abs(r - w).max() for r, w in zip(results, want)))


if __name__ == "__main__":
    main()
