"""What the tests of kiln.sparse share: random matrices, bounds, attention in float64."""

import os

import numpy as np

SEED = int(os.environ["KILN_SEED"])
KERNELS = [("native", "trn2"), ("simulator", "trn1"), ("simulator", "trn2"), ("simulator", "trn3")]


def generator(*more):
    print(f"KILN_SEED={SEED}")  # pytest shows it when a test fails
    return np.random.default_rng([SEED, *more])


def sparse_dense(rng, rows, columns, density, dtype=np.float32):
    """A dense matrix of which a share of the elements is not zero."""
    return ((rng.random((rows, columns)) < density) * rng.standard_normal((rows, columns))).astype(dtype)


def assert_product(got, a, b, more=0.0):
    """Within GEMM's bound of the product in float64: 4 sqrt(K) eps |A| |B|."""
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    bound = 4 * np.sqrt(max(1, a.shape[1])) * np.finfo(np.float32).eps * (np.abs(a) @ np.abs(b) + np.abs(more))
    error = np.abs(np.asarray(got, np.float64) - (a @ b + more))
    assert (error <= bound + 1e-30).all(), f"error {error.max()}, at most {bound.max()}"


def attention64(Q, K, V, mask, scale):
    """(out, weights) in float64; rows of which nothing counts are zero."""
    Q, K, V = (np.asarray(x, np.float64) for x in (Q, K, V))
    scores = np.where(mask, Q @ K.swapaxes(-1, -2) * scale, -np.inf)
    largest = scores.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = e.sum(-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    return p @ V, p


def gradients64(Q, K, V, dO, mask, scale):
    out, p = attention64(Q, K, V, mask, scale)
    Q, K, V, dO = (np.asarray(x, np.float64) for x in (Q, K, V, dO))
    dP = dO @ V.swapaxes(-1, -2)
    dS = p * (dP - (dO * out).sum(-1, keepdims=True))
    return dS @ K * scale, dS.swapaxes(-1, -2) @ Q * scale, p.swapaxes(-1, -2) @ dO


def relative(got, want, least=0.1):
    """The largest error, relative to the largest element; where all are small, they come from terms of size 1."""
    return np.abs(np.asarray(got, np.float64) - want).max(initial=0) / max(np.abs(want).max(initial=0), least)


def dense_mask(function, queries, keys):
    return np.broadcast_to(np.asarray(function(np.arange(queries)[:, None], np.arange(keys)[None, :]), bool),
                           (queries, keys))


# What queries attend to: twelve patterns, among them rows without anything.
PATTERNS = {
    "full": lambda i, j: (i >= 0) & (j >= 0),
    "diagonal": lambda i, j: i // 128 == j // 128,
    "local": lambda i, j: abs(i // 128 - j // 128) <= 1,
    "window": lambda i, j: abs(i - j) <= 70,
    "dilated": lambda i, j: (i // 128 - j // 128) % 2 == 0,
    "strided": lambda i, j: (i - j) % 3 == 0,
    "global": lambda i, j: (i // 128 == 0) | (j // 128 == 0) | (abs(i // 128 - j // 128) <= 1),
    "causal": lambda i, j: i >= j,
    "causal window": lambda i, j: (i >= j) & (i - j < 150),
    "random blocks": lambda i, j: ((i // 128) * 7919 + (j // 128) * 104729 + 3) % 7 < 3,
    "random elements": lambda i, j: (i * 7919 + j * 104729 + 5) % 11 < 4,
    "empty rows": lambda i, j: (i // 128 == 1) & (j >= 60) | (i % 50 == 7) & (i // 128 == 0),
}
