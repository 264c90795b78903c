"""Flash attention, forward: softmax(q k^T / sqrt(d)) v for every head, without the matrix of scores in HBM.

For 128 queries at a time the keys come in blocks. A block's scores are turned into weights exp(s - m) with the largest
score m so far; when a later block has a larger one, the sums so far are multiplied by exp(m_old - m_new).
The weights leave the first product with the queries in partitions and enter the second with the keys there, so the
tensor engine transposes them in between.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import column, load_rows, load_transposed, pieces, to_sbuf, width

QUERIES, KEYS, BLOCK = 128, 128, 2048


@nki.jit
def attention(q, k, v):
    """q, k, v: (heads, length, d) with d up to 128. Returns the result and log(sum(exp(scores))) of every query."""
    heads, length, d = q.shape
    out = nl.ndarray(q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    log_sums = nl.ndarray((heads, length, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for head in range(heads):
        keys = load_transposed(k[head])  # (d, length of k)
        values = load_rows(v[head], KEYS)
        for part in pieces(0, length, QUERIES):
            result, log_sum = attend(load_transposed(q[head, part]), keys, values, 1 / d**0.5)
            nisa.dma_copy(dst=out[head, part], src=to_sbuf(result, q.dtype))
            nisa.dma_copy(dst=log_sums[head, part], src=log_sum)
    return out, log_sums


def attend(queries, keys, values, scale):
    """One tile of queries (d, n) against all keys: the weighted mean of values (n, d), and the log-sums (n, 1)."""
    state = None
    for block in pieces(0, keys.shape[1], BLOCK):
        state = add_block(state, queries, keys[:, block], values[block.start // KEYS:], scale)
    largest, total, sums = state
    inverse, log_sum = column(total.shape[0]), column(total.shape[0])
    nisa.reciprocal(dst=inverse, data=total)
    nisa.tensor_scalar(dst=sums, data=sums, op0=nl.multiply, operand0=inverse)
    nisa.activation(dst=log_sum, op=nl.log, data=total)
    nisa.scalar_tensor_tensor(dst=log_sum, data=largest, op0=nl.multiply, operand0=scale, op1=nl.add, operand1=log_sum)
    return sums, log_sum


def add_block(state, queries, keys, values, scale):
    """Takes a block of keys into (largest score, sum of weights, weighted sum of values)."""
    n, columns = queries.shape[1], keys.shape[1]
    scores = nl.ndarray((n, columns), dtype=nl.float32, buffer=nl.psum)
    for part in pieces(0, columns, nl.tile_size.gemm_moving_fmax):
        nisa.nc_matmul(dst=scores[:, part], stationary=queries, moving=keys[:, part])
    largest, bias, total = column(n), column(n), column(n)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=scores, axis=1)
    if state:
        nisa.tensor_tensor(dst=largest, data1=largest, data2=state[0], op=nl.maximum)
    nisa.tensor_scalar(dst=bias, data=largest, op0=nl.multiply, operand0=-scale)
    weights = nl.ndarray((n, columns), dtype=values[0].dtype)
    nisa.activation_reduce(dst=weights, op=nl.exp, data=scores, bias=bias, scale=scale,
                           reduce_op=nl.add, reduce_res=total)
    sums = weighted_sum(weights, values)
    if not state:
        return largest, total, to_sbuf(sums)
    before, old_total, old_sums = state
    factor = column(n)
    nisa.activation(dst=factor, op=nl.exp, data=before, bias=bias, scale=scale)
    nisa.scalar_tensor_tensor(dst=total, data=old_total, op0=nl.multiply, operand0=factor, op1=nl.add, operand1=total)
    nisa.scalar_tensor_tensor(dst=old_sums, data=old_sums, op0=nl.multiply, operand0=factor, op1=nl.add, operand1=sums)
    return largest, total, old_sums


def weighted_sum(weights, values):
    """weights (n, keys) times values, a list of (128, d) tiles; four tiles of weights are transposed into one bank."""
    n, columns = weights.shape
    sums = nl.ndarray((n, values[0].shape[1]), dtype=nl.float32, buffer=nl.psum)
    for group in pieces(0, columns, 4 * KEYS):
        turned = nl.ndarray((KEYS, 4, n), dtype=weights.dtype, buffer=nl.psum)
        parts = pieces(group.start, group.stop, KEYS)
        for i in range(len(parts)):
            nisa.nc_transpose(dst=turned[0:width(parts[i]), i], data=weights[:, parts[i]])
        whole, rest = width(group) // KEYS, width(group) % KEYS
        copy = nl.ndarray(turned.shape, dtype=weights.dtype)
        if whole:
            nisa.tensor_copy(dst=copy[:, 0:whole], src=turned[:, 0:whole])
        if rest:
            nisa.tensor_copy(dst=copy[0:rest, whole], src=turned[0:rest, whole])
        for i in range(len(parts)):
            nisa.nc_matmul(dst=sums, stationary=copy[0:width(parts[i]), i], moving=values[parts[i].start // KEYS])
    return sums


def reference(q, k, v):
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) * np.float32(1 / q.shape[2]**0.5)
    largest = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=2, keepdims=True)
    return weights / total @ v, largest + np.log(total)


def main():
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, n, 64), dtype=np.float32) for n in (200, 300, 300))
    for name, got, want in zip(("attention", "log-sums"), attention(q, k, v), reference(q, k, v)):
        print(f"{name:10} of {want.shape} - largest error {np.abs(got - want).max():.1e}")


if __name__ == "__main__":
    main()
