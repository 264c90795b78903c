"""Rotary embedding of queries, both halves of a head turned by angles of the position."""

import numpy as np

import comparing


def rope(x, cosine, sine):
    """Pairs (x1, x2) of the two halves are turned."""
    half = x.shape[-1] // 2
    x1, x2 = x[..., :half], x[..., half:]
    return np.concatenate([x1 * cosine - x2 * sine, x2 * cosine + x1 * sine], axis=-1)


def angles(length, size, base=1e6):
    frequencies = base ** (-np.arange(0, size, 2) / size)
    turned = np.arange(length)[:, None] * frequencies
    return np.cos(turned).astype(np.float32), np.sin(turned).astype(np.float32)


def arguments(random):
    return (random.normal(size=(16, 256, 128)).astype(np.float32), *angles(256, 128))


if __name__ == "__main__":
    comparing.main(rope, arguments(np.random.default_rng(0)))
