"""Softmax of every row of a matrix.

softmax(x)_j = exp(x_j - m) / sum_k exp(x_k - m), m = max_k x_k

A tile holds 128 rows. One instruction finds the rows' maxima (negated, ready to be a bias), one computes the
exponentials and adds them up on the way, one multiplies by the reciprocal of the sums.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import column, load, pieces, width


@nki.jit
def softmax(x):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for part in pieces(0, rows, nl.tile_size.pmax):
        size, tile = width(part), load(x[part])
        negative_max, total = column(size), column(size)
        nisa.tensor_reduce(dst=negative_max, op=nl.maximum, data=tile, axis=1, negate=True)
        powers = nl.ndarray((size, columns), dtype=nl.float32)
        nisa.activation_reduce(dst=powers, op=nl.exp, data=tile, bias=negative_max, reduce_op=nl.add, reduce_res=total)
        nisa.reciprocal(dst=total, data=total)
        result = powers if x.dtype == nl.float32 else tile
        nisa.tensor_scalar(dst=result, data=powers, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[part], src=result)
    return out


def reference(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def main():
    x = np.random.default_rng(0).standard_normal((300, 1000), dtype=np.float32)
    print("softmax of", x.shape, "- largest error", np.abs(softmax(x) - reference(x)).max())


if __name__ == "__main__":
    main()
