"""What several programs are made of."""

import math

import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def layer_norm(x, gain, bias, eps=1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(np.var(x, axis=-1, keepdims=True) + eps) * gain + bias


def rms_norm(x, gain, eps=1e-6):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gain


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


def heads(x, count):
    """(tokens, count * d) as (count, tokens, d)."""
    return x.reshape(x.shape[0], count, -1).transpose(1, 0, 2)


def rotated(t, cos, sin):
    """Rotary positions: cos and sin are (tokens, d), in float32."""
    half = t.shape[-1] // 2
    return (t * cos + np.concatenate([-t[..., half:], t[..., :half]], -1) * sin).astype(t.dtype)


def self_attention(x, wq, wk, wv, wo, count, bias=None):
    q, k, v = heads(x @ wq, count), heads(x @ wk, count), heads(x @ wv, count)
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    return (softmax(scores) @ v).transpose(1, 0, 2).reshape(x.shape[0], -1) @ wo
