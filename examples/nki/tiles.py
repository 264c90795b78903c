"""What the example kernels share: cutting dimensions into tiles, and moving tiles.

Kernels use plain loops and lists: the parser of the device's compiler knows no comprehensions.
"""

import nki.isa as nisa
import nki.language as nl


def pieces(start, stop, size):
    """start:stop cut into slices of `size`; the last one may be shorter."""
    parts = []
    for i in range(start, stop, size):
        parts.append(slice(i, min(i + size, stop)))
    return parts


def width(piece):
    return piece.stop - piece.start


def load(source, dtype=None):
    """A tile of SBUF with the elements of a view of HBM."""
    tile = nl.ndarray(source.shape, dtype=dtype or source.dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def load_rows(source, size):
    """The rows of a matrix in HBM as tiles of `size` rows."""
    tiles = []
    for part in pieces(0, source.shape[0], size):
        tiles.append(load(source[part]))
    return tiles


def column(partitions):
    """Room for a number per partition."""
    return nl.ndarray((partitions, 1), dtype=nl.float32)


def load_transposed(source):
    """The transpose of a matrix in HBM, in SBUF."""
    rows, columns = source.shape
    tile = nl.ndarray((columns, rows), dtype=source.dtype)
    nisa.dma_transpose(dst=tile, src=source)
    return tile


def load_row_everywhere(row, partitions):
    """A vector in HBM as a tile whose partitions all hold it."""
    return load(row.expand_dim(0).broadcast(0, partitions))


def to_sbuf(tile, dtype=None):
    """A copy in SBUF, e.g. of a tile in PSUM, which DMA cannot reach."""
    copy = nl.ndarray(tile.shape, dtype=dtype or tile.dtype)
    nisa.tensor_copy(dst=copy, src=tile)
    return copy


def transposed(tile):
    """The transpose of a tile of at most 128 x 128, through the tensor engine."""
    rows, columns = tile.shape
    turned = nl.ndarray((columns, rows), dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile)
    return to_sbuf(turned)
