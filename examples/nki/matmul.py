"""Matrix product in five versions, each faster on the chip than the one before.

C = A B with A given transposed (K, M), because the tensor engine adds up along partitions: both its operands have K
there. One instruction multiplies a stationary tile of at most 128 x 128 by a moving tile of at most 128 x 512 into
PSUM, and adds to what earlier products of the same tile left there.

basic          one tile
tiled          any size: for every tile of C, load and multiply the tiles along K
hoisted        the tiles of A are loaded once for a whole row of C
blocked_free   a block of several tiles of C per load, in both free dimensions
blocked        K is blocked as well; partial sums wait in SBUF, so any K fits
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, load_rows, pieces, to_sbuf, width

TILE_K, TILE_M, TILE_N = 128, 128, 512


def load_columns(matrix, columns):
    """The tiles of some columns, one per piece of K."""
    return load_rows(matrix[:, columns], TILE_K)


def product(a_tiles, b_tiles):
    """Sum over K of products of tiles, in PSUM."""
    result = nl.ndarray((a_tiles[0].shape[1], b_tiles[0].shape[1]), dtype=nl.float32, buffer=nl.psum)
    for k in range(len(a_tiles)):
        nisa.nc_matmul(dst=result, stationary=a_tiles[k], moving=b_tiles[k])
    return result


def store(matrix, rows, columns, tile):
    """A tile in PSUM goes to HBM through SBUF."""
    nisa.dma_copy(dst=matrix[rows, columns], src=to_sbuf(tile, matrix.dtype))


def make_result(a_transposed, b):
    assert a_transposed.shape[0] == b.shape[0], f"K differs: {a_transposed.shape[0]} and {b.shape[0]}"
    return nl.ndarray((a_transposed.shape[1], b.shape[1]), dtype=a_transposed.dtype, buffer=nl.shared_hbm)


@nki.jit
def basic(a_transposed, b):
    c = make_result(a_transposed, b)
    store(c, slice(0, c.shape[0]), slice(0, c.shape[1]), product([load(a_transposed)], [load(b)]))
    return c


@nki.jit
def tiled(a_transposed, b):
    c = make_result(a_transposed, b)
    for m in pieces(0, c.shape[0], TILE_M):
        for n in pieces(0, c.shape[1], TILE_N):
            store(c, m, n, product(load_columns(a_transposed, m), load_columns(b, n)))
    return c


@nki.jit
def hoisted(a_transposed, b):
    c = make_result(a_transposed, b)
    for m in pieces(0, c.shape[0], TILE_M):
        a_tiles = load_columns(a_transposed, m)
        for n in pieces(0, c.shape[1], TILE_N):
            store(c, m, n, product(a_tiles, load_columns(b, n)))
    return c


@nki.jit
def blocked_free(a_transposed, b, block_m=2, block_n=2):
    c = make_result(a_transposed, b)
    for wide_m in pieces(0, c.shape[0], block_m * TILE_M):
        rows = pieces(wide_m.start, wide_m.stop, TILE_M)
        a_tiles = load_block(a_transposed, rows)
        for wide_n in pieces(0, c.shape[1], block_n * TILE_N):
            columns = pieces(wide_n.start, wide_n.stop, TILE_N)
            b_tiles = load_block(b, columns)
            for i in range(len(rows)):
                for j in range(len(columns)):
                    store(c, rows[i], columns[j], product(a_tiles[i], b_tiles[j]))
    return c


def load_block(matrix, columns):
    """A list of tiles along K for each of several groups of columns."""
    block = []
    for part in columns:
        block.append(load_columns(matrix, part))
    return block


@nki.jit
def blocked(a_transposed, b, block_m=16, block_n=2, block_k=8):
    c = make_result(a_transposed, b)
    for wide_n in pieces(0, c.shape[1], block_n * TILE_N):
        for wide_m in pieces(0, c.shape[0], block_m * TILE_M):
            _blocked_part(c, a_transposed, b, wide_m, wide_n, block_k * TILE_K)
    return c


def _blocked_part(c, a_transposed, b, wide_m, wide_n, wide_k):
    """One block of C: wide rows of A and B are loaded at once, so that a DMA moves long lines."""
    rows, columns = pieces(wide_m.start, wide_m.stop, TILE_M), pieces(wide_n.start, wide_n.stop, TILE_N)
    sums = []
    for k in pieces(0, b.shape[0], wide_k):
        a_rows, b_rows = load_rows(a_transposed[k, wide_m], TILE_K), load_rows(b[k, wide_n], TILE_K)
        for i in range(len(rows)):
            for j in range(len(columns)):
                partial = product(_cut(a_rows, i * TILE_M, rows[i]), _cut(b_rows, j * TILE_N, columns[j]))
                if k.start == 0:
                    sums.append(to_sbuf(partial))
                else:
                    total = sums[i * len(columns) + j]
                    nisa.tensor_tensor(dst=total, data1=total, data2=partial, op=nl.add)
    for i in range(len(rows)):
        for j in range(len(columns)):
            store(c, rows[i], columns[j], sums[i * len(columns) + j])


def _cut(wide_tiles, start, piece):
    """The columns of wide tiles that belong to a piece of C, `start` columns from their left."""
    tiles = []
    for tile in wide_tiles:
        tiles.append(tile[:, nl.ds(start, width(piece))])
    return tiles


VERSIONS = (tiled, hoisted, blocked_free, blocked)


def reference(a_transposed, b):
    return a_transposed.astype(np.float32).T @ b.astype(np.float32)


def main():
    rng = np.random.default_rng(0)
    a_transposed = rng.standard_normal((300, 200), dtype=np.float32)
    b = rng.standard_normal((300, 700), dtype=np.float32)
    want = reference(a_transposed, b)
    for kernel in VERSIONS:
        print(f"{kernel.func.__name__:14} largest error {np.abs(kernel(a_transposed, b) - want).max():.1e}")


if __name__ == "__main__":
    main()
