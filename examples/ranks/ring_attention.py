"""Ring attention: each rank has a block of queries, keys and values. Keys and values go around the ring, two buffers in
turn, while each rank adds what it sees to its own sums, with the largest score so far taken off (online softmax).

    kiln run examples/ranks/ring_attention.py --ranks 4
"""

import numpy as np
from parts import copied, everyone, load, shared

import kiln
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


def column(rows, value):
    tile = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=value)
    return tile


def tile(shape):
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)


def scores_of(queries, keys, scale):
    """Queries times keys, both (d, s), in SBUF."""
    sums = nl.ndarray((queries.shape[1], keys.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=queries, moving=keys)
    scores = tile(sums.shape)
    nisa.tensor_scalar(dst=scores, data=sums, op0=nl.multiply, operand0=scale)
    return scores


def add_block(queries, keys, values, scale, largest, total, out):
    """Adds a block of keys and values to the sums of the queries."""
    rows = queries.shape[1]
    scores = scores_of(queries, keys, scale)
    here, new, minus, old_share = column(rows, 0.0), column(rows, 0.0), column(rows, 0.0), column(rows, 0.0)
    nisa.tensor_reduce(dst=here, data=scores, op=nl.maximum, axis=1)
    nisa.tensor_tensor(dst=new, data1=here, data2=largest, op=nl.maximum)
    nisa.tensor_scalar(dst=minus, data=new, op0=nl.multiply, operand0=-1.0)
    nisa.activation(dst=old_share, data=largest, op=nl.exp, bias=minus)
    weights, weight_sum = tile(scores.shape), column(rows, 0.0)
    nisa.activation(dst=weights, data=scores, op=nl.exp, bias=minus)
    nisa.tensor_reduce(dst=weight_sum, data=weights, op=nl.add, axis=1)
    nisa.scalar_tensor_tensor(dst=total, data=total, op0=nl.multiply, operand0=old_share, op1=nl.add,
                              operand1=weight_sum)
    turned = nl.ndarray((weights.shape[1], rows), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=weights, engine=nisa.engine.tensor)
    stationary = tile(turned.shape)
    nisa.tensor_copy(dst=stationary, src=turned)
    sums = nl.ndarray(out.shape, dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=stationary, moving=values)
    nisa.scalar_tensor_tensor(dst=out, data=out, op0=nl.multiply, operand0=old_share, op1=nl.add, operand1=sums)
    nisa.tensor_copy(dst=largest, src=new)


@nki.jit
def ring_attention(q_transposed, k_transposed, v, ranks):
    rows, depth = v.shape
    queries = load(q_transposed)
    largest, total = column(rows, -1e30), column(rows, 0.0)
    out = tile((rows, depth))
    nisa.memset(dst=out, value=0.0)
    keys = [copied(k_transposed, "keys0"), shared(k_transposed.shape, v.dtype, "keys1")]
    values = [copied(v, "values0"), shared(v.shape, v.dtype, "values1")]
    for i in range(ranks):
        here, there = i % 2, (i + 1) % 2
        add_block(queries, load(keys[here]), load(values[here]), depth**-0.5, largest, total, out)
        if i + 1 < ranks:
            ncc.collective_permute_implicit(srcs_by_channel=[[keys[here]], [values[here]]],
                                            dsts_by_channel=[[keys[there]], [values[there]]],
                                            replica_group=everyone(ranks), channel_ids=[0, 1])
    inverse = column(rows, 0.0)
    nisa.reciprocal(dst=inverse, data=total)
    nisa.tensor_scalar(dst=out, data=out, op0=nl.multiply, operand0=inverse)
    result = nl.ndarray(v.shape, dtype=v.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=result, src=out)
    return result


def reference(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def run(ranks, rows=16, depth=32, seed=0):
    """What every rank returns, and what the whole problem gives in float64."""
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal((ranks * rows, depth)).astype(np.float32) for _ in range(3))
    turned = [kiln.per_rank(np.ascontiguousarray(p.T) for p in np.split(a, ranks)) for a in (q, k)]
    results = nki.simulate(ring_attention, ranks=ranks)(*turned, kiln.per_rank(np.split(v, ranks)), ranks)
    return results, np.split(reference(*(a.astype(np.float64) for a in (q, k, v))), ranks)


def main():
    results, want = run(kiln.ranks())
    print("largest error", max(np.abs(r - w).max() for r, w in zip(results, want)))


if __name__ == "__main__":
    main()
