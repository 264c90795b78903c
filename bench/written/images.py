"""Layers over images."""

import numpy as np
from program import program


@program("batch norm 32x128x28x28", (32, 128, 28, 28), (128,), (128,))
def batch_norm(x, gain, bias):
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gain[:, None, None] + bias[:, None, None]


@program("group norm 8x320x64x64, 32 groups", (8, 320, 64, 64), (320,), (320,))
def group_norm(x, gain, bias):
    y = x.reshape(8, 32, -1)
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)
    return y.reshape(x.shape) * gain[:, None, None] + bias[:, None, None]


@program("max pool 64x112x112", (64, 112, 112))
def max_pool(x):
    return x.reshape(64, 56, 2, 56, 2).max((2, 4))


@program("mean pool and classes 32x2048x7x7", (32, 2048, 7, 7), (2048, 1000))
def mean_pool(x, w):
    return x.mean((2, 3)) @ w


@program("NHWC to NCHW 16x56x56x64", (16, 56, 56, 64))
def to_channels_first(x):
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))
