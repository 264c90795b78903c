"""What the examples for several ranks share: tensors that collectives may use, and products of matrices.

A collective takes tensors of the kernel's own in HBM, with a name; arguments and results are copied.
"""

import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl

TILE_K, TILE_M, TILE_N = 128, 128, 512


def everyone(ranks):
    """The group of all ranks."""
    return ncc.ReplicaGroup([list(range(ranks))])


def shared(shape, dtype, name):
    """Room in HBM that a collective may use."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm, name=name)


def copied(source, name):
    """Such a tensor with the elements of another one."""
    copy = shared(source.shape, source.dtype, name)
    nisa.dma_copy(dst=copy, src=source)
    return copy


def returned(source):
    """A result of the kernel with the elements of a tensor."""
    out = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=source)
    return out


def load(source):
    """A tile of SBUF with the elements of a view of HBM."""
    tile = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def product(out, a_transposed, b, relu=False):
    """out = A B in HBM, with A given transposed (K, M) and B (K, N)."""
    products(out, [(a_transposed, b)], relu)


def products(out, pairs, relu=False):
    """out = the sum of products A B, added up in PSUM; all are in HBM."""
    for m in range(0, out.shape[0], TILE_M):
        rows = min(TILE_M, out.shape[0] - m)
        for n in range(0, out.shape[1], TILE_N):
            columns = min(TILE_N, out.shape[1] - n)
            sums = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
            for a_transposed, b in pairs:
                for k in range(0, b.shape[0], TILE_K):
                    depth = min(TILE_K, b.shape[0] - k)
                    nisa.nc_matmul(dst=sums, stationary=load(a_transposed[k:k + depth, m:m + rows]),
                                   moving=load(b[k:k + depth, n:n + columns]))
            tile = nl.ndarray((rows, columns), dtype=out.dtype, buffer=nl.sbuf)
            if relu:
                nisa.tensor_scalar(dst=tile, data=sums, op0=nl.maximum, operand0=0.0)
            else:
                nisa.tensor_copy(dst=tile, src=sums)
            nisa.dma_copy(dst=out[m:m + rows, n:n + columns], src=tile)
