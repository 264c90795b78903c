"""C = X W in pieces: each rank has some rows of X and some columns of W. The rows of all ranks are gathered chunk by
chunk, so that the products of a chunk run while the next one is on its way; every chunk has a destination of its own.

    kiln run examples/ranks/all_gather_matmul.py --ranks 4
"""

import numpy as np
from parts import copied, everyone, product, shared

import kiln
import nki
import nki.collectives as ncc
import nki.language as nl


@nki.jit
def gathered_product(x_transposed, w, ranks, chunks):
    depth, rows = x_transposed.shape
    size = rows // chunks
    out = nl.ndarray((ranks * rows, w.shape[1]), dtype=w.dtype, buffer=nl.shared_hbm)
    arrived = []
    for c in range(chunks):
        mine = copied(x_transposed[:, c * size:(c + 1) * size], f"mine{c}")
        everything = shared((ranks * depth, size), w.dtype, f"everything{c}")
        ncc.all_gather(srcs=[mine], dsts=[everything], replica_group=everyone(ranks), collective_dim=0)
        arrived.append(everything)
    for c in range(chunks):
        for r in range(ranks):
            first = r * rows + c * size
            product(out[first:first + size], arrived[c][r * depth:(r + 1) * depth], w)
    return out


def run(ranks, rows=None, depth=48, columns=None, chunks=2, seed=0):
    """What every rank returns, and what the whole problem gives in float64."""
    rows, columns = rows or 8 * ranks, columns or 8 * ranks
    rng = np.random.default_rng(seed)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((rows, depth), (depth, columns)))
    results = nki.simulate(gathered_product, ranks=ranks)(
        kiln.per_rank(np.ascontiguousarray(part.T) for part in np.split(x, ranks)),
        kiln.per_rank(map(np.ascontiguousarray, np.split(w, ranks, axis=1))), ranks, chunks)
    return results, np.split(x.astype(np.float64) @ w, ranks, axis=1)


def main():
    results, want = run(kiln.ranks())
    print("largest error", max(np.abs(r - w).max() for r, w in zip(results, want)))


if __name__ == "__main__":
    main()
