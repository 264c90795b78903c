"""Layers of transformers, and attention in the forms that models have."""

import numpy as np
from parts import gelu, heads, layer_norm, rms_norm, rotated, self_attention, silu, softmax
from program import FLOAT32, program

SQUARE = ((768, 768),) * 4
VECTORS = ((768,),) * 4


@program("ViT-B block, 197 tokens", (197, 768), *SQUARE, (768, 3072), (3072, 768), *VECTORS, (3072,), (768,))
def vit_block(x, wq, wk, wv, wo, w1, w2, g1, b1, g2, b2, c1, c2):
    x = x + self_attention(layer_norm(x, g1, b1), wq, wk, wv, wo, 12)
    return x + (gelu(layer_norm(x, g2, b2) @ w1 + c1) @ w2 + c2)


@program("BERT-large layer, 512 tokens, mask", (512, 1024), (512,), *((1024, 1024),) * 4, (1024, 4096), (4096, 1024),
         *((1024,),) * 4, (4096,), (1024,))
def bert_layer(x, mask, wq, wk, wv, wo, w1, w2, g1, b1, g2, b2, c1, c2):
    x = layer_norm(x + self_attention(x, wq, wk, wv, wo, 16, (1 - mask) * -1e9), g1, b1)
    return layer_norm(x + (gelu(x @ w1 + c1) @ w2 + c2), g2, b2)


@program("Llama-like layer, 1024 tokens, 32/8 heads", (1024, 2048), (2048, 2048), (2048, 512), (2048, 512),
         (2048, 2048), (2048, 5632), (2048, 5632), (5632, 2048), (2048,), (2048,), (FLOAT32, (1024, 64)),
         (FLOAT32, (1024, 64)))
def llama_layer(x, wq, wk, wv, wo, w1, w3, w2, g1, g2, cos, sin):
    tokens = x.shape[0]

    h = rms_norm(x, g1)
    q, k, v = rotated(heads(h @ wq, 32), cos, sin), rotated(heads(h @ wk, 8), cos, sin), heads(h @ wv, 8)
    k, v = np.repeat(k, 4, 0), np.repeat(v, 4, 0)
    later = np.triu(np.full((tokens, tokens), -np.inf, np.float32), 1)
    p = softmax((q @ k.transpose(0, 2, 1)).astype(np.float32) / 8 + later).astype(x.dtype)
    x = x + (p @ v).transpose(1, 0, 2).reshape(tokens, -1) @ wo
    h = rms_norm(x, g2)
    return x + (silu(h @ w1) * (h @ w3)) @ w2


@program("MLP with gelu, 2048 x 1024", (2048, 1024), (1024, 4096), (4096,), (4096, 1024), (1024,))
def mlp(x, w1, b1, w2, b2):
    return gelu(x @ w1 + b1) @ w2 + b2


@program("3-layer MLP, batch 32", (32, 784), (784, 2048), (2048, 2048), (2048, 10))
def small_mlp(x, w1, w2, w3):
    return softmax(np.maximum(np.maximum(x @ w1, 0) @ w2, 0) @ w3)


@program("RMS norm and QKV, 2048 x 2048", (2048, 2048), (2048,), (2048, 6144))
def norm_and_qkv(x, gain, w):
    return np.split(rms_norm(x, gain) @ w, 3, axis=-1)


@program("LoRA, 2048 x 4096, rank 16", (2048, 4096), (4096, 4096), (4096, 16), (16, 4096))
def lora(x, w, a, b):
    return x @ w + (x @ a) @ b * 2.0


@program("ALiBi attention 8x1024x64", *((8, 1024, 64),) * 3)
def alibi_attention(q, k, v):
    length = q.shape[1]
    slopes = (2.0 ** -np.arange(1, 9)).astype(np.float32)
    distance = -np.abs(np.arange(length)[:, None] - np.arange(length)[None, :]).astype(np.float32)
    scores = (q @ k.transpose(0, 2, 1)).astype(np.float32) * 0.125 + slopes[:, None, None] * distance
    return softmax(scores).astype(q.dtype) @ v


@program("sliding window attention 8x4096x128, 512 keys", *((8, 4096, 128),) * 3)
def window_attention(q, k, v):
    i, j = np.arange(q.shape[1])[:, None], np.arange(q.shape[1])[None, :]
    scores = (q @ k.transpose(0, 2, 1)).astype(np.float32) * 128**-0.5
    return softmax(np.where((j <= i) & (j > i - 512), scores, -np.inf)).astype(q.dtype) @ v


@program("cross attention 12x(300, 1500)x64", (12, 300, 64), (12, 1500, 64), (12, 1500, 64))
def cross_attention(q, k, v):
    return softmax(q @ k.transpose(0, 2, 1) * 0.125) @ v


@program("batched attention 4x16x512x64", *((4, 16, 512, 64),) * 3)
def batched_attention(q, k, v):
    return softmax(np.einsum("bhqd,bhkd->bhqk", q, k) * 0.125) @ v


@program("one query, 32/8 heads of 128, 2048 keys", (32, 128), (8, 2048, 128), (8, 2048, 128))
def decode_attention(q, k, v):
    q = q.reshape(8, 4, 128)
    return (softmax(q @ k.transpose(0, 2, 1) * 128**-0.5) @ v).reshape(32, 128)


@program("Swin windows, 64 of 49 x 96, 3 heads", (56, 56, 96), (96, 288), (96, 96))
def swin_windows(x, wqkv, wo):
    windows = x.reshape(8, 7, 8, 7, 96).transpose(0, 2, 1, 3, 4).reshape(64, 49, 96)
    q, k, v = (windows @ wqkv).reshape(64, 49, 3, 3, 32).transpose(2, 0, 3, 1, 4)
    o = softmax(q @ k.transpose(0, 1, 3, 2) * 32**-0.5) @ v
    o = o.transpose(0, 2, 1, 3).reshape(64, 49, 96) @ wo
    return o.reshape(8, 8, 7, 7, 96).transpose(0, 2, 1, 3, 4).reshape(56, 56, 96)


@program("mixer: MLP over 196 tokens, 64 x 512", (64, 196, 512), (196, 384), (384, 196))
def mixer(x, w1, w2):
    return x + (gelu(x.transpose(0, 2, 1) @ w1) @ w2).transpose(0, 2, 1)


@program("embedding and positions, 2048 of 50257 x 768", ("int32", (2048,)), (50257, 768), (2048, 768))
def embedding(tokens, table, positions):
    return table[tokens] + positions


@program("patches of 16, 224 x 224", (3, 224, 224), (768, 768), (768,))
def patch_embedding(x, w, b):
    return x.reshape(3, 14, 16, 14, 16).transpose(1, 3, 0, 2, 4).reshape(196, 768) @ w + b
