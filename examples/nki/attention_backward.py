"""Flash attention, backward: gradients of q, k and v from the gradient of the result.

With P = exp(scale q k^T - log_sums), kept from the forward pass, and D = sum of (gradient * result) in every row:

dv = P^T g      dP = g v^T      dS = P * (dP - D)      dq = scale dS k      dk = scale dS^T q

P is computed again, tile by tile, instead of read. The sums for a tile of keys stay in PSUM while the queries pass by;
the sums for the queries wait in SBUF.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from attention import attention, reference as forward
from tiles import column, load, load_transposed, pieces, transposed

TILE = 128


@nki.jit
def attention_backward(q, k, v, result, log_sums, gradient):
    """All (heads, length, d) with d up to 128, but log_sums (heads, length, 1). Returns the gradients of q, k and v."""
    dq, dk, dv = like(q), like(k), like(v)
    scale = 1 / q.shape[2]**0.5
    for head in range(q.shape[0]):
        parts, tiles = pieces(0, q.shape[1], TILE), []
        for part in parts:
            tiles.append(Queries(q[head, part], result[head, part], log_sums[head, part], gradient[head, part]))
        for part in pieces(0, k.shape[1], TILE):
            key_sum, value_sum = against_keys(tiles, k[head, part], v[head, part], scale)
            store(dk[head, part], key_sum, scale)
            store(dv[head, part], value_sum, 1.0)
        for i in range(len(parts)):
            store(dq[head, parts[i]], tiles[i].sum, scale)
    return dq, dk, dv


def like(x):
    return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)


class Queries(nl.NKIObject):
    """What a tile of queries needs: rows and transposes of q and of the gradient, D, -log_sums, and the sum for dq."""

    def __init__(self, q, result, log_sums, gradient):
        self.rows = load(q)
        self.columns = load_transposed(q)
        self.gradient = load(gradient)
        self.gradient_columns = load_transposed(gradient)
        n, d = q.shape
        product = nl.ndarray((n, d), dtype=nl.float32)
        nisa.tensor_tensor(dst=product, data1=self.gradient, data2=load(result), op=nl.multiply)
        self.dot = column(n)
        nisa.tensor_reduce(dst=self.dot, op=nl.add, data=product, axis=1)
        self.bias = load(log_sums)
        nisa.tensor_scalar(dst=self.bias, data=self.bias, op0=nl.multiply, operand0=-1.0)
        self.sum = nl.ndarray((n, d), dtype=nl.float32)
        nisa.memset(dst=self.sum, value=0.0)


def against_keys(tiles, k, v, scale):
    """A tile of keys and values against all queries: the sums for dk and dv; the tiles' own sums grow."""
    n, d = k.shape
    rows, columns, value_columns = load(k), load_transposed(k), load_transposed(v)
    key_sum = nl.ndarray((n, d), dtype=nl.float32, buffer=nl.psum)
    value_sum = nl.ndarray((n, d), dtype=nl.float32, buffer=nl.psum)
    for tile in tiles:
        weights = nl.ndarray((tile.rows.shape[0], n), dtype=k.dtype)
        nisa.activation(dst=weights, op=nl.exp, data=product(tile.columns, columns), bias=tile.bias, scale=scale)
        nisa.nc_matmul(dst=value_sum, stationary=weights, moving=tile.gradient)
        scores = nl.ndarray(weights.shape, dtype=k.dtype)
        nisa.scalar_tensor_tensor(dst=scores, data=product(tile.gradient_columns, value_columns), op0=nl.subtract,
                                  operand0=tile.dot, op1=nl.multiply, operand1=weights)
        nisa.nc_matmul(dst=key_sum, stationary=scores, moving=tile.rows)
        step = product(transposed(scores), rows)
        nisa.tensor_tensor(dst=tile.sum, data1=tile.sum, data2=step, op=nl.add)
    return key_sum, value_sum


def product(a_transposed, b):
    result = nl.ndarray((a_transposed.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=result, stationary=a_transposed, moving=b)
    return result


def store(destination, tile, factor):
    copy = nl.ndarray(tile.shape, dtype=destination.dtype)
    nisa.tensor_scalar(dst=copy, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=destination, src=copy)


def reference(q, k, v, gradient):
    q, k, v, gradient = (x.astype(np.float32) for x in (q, k, v, gradient))
    scale = np.float32(1 / q.shape[2]**0.5)
    result, log_sums = forward(q, k, v)
    weights = np.exp(q @ k.transpose(0, 2, 1) * scale - log_sums)
    scores = weights * (gradient @ v.transpose(0, 2, 1) - (gradient * result).sum(axis=2, keepdims=True)) * scale
    return scores @ k, scores.transpose(0, 2, 1) @ q, weights.transpose(0, 2, 1) @ gradient


def main():
    rng = np.random.default_rng(0)
    q, k, v, gradient = (rng.standard_normal((2, n, 64), dtype=np.float32) for n in (200, 300, 300, 200))
    all_got = attention_backward(q, k, v, *attention(q, k, v), gradient)
    for name, got, want in zip(("dq", "dk", "dv"), all_got, reference(q, k, v, gradient)):
        print(f"{name} of {want.shape} - largest error {np.abs(got - want).max():.1e}")


if __name__ == "__main__":
    main()
