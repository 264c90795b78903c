"""Kernels written with nl functions alone, in tiles, with odd edges."""

import ml_dtypes
import numpy as np
import pytest

from kernels import close
from kiln import nki
from kiln.nki import language as nl


@nki.jit
def attention(q, k, v):
    """softmax(q k' / sqrt d) v for rows of q in tiles of 128; k and v have at most 128 rows."""
    rows, d = q.shape
    out = nl.ndarray((rows, d), dtype=nl.float32, buffer=nl.shared_hbm)
    keys, values = nl.load_transpose2d(k), nl.load(v)
    for first in nl.affine_range(0, rows, 128):
        tile = nl.ds(first, min(128, rows - first))
        queries = nl.load_transpose2d(q[tile, :])
        scores = nl.multiply(nl.matmul(queries, keys, transpose_x=True), d**-0.5)
        weights = nl.softmax(scores, axis=-1, dtype=v.dtype)
        nl.store(out[tile, :], value=nl.copy(nl.matmul(weights, values)))
    return out


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_attention(target, rng, dtype):
    rows, keys, d = int(rng.integers(1, 300)), int(rng.integers(1, 129)), int(rng.integers(1, 129))
    q, k, v = (rng.standard_normal((n, d)).astype(dtype) for n in (rows, keys, keys))
    x, y, z = (a.astype(np.float64) for a in (q, k, v))
    scores = np.exp(x @ y.T / np.sqrt(d))
    want = scores / scores.sum(1, keepdims=True) @ z
    close(nki.simulate(attention)(q, k, v), want, rtol=1e-4, atol=1e-4 if dtype is np.float32 else 3e-2)


@nki.jit
def layer_norm(x, weight, bias):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scale = nl.broadcast_to(nl.load(weight), (min(128, rows), columns))
    shift = nl.broadcast_to(nl.load(bias), (min(128, rows), columns))
    for first in range(0, rows, 128):
        size = min(128, rows - first)
        tile = nl.load(x[first:first + size], dtype=nl.float32)
        centred = nl.subtract(tile, nl.mean(tile, axis=1, keepdims=True))
        unit = nl.multiply(centred, nl.rsqrt(nl.add(nl.var(tile, axis=1), 1e-5)))
        nl.store(out[first:first + size], nl.add(nl.multiply(unit, scale[0:size]), shift[0:size]))
    return out


def test_layer_norm(target, rng, float_dtype):
    shape = (int(rng.integers(1, 300)), int(rng.integers(2, 600)))
    x = rng.standard_normal(shape).astype(float_dtype)
    weight, bias = (rng.standard_normal((1, shape[1])).astype(np.float32) for _ in range(2))
    d = x.astype(np.float64)
    want = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5) * weight + bias
    close(nki.simulate(layer_norm)(x, weight, bias), want, rtol=1e-4, atol=1e-2)
