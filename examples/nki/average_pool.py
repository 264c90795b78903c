"""Average pooling: the mean of every size x size window of an image; what does not fill a window is left out.

Channels lie in partitions. A window is no copy: the tile is seen with the windows' rows and columns as its last two
dimensions, and one instruction adds these up.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, pieces, width


@nki.jit
def average_pool(x, size):
    channels, height, columns = x.shape
    rows_out, columns_out = height // size, columns // size
    out = nl.ndarray((channels, rows_out, columns_out), dtype=x.dtype, buffer=nl.shared_hbm)
    for part in pieces(0, channels, nl.tile_size.pmax):
        tile = load(x[part])
        windows = tile.ap(pattern=[[height * columns, width(part)], [size * columns, rows_out], [size, columns_out],
                                   [columns, size], [1, size]])
        total = nl.ndarray((width(part), rows_out, columns_out), dtype=nl.float32)
        nisa.tensor_reduce(dst=total, op=nl.add, data=windows, axis=(3, 4))
        mean = nl.ndarray(total.shape, dtype=x.dtype)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1 / size**2)
        nisa.dma_copy(dst=out[part], src=mean)
    return out


def reference(x, size):
    channels, height, columns = x.shape
    x = x[:, :height // size * size, :columns // size * size].astype(np.float32)
    return x.reshape(channels, height // size, size, columns // size, size).mean(axis=(2, 4))


def main():
    x = np.random.default_rng(0).standard_normal((150, 17, 20), dtype=np.float32)
    print("average_pool of", x.shape, "- largest error", np.abs(average_pool(x, 3) - reference(x, 3)).max())


if __name__ == "__main__":
    main()
