"""A tensor-parallel MLP, y = relu(x W1) W2: each rank has some columns of W1 and the rows of W2 that belong to them,
and the partial results of all ranks are added up.

    kiln run examples/ranks/tensor_parallel_mlp.py --ranks 4
"""

import numpy as np
from parts import everyone, product, returned, shared

import kiln
import nki
import nki.collectives as ncc
import nki.language as nl


@nki.jit
def mlp(x_transposed, w1, w2, ranks):
    features, tokens = w1.shape[1], x_transposed.shape[1]
    hidden = shared((features, tokens), x_transposed.dtype, "hidden")  # transposed
    product(hidden, w1, x_transposed, relu=True)
    partial = shared((tokens, w2.shape[1]), x_transposed.dtype, "partial")
    product(partial, hidden, w2)
    total = shared(partial.shape, partial.dtype, "total")
    ncc.all_reduce(srcs=[partial], dsts=[total], replica_group=everyone(ranks), op=nl.add)
    return returned(total)


def reference(x, w1, w2):
    return np.maximum(x @ w1, 0) @ w2


def run(ranks, tokens=64, width=96, features=256, seed=0):
    """What every rank returns, and what the whole problem gives in float64."""
    rng = np.random.default_rng(seed)
    x, w1, w2 = (rng.standard_normal(s).astype(np.float32) for s in
                 ((tokens, width), (width, features), (features, width)))
    columns = np.split(w1, ranks, axis=1)
    results = nki.simulate(mlp, ranks=ranks)(np.ascontiguousarray(x.T),
                                             kiln.per_rank(map(np.ascontiguousarray, columns)),
                                             kiln.per_rank(np.split(w2, ranks)), ranks)
    want = reference(*(a.astype(np.float64) for a in (x, w1, w2)))
    return results, [want] * ranks


def main():
    results, want = run(kiln.ranks())
    print("largest error", max(np.abs(r - w).max() for r, w in zip(results, want)))


if __name__ == "__main__":
    main()
