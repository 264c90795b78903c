"""Losses, gradients and steps of optimisers."""

import numpy as np
from parts import softmax
from program import FLOAT32, program


@program("cross entropy (2048, 32000)", (2048, 32000), ("int32", (2048,)))
def cross_entropy(logits, labels):
    logits = logits.astype(np.float32)
    top = logits.max(-1, keepdims=True)
    sums = np.log(np.exp(logits - top).sum(-1, keepdims=True)) + top
    return np.mean(sums - np.take_along_axis(logits, labels[:, None], -1))


@program("gradient of a linear layer 4096, 1024, 2048", (4096, 1024), (1024, 2048), (4096, 2048))
def linear_gradient(x, w, dy):
    return dy @ w.T, x.T @ dy, dy.sum(0)


@program("gradient of softmax (4096, 2048)", (4096, 2048), (4096, 2048))
def softmax_gradient(y, dy):
    return y * (dy - np.sum(y * dy, axis=-1, keepdims=True))


@program("gradient of layer norm (4096, 1024)", (4096, 1024), (4096, 1024), (1024,))
def layer_norm_gradient(x, dy, gain):
    inverse = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    normal = (x - x.mean(-1, keepdims=True)) * inverse
    d = dy * gain
    dx = inverse * (d - d.mean(-1, keepdims=True) - normal * (d * normal).mean(-1, keepdims=True))
    return dx, (dy * normal).sum(0), dy.sum(0)


@program("softmax regression gradient 8192 x 784, 10", (8192, 784), (784, 10), ("int32", (8192,)))
def regression_gradient(x, w, labels):
    p = softmax(x @ w)
    return x.T @ (p - (np.arange(10) == labels[:, None])) / x.shape[0]


@program("Adam 4096 x 4096", (4096, 4096), (4096, 4096), (FLOAT32, (4096, 4096)), (FLOAT32, (4096, 4096)))
def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return (p - 1e-3 * (m / 0.1) / (np.sqrt(v / 0.001) + 1e-8)).astype(p.dtype), m, v


@program("contrastive loss 1024 x 512", (1024, 512), (1024, 512))
def contrastive_loss(a, b):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    logits = (a @ b.T).astype(np.float32) / 0.07
    top = logits.max(-1, keepdims=True)
    return np.mean(np.log(np.exp(logits - top).sum(-1)) + top[:, 0] - np.diagonal(logits))
