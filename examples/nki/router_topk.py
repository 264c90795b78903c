"""The router of a mixture of experts: each token's k most likely experts and their weights.

logits = x W, probabilities = softmax(logits); the k largest probabilities are divided by their sum.

One instruction finds the eight largest values of every row, in order, and one their positions, so k is at most 8.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import column, load_rows, load_transposed, pieces, width

LARGEST_K = 8


@nki.jit
def router_topk(x, weight, k):
    """x: (tokens, d); weight: (d, experts), 8 to 512 experts. Returns weights (tokens, k) and experts (tokens, k)."""
    tokens, _ = x.shape
    shares = nl.ndarray((tokens, k), dtype=nl.float32, buffer=nl.shared_hbm)
    experts = nl.ndarray((tokens, k), dtype=nl.uint32, buffer=nl.shared_hbm)
    columns = load_rows(weight, nl.tile_size.pmax)
    for part in pieces(0, tokens, nl.tile_size.pmax):
        probabilities, largest = route(x[part], columns)
        found = nl.ndarray((width(part), LARGEST_K), dtype=nl.uint32)
        nisa.nc_find_index8(dst=found, data=probabilities, vals=largest)
        nisa.dma_copy(dst=experts[part], src=found[:, :k])
        nisa.dma_copy(dst=shares[part], src=normalised(largest[:, :k]))
    return shares, experts


def route(x, columns):
    """exp(logits - largest logit) of some tokens for every expert, and the eight largest of them."""
    tokens, experts = x.shape[0], columns[0].shape[1]
    logits = nl.ndarray((tokens, experts), dtype=nl.float32, buffer=nl.psum)
    parts = pieces(0, x.shape[1], nl.tile_size.pmax)
    for i in range(len(parts)):
        nisa.nc_matmul(dst=logits, stationary=load_transposed(x[:, parts[i]]), moving=columns[i])
    bias = column(tokens)
    nisa.tensor_reduce(dst=bias, op=nl.maximum, data=logits, axis=1, negate=True)
    powers = nl.ndarray((tokens, experts), dtype=nl.float32)
    nisa.activation(dst=powers, op=nl.exp, data=logits, bias=bias)
    largest = nl.ndarray((tokens, LARGEST_K), dtype=nl.float32)
    nisa.max8(dst=largest, src=powers)
    return powers, largest


def normalised(tile):
    """Rows divided by their sums. What softmax would have divided by cancels out."""
    total, result = column(tile.shape[0]), nl.ndarray(tile.shape, dtype=nl.float32)
    nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=total)
    return result


def reference(x, weight, k):
    logits = x.astype(np.float32) @ weight.astype(np.float32)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    experts = np.argsort(-powers, axis=1, kind="stable")[:, :k]
    shares = np.take_along_axis(powers, experts, axis=1)
    return shares / shares.sum(axis=1, keepdims=True), experts


def main():
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((200, 300), dtype=np.float32), rng.standard_normal((300, 16), dtype=np.float32)
    (shares, experts), (want, chosen) = router_topk(x, weight, 4), reference(x, weight, 4)
    print("router_topk of", x.shape, "- largest error", np.abs(shares - want).max(), "- same experts:",
          np.array_equal(experts, chosen))


if __name__ == "__main__":
    main()
