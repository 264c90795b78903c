"""A Fourier transform in two dimensions of a matrix whose rows are spread over ranks: along the rows, a transpose over
all ranks with all_to_all, and along the columns. A transform of a short axis is a product with its matrix.

    kiln run examples/ranks/fft_transpose.py --ranks 4
"""

import numpy as np
from parts import everyone, products, shared

import kiln
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


def times(out, a, b):
    """Complex product; a matrix is (real, imaginary), and `b` has its imaginary part negated besides."""
    products(out[0], [(a[0], b[0]), (a[1], b[2])])
    products(out[1], [(a[0], b[1]), (a[1], b[0])])


def exchanged(part, ranks, name):
    """Rows of this rank (rows, all columns) become its columns (all rows, columns)."""
    rows, columns = part.shape[0], part.shape[1] // ranks
    sent = shared((ranks, rows, columns), part.dtype, f"sent_{name}")
    for r in range(ranks):
        nisa.dma_copy(dst=sent[r], src=part[:, r * columns:(r + 1) * columns])
    received = shared(sent.shape, part.dtype, f"received_{name}")
    ncc.all_to_all(srcs=[sent], dsts=[received], replica_group=everyone(ranks), collective_dim=0)
    return received.reshape((ranks * rows, columns))


@nki.jit
def fft2(real_transposed, imaginary_transposed, row_matrix, column_matrix, ranks):
    """The matrices of the transforms: (real, imaginary, -imaginary), symmetric."""
    size, rows = real_transposed.shape
    half = [shared((rows, size), real_transposed.dtype, "half_real"),
            shared((rows, size), real_transposed.dtype, "half_imaginary")]
    times(half, (real_transposed, imaginary_transposed), row_matrix)
    mine = [exchanged(half[0], ranks, "real"), exchanged(half[1], ranks, "imaginary")]
    out = [nl.ndarray(mine[0].shape, dtype=mine[0].dtype, buffer=nl.shared_hbm),
           nl.ndarray(mine[0].shape, dtype=mine[0].dtype, buffer=nl.shared_hbm)]
    products(out[0], [(column_matrix[0], mine[0]), (column_matrix[2], mine[1])])
    products(out[1], [(column_matrix[1], mine[0]), (column_matrix[0], mine[1])])
    return out[0], out[1]


def matrix_of(size):
    """The matrix of a transform of `size` numbers: its real and imaginary part, and the latter negated."""
    angle = -2 * np.pi * np.outer(np.arange(size), np.arange(size)) / size
    return np.stack([np.cos(angle), np.sin(angle), -np.sin(angle)]).astype(np.float32)


def run(ranks, rows=None, columns=None, seed=0):
    """What every rank returns, as complex numbers, and what the whole problem gives in float64."""
    rows, columns = rows or max(16, ranks), columns or max(32, ranks)
    rng = np.random.default_rng(seed)
    real, imaginary = rng.standard_normal((2, rows, columns)).astype(np.float32)
    parts = [kiln.per_rank(np.ascontiguousarray(p.T) for p in np.split(a, ranks)) for a in (real, imaginary)]
    results = nki.simulate(fft2, ranks=ranks)(*parts, matrix_of(columns), matrix_of(rows), ranks)
    want = np.fft.fft2(real.astype(np.float64) + 1j * imaginary)
    return [re + 1j * im for re, im in results], np.split(want, ranks, axis=1)


def main():
    results, want = run(kiln.ranks())
    print("largest error", max(np.abs(r - w).max() for r, w in zip(results, want)))


if __name__ == "__main__":
    main()
