"""Two transposes: of a matrix, and of a small matrix inside every row.

The first has to move elements between partitions, which the tensor engine does 128 x 128 at a time. The second stays
within its partitions: a copy whose source is seen in another order.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, pieces, transposed

TILE = 128


@nki.jit
def transpose(x):
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    for row in pieces(0, rows, TILE):
        for column in pieces(0, columns, TILE):
            nisa.dma_copy(dst=out[column, row], src=transposed(load(x[row, column])))
    return out


@nki.jit
def transpose_rows(x, shape):
    """Every row holds a matrix of `shape`; the result's rows hold their transposes."""
    height, columns = shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for part in pieces(0, x.shape[0], nl.tile_size.pmax):
        tile = load(x[part])
        turned = nl.ndarray((tile.shape[0], columns, height), dtype=x.dtype)
        nisa.tensor_copy(dst=turned, src=tile.reshape_dim(1, (height, columns)).permute((0, 2, 1)))
        nisa.dma_copy(dst=out[part], src=turned)
    return out


def reference_rows(x, shape):
    return x.reshape(-1, *shape).transpose(0, 2, 1).reshape(x.shape)


def main():
    x = np.random.default_rng(0).standard_normal((300, 20 * 35), dtype=np.float32)
    print("transpose of", x.shape, "- equal:", np.array_equal(transpose(x), x.T))
    equal = np.array_equal(transpose_rows(x, (20, 35)), reference_rows(x, (20, 35)))
    print("transpose_rows of", x.shape, "- equal:", equal)


if __name__ == "__main__":
    main()
