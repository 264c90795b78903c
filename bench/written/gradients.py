"""More losses, gradients of layers, optimisers and quantised weights."""

import numpy as np
from parts import gelu, softmax
from program import FLOAT32, program


@program("gradient of RMS norm (4096, 2048)", (4096, 2048), (4096, 2048), (2048,))
def rms_norm_gradient(x, dy, gain):
    inverse = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    normal, d = x * inverse, dy * gain
    return inverse * (d - normal * (d * normal).mean(-1, keepdims=True)), (dy * normal).sum(0)


@program("gradient of GELU (4096, 3072)", (4096, 3072), (4096, 3072))
def gelu_gradient(x, dy):
    t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * x * x))


@program("gradient of cross entropy (2048, 8192)", (2048, 8192), ("int32", (2048,)))
def cross_entropy_gradient(logits, labels):
    return (softmax(logits) - (np.arange(8192) == labels[:, None])) / 2048


@program("label smoothing (2048, 8192)", (2048, 8192), ("int32", (2048,)))
def label_smoothing(logits, labels):
    z = logits.astype(np.float32)
    top = z.max(-1, keepdims=True)
    logs = z - top - np.log(np.exp(z - top).sum(-1, keepdims=True))
    picked = np.take_along_axis(logs, labels[:, None], -1)[:, 0]
    return -np.mean(0.9 * picked + 0.1 * logs.mean(-1))


@program("focal loss (8192, 512)", (8192, 512), (FLOAT32, (8192, 512)))
def focal_loss(logits, targets):
    p = 1 / (1 + np.exp(-logits.astype(np.float32)))
    hit = p * targets + (1 - p) * (1 - targets)
    return np.mean(-((1 - hit) ** 2) * np.log(hit))


@program("KL divergence (2048, 8192)", (2048, 8192), (2048, 8192))
def kl_divergence(a, b):
    p, q = softmax(a.astype(np.float32)), softmax(b.astype(np.float32))
    return np.mean((p * (np.log(p) - np.log(q))).sum(-1))


@program("Huber loss (4096, 4096)", (4096, 4096), (4096, 4096))
def huber_loss(x, y):
    d = np.abs((x - y).astype(np.float32))
    return np.mean(np.where(d < 1, 0.5 * d * d, d - 0.5))


@program("triplet loss 4096 x 512", (4096, 512), (4096, 512), (4096, 512))
def triplet_loss(a, p, n):
    near, far = ((a - p) ** 2).sum(-1), ((a - n) ** 2).sum(-1)
    return np.maximum(near - far + 0.2, 0).mean()


@program("SGD with clipping 2048 x 2048, 2048 x 512", (2048, 2048), (2048, 512), (2048, 2048), (2048, 512))
def clipped_sgd(p, q, dp, dq):
    norm = np.sqrt((dp.astype(np.float32) ** 2).sum() + (dq.astype(np.float32) ** 2).sum())
    factor = np.minimum(1.0, 1.0 / (norm + 1e-6)) * 1e-2
    return (p - factor * dp).astype(p.dtype), (q - factor * dq).astype(q.dtype)


@program("Lion 4096 x 2048", (4096, 2048), (4096, 2048), (FLOAT32, (4096, 2048)))
def lion(p, g, m):
    step = np.sign(0.9 * m + 0.1 * g)
    return (p - 1e-4 * (step + 0.1 * p)).astype(p.dtype), 0.99 * m + 0.01 * g


@program("average of weights 4096 x 4096", (4096, 4096), (FLOAT32, (4096, 4096)))
def weight_average(p, mean):
    return mean * 0.999 + p * 0.001


@program("gradient of a GELU layer 2048, 1024, 4096", (2048, 1024), (1024, 4096), (4096,), (2048, 4096))
def gelu_layer_gradient(x, w, b, dy):
    h = x @ w + b
    t = np.tanh(0.7978845608 * (h + 0.044715 * h**3))
    dh = dy * (0.5 * (1 + t) + 0.5 * h * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * h * h))
    return dh @ w.T, x.T @ dh, dh.sum(0), gelu(h)


@program("dropout by a mask (4096, 4096)", (4096, 4096), (FLOAT32, (4096, 4096)))
def dropout(x, uniform):
    return np.where(uniform < 0.9, x / 0.9, 0).astype(x.dtype)


@program("quantise rows to int8 (4096, 4096)", (4096, 4096))
def quantise_rows(x):
    scale = np.abs(x).max(-1, keepdims=True) / 127
    return np.rint(x / scale).astype(np.int8), scale


@program("quantise columns to int8 (4096, 4096)", (4096, 4096))
def quantise_columns(w):
    scale = np.abs(w).max(0, keepdims=True) / 127
    return np.clip(np.rint(w / scale), -127, 127).astype(np.int8), scale


@program("int8 weights 128 x 2048 x 4096", (128, 2048), ("int8", (2048, 4096)), (4096,))
def int8_weights(x, w, scale):
    return x @ (w.astype(x.dtype) * scale)


@program("one-hot of labels with a matrix 8192, 1000 x 256", ("int32", (8192,)), (1000, 256))
def one_hot_product(labels, w):
    return (np.arange(1000) == labels[:, None]).astype(w.dtype) @ w
