"""Cumulative sum along every row.

s_j = s_(j-1) + x_j is a recurrence with the factor 1, and one instruction runs it for 128 rows. Rows longer than a tile
come in parts: a part starts where the one before it ended.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, pieces, width

COLUMNS = 2048


@nki.jit
def cumsum(x):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    ones = nl.ndarray((nl.tile_size.pmax, min(columns, COLUMNS)), dtype=nl.float32)
    nisa.memset(dst=ones, value=1.0)
    for part in pieces(0, rows, nl.tile_size.pmax):
        carry = 0.0
        for span in pieces(0, columns, COLUMNS):
            tile = load(x[part, span])
            sums = nl.ndarray(tile.shape, dtype=nl.float32)
            nisa.tensor_tensor_scan(dst=sums, data0=ones[0:width(part), 0:width(span)], data1=tile, initial=carry,
                                    op0=nl.multiply, op1=nl.add)
            carry = sums[:, width(span) - 1:]
            nisa.tensor_copy(dst=tile, src=sums)
            nisa.dma_copy(dst=out[part, span], src=tile)
    return out


def reference(x):
    return np.cumsum(x, axis=1, dtype=np.float64)


def main():
    x = np.random.default_rng(0).standard_normal((300, 5000), dtype=np.float32)
    print("cumsum of", x.shape, "- largest error", np.abs(cumsum(x) - reference(x)).max())


if __name__ == "__main__":
    main()
