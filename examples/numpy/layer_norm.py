"""Layer norm with weight and bias."""

import numpy as np

import comparing


def layer_norm(x, weight, bias):
    """Rows without their mean, over their standard deviation."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * weight + bias


def arguments(random):
    return tuple(random.normal(size=shape).astype(np.float32) for shape in ((512, 1024), (1024,), (1024,)))


if __name__ == "__main__":
    comparing.main(layer_norm, arguments(np.random.default_rng(0)))
