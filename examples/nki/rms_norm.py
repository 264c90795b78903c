"""Root-mean-square norm of every row, scaled by one weight per column.

rms_norm(x)_j = w_j * x_j / sqrt(mean_k x_k^2 + eps)

The squares are added up by the instruction that computes them. The weights are needed in every partition, so they are read
from HBM once with a row stride of 0.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, load_row_everywhere, pieces, width


def inverse_rms(tile, eps):
    """1 / sqrt(mean of squares + eps) of every partition."""
    size, columns = tile.shape
    squares = nl.ndarray((size, columns), dtype=nl.bfloat16)  # only their sum is used
    result = nl.ndarray((size, 1), dtype=nl.float32)
    nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=result)
    nisa.tensor_scalar(dst=result, data=result, op0=nl.multiply, operand0=1.0 / columns, op1=nl.add, operand1=eps)
    nisa.activation(dst=result, op=nl.rsqrt, data=result)
    return result


def normalise(tile, weights, eps):
    """Replaces the rows of a tile by their norm."""
    nisa.scalar_tensor_tensor(dst=tile, data=tile, op0=nl.multiply, operand0=inverse_rms(tile, eps),
                              op1=nl.multiply, operand1=weights)


@nki.jit
def rms_norm(x, weight, eps=1e-6):
    rows, _ = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    weights = load_row_everywhere(weight, nl.tile_size.pmax)
    for part in pieces(0, rows, nl.tile_size.pmax):
        tile = load(x[part])
        normalise(tile, weights[0:width(part)], eps)
        nisa.dma_copy(dst=out[part], src=tile)
    return out


def reference(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(eps)) * weight


def main():
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((300, 1000), dtype=np.float32), rng.standard_normal(1000, dtype=np.float32)
    print("rms_norm of", x.shape, "- largest error", np.abs(rms_norm(x, weight) - reference(x, weight)).max())


if __name__ == "__main__":
    main()
