"""Root-mean-square norm of every row, scaled by one weight per column.

rms_norm(x)_j = w_j * x_j / sqrt(mean_k x_k^2 + eps)

The weights are needed in every partition, so they are read from HBM once with a row stride of 0. The squares, of which
only the sums are used, lie where the result goes later.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import column, load, load_row_everywhere, pieces, to_sbuf, width


def inverse_rms(tile, eps, squares):
    """1 / sqrt(mean of squares + eps) of every partition; `squares` is room for a product of the tile's shape."""
    size, columns = tile.shape
    result = column(size)
    nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
    nisa.tensor_reduce(dst=result, op=nl.add, data=squares, axis=1)
    nisa.tensor_scalar(dst=result, data=result, op0=nl.multiply, operand0=1.0 / columns, op1=nl.add, operand1=eps)
    nisa.activation(dst=result, op=nl.rsqrt, data=result)
    return result


def normalise(tile, weights, eps):
    """The norm of a tile's rows, in float32."""
    result = nl.ndarray(tile.shape, dtype=nl.float32)
    inverse = inverse_rms(tile, eps, squares=result)
    nisa.scalar_tensor_tensor(dst=result, data=tile, op0=nl.multiply, operand0=inverse,
                              op1=nl.multiply, operand1=weights)
    return result


@nki.jit
def rms_norm(x, weight, eps=1e-6):
    rows, _ = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    weights = load_row_everywhere(weight, nl.tile_size.pmax)
    for part in pieces(0, rows, nl.tile_size.pmax):
        result = normalise(load(x[part]), weights[0:width(part)], eps)
        nisa.dma_copy(dst=out[part], src=result if x.dtype == nl.float32 else to_sbuf(result, x.dtype))
    return out


def reference(x, weight, eps=1e-6):
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(eps)) * weight


def main():
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((300, 1000), dtype=np.float32), rng.standard_normal(1000, dtype=np.float32)
    print("rms_norm of", x.shape, "- largest error", np.abs(rms_norm(x, weight) - reference(x, weight)).max())


if __name__ == "__main__":
    main()
