"""A step of gradient descent for |X W - T|^2 on data that is spread over ranks: each has some rows, the gradients of
all are added up, and every rank takes the same step.

    kiln run examples/ranks/data_parallel.py --ranks 4
"""

import numpy as np
from parts import everyone, load, product, shared

import kiln
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def step(x, x_transposed, targets, weights, rate, ranks):
    """weights - rate * gradient; rate includes the number of all rows."""
    predicted = shared(targets.shape, targets.dtype, "predicted")
    product(predicted, x_transposed, weights)
    errors = shared(targets.shape, targets.dtype, "errors")
    for first in range(0, targets.shape[0], 128):
        rows = slice(first, min(first + 128, targets.shape[0]))
        difference = load(predicted[rows])
        nisa.tensor_tensor(dst=difference, data1=difference, data2=load(targets[rows]), op=nl.subtract)
        nisa.dma_copy(dst=errors[rows], src=difference)
    gradient = shared(weights.shape, weights.dtype, "gradient")
    product(gradient, x, errors)
    total = shared(weights.shape, weights.dtype, "total")
    ncc.all_reduce(srcs=[gradient], dsts=[total], replica_group=everyone(ranks), op=nl.add)
    out = nl.ndarray(weights.shape, dtype=weights.dtype, buffer=nl.shared_hbm)
    updated = load(weights)
    nisa.scalar_tensor_tensor(dst=updated, data=load(total), op0=nl.multiply, operand0=-rate, op1=nl.add,
                              operand1=updated)
    nisa.dma_copy(dst=out, src=updated)
    return out


def run(ranks, rows=None, width=24, outputs=8, rate=0.1, seed=0):
    """What every rank returns, and what the whole problem gives in float64."""
    rows = rows or 4 * ranks
    rng = np.random.default_rng(seed)
    x, t, w = (rng.standard_normal(s).astype(np.float32) for s in ((rows, width), (rows, outputs), (width, outputs)))
    parts = np.split(x, ranks)
    results = nki.simulate(step, ranks=ranks)(
        kiln.per_rank(parts), kiln.per_rank(np.ascontiguousarray(p.T) for p in parts),
        kiln.per_rank(np.split(t, ranks)), w, rate / rows, ranks)
    x, t, w = (a.astype(np.float64) for a in (x, t, w))
    return results, [w - rate / rows * x.T @ (x @ w - t)] * ranks


def main():
    results, want = run(kiln.ranks())
    print("largest error", max(np.abs(r - w).max() for r, w in zip(results, want)))


if __name__ == "__main__":
    main()
