"""Marsaglia's xorwow (Xorshift RNGs, 2003) in NumPy, many generators at once, and how kiln seeds them."""

import numpy as np

MASK = np.uint64(0xFFFFFFFF)


def xorwow(state, n):
    """The next n outputs of each generator and its state after them. state: (…, 6), the words x, y, z, w, v, d."""
    x, y, z, w, v, d = np.moveaxis(np.asarray(state).astype(np.uint64), -1, 0)
    out = np.empty((n, *x.shape), np.uint64)
    for i in range(n):
        t = x ^ (x >> np.uint64(2))
        x, y, z, w = y, z, w, v
        v = (v ^ (v << np.uint64(4)) ^ t ^ (t << np.uint64(1))) & MASK
        d = (d + np.uint64(362437)) & MASK
        out[i] = (d + v) & MASK
    return np.moveaxis(out, 0, -1).astype(np.uint32), np.stack([x, y, z, w, v, d], -1).astype(np.uint32)


def draw(state, n):
    return xorwow(state, n)[0]


def draw4(states, n):
    """n values of each row of (…, 4, 6) states, state after state in turn."""
    each = draw(states, -(-n // 4))
    return np.swapaxes(each, -1, -2).reshape(*each.shape[:-2], -1)[..., :n]


def splitmix64(seed, n):
    for _ in range(n):
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


def seeded(seed):
    words = [z >> 16 & 0xFFFFFFFF for z in splitmix64(seed, 6)]
    return [words[0] | 1, *words[1:]]


def vector_states(seed=0):
    """(128, 4, 6): the vector engine's states after set_rng_seed; a core starts with seed 0."""
    return np.array([[seeded(512 * seed + 4 * p + s) for s in range(4)] for p in range(128)], np.uint32)


def gpsimd_states():
    """(128, 6): gpsimd's states when a core starts."""
    return np.array([seeded(2**41 + p) for p in range(128)], np.uint32)
