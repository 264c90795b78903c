"""Rotary position embedding: pairs of numbers are turned by an angle that grows with the position.

The first half of a vector holds the first numbers of the pairs, the second half the second ones:

out_1 = x_1 cos - x_2 sin        out_2 = x_2 cos + x_1 sin

Positions lie in partitions, so all heads of a position share one load of its angles.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, pieces


@nki.jit
def rope(x, cosines, sines):
    """x: (positions, heads, d); cosines, sines: (positions, d / 2)."""
    positions, heads, d = x.shape
    half = d // 2
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for part in pieces(0, positions, nl.tile_size.pmax):
        tile = load(x[part])
        cosine = load(cosines[part]).expand_dim(1).broadcast(1, heads)
        sine = load(sines[part]).expand_dim(1).broadcast(1, heads)
        turned = nl.ndarray(tile.shape, dtype=x.dtype)
        rotate(turned[:, :, :half], tile[:, :, :half], tile[:, :, half:], cosine, sine, nl.subtract)
        rotate(turned[:, :, half:], tile[:, :, half:], tile[:, :, :half], cosine, sine, nl.add)
        nisa.dma_copy(dst=out[part], src=turned)
    return out


def rotate(dst, first, second, cosine, sine, op):
    """first * cosine - second * sine, or + for the other half."""
    kept = nl.ndarray(first.shape, dtype=nl.float32)
    crossed = nl.ndarray(first.shape, dtype=nl.float32)
    nisa.tensor_tensor(dst=kept, data1=first, data2=cosine, op=nl.multiply)
    nisa.tensor_tensor(dst=crossed, data1=second, data2=sine, op=nl.multiply)
    nisa.tensor_tensor(dst=dst, data1=kept, data2=crossed, op=op)


def angles(positions, d, base=10000.0):
    """Cosines and sines of position * base^(-2 i / d)."""
    turns = np.arange(positions)[:, None] * base**(-np.arange(0, d, 2) / d)
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


def reference(x, cosines, sines):
    pairs = np.moveaxis(x.astype(np.float32).reshape(*x.shape[:2], 2, -1), 2, 0)
    turned = (pairs[0] + 1j * pairs[1]) * (cosines + 1j * sines)[:, None]
    return np.concatenate([turned.real, turned.imag], axis=2)


def main():
    x = np.random.default_rng(0).standard_normal((300, 3, 64), dtype=np.float32)
    cosines, sines = angles(300, 64)
    print("rope of", x.shape, "- largest error", np.abs(rope(x, cosines, sines) - reference(x, cosines, sines)).max())


if __name__ == "__main__":
    main()
