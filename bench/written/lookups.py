"""Lookups in tables, counts, sorts of integers, points and pixels, weights of 8 bits that lie as they are trained."""

import numpy as np
from parts import softmax
from program import FLOAT32, program

import kiln.numpy as kn


@program("int8 weights (out, in), 64 x 4096 x 4096", (64, 4096), ("int8", (4096, 4096)), (4096,))
def int8_linear(x, w, scale):
    return x @ w.T.astype(x.dtype) * scale


@program("int4 weights in pairs, blocks of 32, 16 x 4096 x 4096", (16, 4096), ("uint8", (2048, 4096)), (4096, 128))
def int4_linear(x, w, scale):
    q = np.stack([(w & 15).astype(np.int8) - 8, (w >> 4).astype(np.int8) - 8], 1).reshape(-1, 4096).T
    return x @ (q.reshape(4096, 128, 32).astype(x.dtype) * scale[:, :, None]).reshape(4096, 4096).T


@program("attention with T5's buckets 12x512x64", *((12, 512, 64),) * 3, (FLOAT32, (32, 12)))
def bucket_attention(q, k, v, table):
    i = np.arange(512)
    far, behind = np.abs(i[None] - i[:, None]), i[None] > i[:, None]
    large = 8 + (np.log(np.maximum(far, 1) / 8) / np.log(16) * 8).astype(np.int32)
    bias = table[np.where(far < 8, far, np.minimum(large, 15)) + behind * 16].transpose(2, 0, 1)
    return softmax((q @ k.transpose(0, 2, 1)).astype(np.float32) / 8 + bias).astype(q.dtype) @ v


@program("a table of 256 at 512 x 512 places", ("int32", (512, 512)), (256,), dtypes=(FLOAT32,))
def lookup(index, table):
    return table[index]


@program("interpolation among 1000, 100000 numbers", (100000,), (1000,), dtypes=(FLOAT32,))
def interpolation(x, y):
    return np.interp(x, np.linspace(-3, 3, 1000, dtype=np.float32), y)


@program("histogram of 1 M, 50 bins", (1000000,), dtypes=(FLOAT32,))
def histogram(x):
    return np.histogram(x, 50, range=(-3, 3))[0]


@program("counts of 256 values, 1 M", ("int32", (1000000,)), dtypes=(FLOAT32,))
def counts(x):
    return kn.bincount(x, 256)


@program("sort of 129000 integers", ("int32", (129000,)), dtypes=(FLOAT32,))
def sorted_integers(x):
    return np.sort(x)


@program("the likeliest of the 50 largest (8, 32000)", (8, 32000), dtypes=(FLOAT32,))
def nucleus(logits):
    best = np.take_along_axis(logits, np.argsort(-logits, -1)[:, :50], -1)
    p = softmax(best)
    p = np.where(np.cumsum(p, -1) - p < 0.9, p, 0)
    return p / p.sum(-1, keepdims=True)


@program("loss of logits with weights (8192, 1000)", (8192, 1000), (8192, 1000), (1000,))
def loss_of_logits(x, y, weight):
    return ((1 - y) * x + (1 + (weight - 1) * y) * (np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0))).mean()


@program("a million points turned", (1048576, 3), (3, 3))
def turned_points(x, w):
    return x @ w.T


@program("colours of 1080 x 1920", ("uint8", (1080, 1920, 3)), dtypes=(FLOAT32,))
def colours(x):
    rows = [[0.299, -0.147, 0.615], [0.587, -0.289, -0.515], [0.114, 0.436, -0.1]]
    return x.astype(np.float32) @ np.array(rows, np.float32)


@program("pixels to planes, 8 x 224 x 224", ("uint8", (8, 224, 224, 3)), dtypes=(FLOAT32,))
def planes(x):
    mean, deviation = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
    return np.moveaxis((x.astype(np.float32) / 255 - mean) / deviation, -1, -3)


@program("RoPE in two dimensions 16x1024x128", (16, 1024, 128), (FLOAT32, (32, 32)), (FLOAT32, (32, 32)))
def two_dimensions(x, cos, sin):
    x = x.reshape(16, 32, 32, 128)

    def rotated(y, c, s):
        a, b = np.split(y, 2, -1)
        return np.concatenate([a * c - b * s, a * s + b * c], -1)

    parts = rotated(x[..., :64], cos[:, None], sin[:, None]), rotated(x[..., 64:], cos[None], sin[None])
    return np.concatenate(parts, -1).reshape(16, 1024, 128)


@program("five queries of 32/8 heads, 2048 keys", (32, 5, 128), (8, 2048, 128), (8, 2048, 128))
def five_queries(q, k, v):
    scores = (q.reshape(8, 20, 128) @ k.transpose(0, 2, 1)).astype(np.float32) * 128**-0.5
    seen = np.arange(2048) <= np.arange(5)[:, None] + 2043
    p = softmax(np.where(seen, scores.reshape(8, 4, 5, 2048), -np.inf))
    return (p.reshape(8, 20, 2048).astype(q.dtype) @ v).reshape(32, 5, 128)


@program("gradient of attention 8x1024x64, causal", *((8, 1024, 64),) * 4)
def attention_gradient(q, k, v, out):
    seen = np.tril(np.ones((1024, 1024), bool))
    p = softmax(np.where(seen, (q @ k.transpose(0, 2, 1)).astype(np.float32) / 8, -np.inf))
    dp = (out @ v.transpose(0, 2, 1)).astype(np.float32)
    ds = (p * (dp - (dp * p).sum(-1, keepdims=True)) / 8).astype(q.dtype)
    return ds @ k, ds.transpose(0, 2, 1) @ q, p.astype(q.dtype).transpose(0, 2, 1) @ out
