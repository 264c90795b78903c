"""Root-mean-square norm with its result in 8 bits: a float8_e4m3 matrix and one scale per row.

scale = max_j |y_j| / 240, q_j = y_j / scale        240 is the largest float8_e4m3

A row of zeros gets the smallest scale, not 0, so that nothing is divided by 0.
"""

import ml_dtypes
import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
import rms_norm
from tiles import column, load, load_row_everywhere, pieces, width

LARGEST, SMALLEST_SCALE = 240.0, 1e-8


@nki.jit
def rms_norm_quantize(x, weight, eps=1e-6):
    rows, _ = x.shape
    out = nl.ndarray(x.shape, dtype=nl.float8_e4m3, buffer=nl.shared_hbm)
    scales = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    weights = load_row_everywhere(weight, nl.tile_size.pmax)
    for part in pieces(0, rows, nl.tile_size.pmax):
        scale, quantized = quantize(rms_norm.normalise(load(x[part]), weights[0:width(part)], eps))
        nisa.dma_copy(dst=scales[part], src=scale)
        nisa.dma_copy(dst=out[part], src=quantized)
    return out, scales


def quantize(tile):
    """The scales (P, 1) of a tile's rows and the tile in float8_e4m3."""
    size, columns = tile.shape
    magnitudes = nl.ndarray((size, columns), dtype=nl.float32)
    nisa.activation(dst=magnitudes, op=nl.abs, data=tile)
    scale, inverse = column(size), column(size)
    nisa.tensor_reduce(dst=scale, op=nl.maximum, data=magnitudes, axis=1)
    nisa.tensor_scalar(dst=scale, data=scale, op0=nl.multiply, operand0=1 / LARGEST,
                       op1=nl.maximum, operand1=SMALLEST_SCALE)
    nisa.reciprocal(dst=inverse, data=scale)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=inverse, op1=nl.minimum, operand1=LARGEST)
    quantized = nl.ndarray((size, columns), dtype=nl.float8_e4m3)
    nisa.tensor_scalar(dst=quantized, data=tile, op0=nl.maximum, operand0=-LARGEST)
    return scale, quantized


def reference(x, weight, eps=1e-6):
    y = rms_norm.reference(x.astype(np.float32), weight.astype(np.float32), eps)
    scale = np.maximum(np.abs(y).max(axis=1, keepdims=True) / np.float32(LARGEST), np.float32(SMALLEST_SCALE))
    return np.clip(y / scale, -LARGEST, LARGEST).astype(ml_dtypes.float8_e4m3), scale


def main():
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((300, 1000), dtype=np.float32), rng.standard_normal(1000, dtype=np.float32)
    quantized, scale = rms_norm_quantize(x, weight)
    error = np.abs(quantized.astype(np.float32) * scale - rms_norm.reference(x, weight)).max(axis=1, keepdims=True)
    print("rms_norm_quantize of", x.shape, "- largest error", (error / scale).max(), "scales")


if __name__ == "__main__":
    main()
