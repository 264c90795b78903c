"""Matrix product of microscaled numbers (trn3): the chip quantises both operands to 8 bits with shared exponents.

C = A^T B with A (K, M), B (K, N). A group of 32 numbers along K shares one power of two. quantize_mx wants a group as 8
partitions x 4 neighbours, so row 4 p + i of the matrix goes to partition p, place i: K = 512 fills a tile, and one
instruction multiplies four times as much as with bfloat16. Columns of B are quantised once and stay in SBUF, as many as
fit, while all rows of the result go by.
"""

import ml_dtypes
import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import pieces, to_sbuf

TILE_M, TILE_N = 128, 512
KEPT_BYTES = 96 * 1024  # of a partition of SBUF, for the quantised columns of B


def parts_of_k(k):
    """K cut into 512s and, for the rest, 256 and 128: tiles of 128, 64 and 32 partitions."""
    parts, start = [], 0
    for size in (512, 256, 128):
        while k - start >= size:
            parts.append(slice(start, start + size))
            start += size
    return parts


@nki.jit
def mx_matmul(a, b):
    """a: (K, M), b: (K, N) in bfloat16 or float16; K a multiple of 128, M even. Returns float32."""
    (k, m), (_, n) = a.shape, b.shape
    assert k % 128 == 0 and m % 2 == 0, f"K = {k} is a multiple of 128 and M = {m} is even"
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    parts = parts_of_k(k)
    for block in pieces(0, n, block_columns(parts)):
        columns, moving = pieces(block.start, block.stop, TILE_N), []
        for part in columns:
            moving.append(quantize_parts(b[:, part], parts))
        for rows in pieces(0, m, TILE_M):
            stationary = quantize_parts(a[:, rows], parts)
            for i in range(len(columns)):
                multiply(out[rows, columns[i]], stationary, moving[i])
    return out


def block_columns(parts):
    """Columns of B that stay in SBUF once quantised: a byte of each value, and a scale for four of them."""
    fitting = KEPT_BYTES // (5 * len(parts))
    step = TILE_N if fitting >= TILE_N else TILE_M
    return max(1, fitting // step) * step


def multiply(out, stationary, moving):
    """A tile of the product, from the quantised parts of K of both operands."""
    sums = nl.ndarray(out.shape, dtype=nl.float32, buffer=nl.psum)
    for i in range(len(stationary)):
        left, left_scale = stationary[i]
        right, right_scale = moving[i]
        nisa.nc_matmul_mx(dst=sums, stationary=left, moving=right, stationary_scale=left_scale,
                          moving_scale=right_scale)
    nisa.dma_copy(dst=out, src=to_sbuf(sums))


def quantize_parts(matrix, parts):
    """The parts of K of a view (K, F) of HBM, quantised."""
    tiles = []
    for part in parts:
        tiles.append(quantize(matrix[part]))
    return tiles


def quantize(matrix):
    """A (K, F) view of HBM as packed float8_e4m3fn (K / 4, F) and its scales."""
    partitions, columns = matrix.shape[0] // 4, matrix.shape[1]
    tile = nl.ndarray((partitions, columns, 4), dtype=matrix.dtype)
    nisa.dma_copy(dst=tile, src=matrix.reshape_dim(0, (partitions, 4)).permute((0, 2, 1)))
    packed = nl.ndarray((partitions, columns), dtype=nl.float8_e4m3fn_x4)
    scales = nl.ndarray((partitions if partitions > 32 else partitions // 8, columns), dtype=nl.uint8)
    nisa.quantize_mx(dst=packed, src=tile.reshape((partitions, 4 * columns)), dst_scale=scales)
    return packed, scales


def rounded(matrix):
    """What quantising leaves of a (K, F) matrix: 32 rows share a scale that brings their largest into [128, 256)."""
    groups = matrix.astype(np.float32).reshape(-1, 32, matrix.shape[1])
    _, exponent = np.frexp(np.abs(groups).max(axis=1, keepdims=True))
    scale = np.ldexp(np.float32(1), exponent - 8)
    return ((groups / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale).reshape(matrix.shape)


def reference(a, b):
    return rounded(a).T @ rounded(b)


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(ml_dtypes.bfloat16) for s in ((640, 140), (640, 700)))
    want, exact = reference(a, b), a.astype(np.float32).T @ b.astype(np.float32)
    print("mx_matmul of", want.shape, "- largest error", np.abs(mx_matmul(a, b) - want).max(),
          "- of the quantisation", np.abs(want - exact).max())


if __name__ == "__main__":
    main()
