"""One-dimensional convolution with bias, stride 1, no padding.

out[o, t] = bias[o] + sum_(i, j) w[o, i, j] x[i, t + j]

Each tap j is a matrix product over the input channels, and all of them add up in PSUM. Their moving operand is one tile
of the input, looked at j columns further to the right.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, load_rows, pieces, width

TILE_IN, TILE_OUT, TILE_TIME = 128, 128, 512


@nki.jit
def conv1d(x, w, bias):
    """x: (batch, inputs, length); w: (outputs, inputs, taps); bias: (outputs, 1)."""
    batch, inputs, length = x.shape
    outputs, _, taps = w.shape
    out = nl.ndarray((batch, outputs, length - taps + 1), dtype=x.dtype, buffer=nl.shared_hbm)
    for o in pieces(0, outputs, TILE_OUT):
        offset = load(bias[o], nl.float32)
        weights = []  # a list of taps for every tile of input channels
        for i in pieces(0, inputs, TILE_IN):
            weights.append(load_taps(w[o, i]))
        for b in range(batch):
            for t in pieces(0, length - taps + 1, TILE_TIME):
                tiles = load_rows(x[b, :, t.start:t.stop + taps - 1], TILE_IN)
                sums = add_taps(weights, tiles, width(o), width(t))
                result = nl.ndarray(sums.shape, dtype=x.dtype)
                nisa.tensor_scalar(dst=result, data=sums, op0=nl.add, operand0=offset)
                nisa.dma_copy(dst=out[b, o, t], src=result)
    return out


def load_taps(w):
    """w (outputs, inputs, taps) as one (inputs, outputs) tile per tap."""
    taps = []
    for j in range(w.shape[2]):
        taps.append(load(w[:, :, j].permute((1, 0))))
    return taps


def add_taps(weights, tiles, outputs, columns):
    sums = nl.ndarray((outputs, columns), dtype=nl.float32, buffer=nl.psum)
    for i in range(len(tiles)):
        for j in range(len(weights[i])):
            nisa.nc_matmul(dst=sums, stationary=weights[i][j], moving=tiles[i][:, j:j + columns])
    return sums


def reference(x, w, bias):
    x, w = x.astype(np.float32), w.astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2], axis=2)
    return np.einsum("bitj,oij->bot", windows, w, optimize=True) + bias.astype(np.float32)


def main():
    rng = np.random.default_rng(0)
    x, w, bias = (rng.standard_normal(s, dtype=np.float32) for s in ((2, 150, 700), (140, 150, 5), (140, 1)))
    print("conv1d of", x.shape, "- largest error", np.abs(conv1d(x, w, bias) - reference(x, w, bias)).max())


if __name__ == "__main__":
    main()
