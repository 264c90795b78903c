"""A small network for images: two convolutions, pooling, a classifier."""

import numpy as np

import comparing


def convolution(x, w):
    """x (batch, channels, height, width), w (results, channels, 3, 3), with a border of zeros."""
    batch, channels, height, width = x.shape
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = [x[:, :, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    columns = np.stack(windows, axis=2).reshape(batch, channels * 9, height * width)
    return (w.reshape(w.shape[0], -1) @ columns).reshape(batch, w.shape[0], height, width)


def pooled(x):
    """The largest of 2 x 2."""
    batch, channels, height, width = x.shape
    return np.max(x.reshape(batch, channels, height // 2, 2, width // 2, 2), axis=(3, 5))


def cnn(x, w1, w2, w3):
    """Logits of ten classes."""
    x = pooled(np.maximum(convolution(x, w1), 0))
    x = pooled(np.maximum(convolution(x, w2), 0))
    return x.reshape(x.shape[0], -1) @ w3


def arguments(random):
    shapes = ((8, 3, 16, 16), (16, 3, 3, 3), (32, 16, 3, 3), (512, 10))
    return tuple((random.normal(size=s) / np.sqrt(np.prod(s[1:]) if i else 1)).astype(np.float32)
                 for i, s in enumerate(shapes))


if __name__ == "__main__":
    comparing.main(cnn, arguments(np.random.default_rng(0)))
