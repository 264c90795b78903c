"""Blocks of models: heads that are split and merged, masks, biases, windows, low ranks."""

import numpy as np
from parts import gelu, heads, layer_norm, rms_norm, rotated, self_attention, silu, softmax
from program import FLOAT32, program


def merged(x):
    """(count, tokens, d) as (tokens, count * d)."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def causal(tokens):
    return np.triu(np.full((tokens, tokens), -np.inf, np.float32), 1)


def attention(q, k, v, mask=None):
    scores = (q @ np.swapaxes(k, -1, -2)).astype(np.float32) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + mask
    return softmax(scores).astype(q.dtype) @ v


@program("CLIP text block, 77 tokens, 8 heads", (77, 512), *((512, 512),) * 4, (512, 2048), (2048, 512),
         *((512,),) * 4, (2048,), (512,))
def clip_text_block(x, wq, wk, wv, wo, w1, w2, g1, b1, g2, b2, c1, c2):
    x = x + self_attention(layer_norm(x, g1, b1), wq, wk, wv, wo, 8, causal(77))
    h = layer_norm(x, g2, b2) @ w1 + c1
    return x + ((h / (1 + np.exp(-1.702 * h))) @ w2 + c2)


@program("GPT-2 block, 1024 tokens, 12 heads", (1024, 768), (768, 2304), (2304,), (768, 768), (768,), (768, 3072),
         (3072,), (3072, 768), (768,), *((768,),) * 4)
def gpt2_block(x, wqkv, bqkv, wo, bo, w1, c1, w2, c2, g1, b1, g2, b2):
    q, k, v = (heads(t, 12) for t in np.split(layer_norm(x, g1, b1) @ wqkv + bqkv, 3, axis=-1))
    x = x + (merged(attention(q, k, v, causal(x.shape[0]))) @ wo + bo)
    return x + (gelu(layer_norm(x, g2, b2) @ w1 + c1) @ w2 + c2)


@program("T5 attention with relative bias, 512 tokens, 8 heads", (512, 512), *((512, 512),) * 4, (512,),
         (FLOAT32, (8, 512, 512)))
def t5_attention(x, wq, wk, wv, wo, gain, bias):
    h = rms_norm(x, gain)
    q, k, v = heads(h @ wq, 8), heads(h @ wk, 8), heads(h @ wv, 8)
    p = softmax((q @ k.transpose(0, 2, 1)).astype(np.float32) / 64 + bias).astype(x.dtype)
    return x + merged(p @ v) @ wo


@program("Whisper encoder layer, 1500 frames, 8 heads", (1500, 512), *((512, 512),) * 4, (512, 2048), (2048, 512),
         *((512,),) * 4, (2048,), (512,))
def whisper_layer(x, wq, wk, wv, wo, w1, w2, g1, b1, g2, b2, c1, c2):
    x = x + self_attention(layer_norm(x, g1, b1), wq, wk, wv, wo, 8)
    return x + (gelu(layer_norm(x, g2, b2) @ w1 + c1) @ w2 + c2)


@program("Mistral attention, 2048 tokens, 16/4 heads, window 512", (2048, 1024), (1024, 1024), (1024, 256),
         (1024, 256), (1024, 1024), (1024,))
def mistral_attention(x, wq, wk, wv, wo, gain):
    tokens = x.shape[0]
    i, j = np.arange(tokens)[:, None], np.arange(tokens)[None, :]
    h = rms_norm(x, gain)
    q, k, v = heads(h @ wq, 16), np.repeat(heads(h @ wk, 4), 4, 0), np.repeat(heads(h @ wv, 4), 4, 0)
    scores = (q @ k.transpose(0, 2, 1)).astype(np.float32) / 8
    p = softmax(np.where((j <= i) & (j > i - 512), scores, -np.inf)).astype(x.dtype)
    return x + merged(p @ v) @ wo


@program("MLA-like attention, 512 tokens, 16 heads, rank 256", (512, 1024), (1024, 384), (384, 1536), (1024, 256),
         (256, 1024), (256, 1024), (1024, 32), (1024, 1024), (1024,), (384,), (256,))
def latent_attention(x, wq_down, wq_up, w_down, wk_up, wv_up, wk_shared, wo, gain, q_gain, kv_gain):
    tokens = x.shape[0]
    h = rms_norm(x, gain)
    q = heads(rms_norm(h @ wq_down, q_gain) @ wq_up, 16)
    latent = rms_norm(h @ w_down, kv_gain)
    k, v = heads(latent @ wk_up, 16), heads(latent @ wv_up, 16)
    shared = np.broadcast_to((h @ wk_shared)[None], (16, tokens, 32))
    k = np.concatenate([k, shared], -1)
    return x + merged(attention(q, k, v, causal(tokens))) @ wo


@program("MQA, 1024 tokens, 16 heads of 64, one of keys", (1024, 1024), (1024, 1024), (1024, 64), (1024, 64),
         (1024, 1024))
def multi_query_attention(x, wq, wk, wv, wo):
    q, k, v = heads(x @ wq, 16), x @ wk, x @ wv
    return merged(attention(q, k, v, causal(x.shape[0]))) @ wo


@program("prefill of 128 tokens, 32/8 heads of 128", (128, 4096), (4096, 4096), (4096, 1024), (4096, 1024),
         (4096, 4096), (4096,), (FLOAT32, (128, 128)), (FLOAT32, (128, 128)))
def prefill(x, wq, wk, wv, wo, gain, cos, sin):
    h = rms_norm(x, gain)
    q, k, v = rotated(heads(h @ wq, 32), cos, sin), rotated(heads(h @ wk, 8), cos, sin), heads(h @ wv, 8)
    k, v = np.repeat(k, 4, 0), np.repeat(v, 4, 0)
    return x + merged(attention(q, k, v, causal(x.shape[0]))) @ wo


@program("DiT block with adaLN, 256 tokens, 6 heads", (256, 384), (384,), (384, 2304), *((384, 384),) * 4,
         (384, 1536), (1536, 384))
def dit_block(x, c, w_mod, wq, wk, wv, wo, w1, w2):
    shift1, scale1, gate1, shift2, scale2, gate2 = np.split(silu(c) @ w_mod / 16, 6)

    def modulated(x, shift, scale):
        mean, var = np.mean(x, -1, keepdims=True), np.var(x, -1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-6) * (1 + scale) + shift

    x = x + gate1 * self_attention(modulated(x, shift1, scale1) / 8, wq, wk, wv, wo, 6)
    return x + gate2 * (gelu(modulated(x, shift2, scale2) @ w1) @ w2)


@program("Conformer: attention and half FFN, 400 frames, 4 heads", (400, 256), *((256, 256),) * 4, (256, 1024),
         (1024, 256), *((256,),) * 4)
def conformer_parts(x, wq, wk, wv, wo, w1, w2, g1, b1, g2, b2):
    x = x + 0.5 * (silu(layer_norm(x, g1, b1) @ w1) @ w2)
    return x + self_attention(layer_norm(x, g2, b2), wq, wk, wv, wo, 4)


@program("Conformer: gated depthwise convolution, 400 x 256", (400, 256), (256, 512), (31, 256), (256, 256), (256,))
def conformer_convolution(x, w1, taps, w2, gain):
    a, b = np.split(rms_norm(x, gain) @ w1, 2, axis=-1)
    h = np.pad(a / (1 + np.exp(-b)), ((15, 15), (0, 0)))
    frames = x.shape[0]
    h = sum(h[i : i + frames] * taps[i] for i in range(31))
    return x + silu(h) @ w2


@program("small heads 64x197x64", *((64, 197, 64),) * 3)
def small_heads(q, k, v):
    return attention(q, k, v)


@program("ViT-L/14 336 attention 16x577x64", *((16, 577, 64),) * 3)
def vit_large_attention(q, k, v):
    return attention(q, k, v)


@program("CLIP vision attention, batch 32, 12x50x64", *((32, 12, 50, 64),) * 3)
def clip_vision_attention(q, k, v):
    return attention(q, k, v)


@program("cross attention 8x(4096, 77)x40", (8, 4096, 40), (8, 77, 40), (8, 77, 40))
def text_cross_attention(q, k, v):
    return attention(q, k, v)


@program("prefill attention 32x128x128, causal", *((32, 128, 128),) * 3)
def prefill_attention(q, k, v):
    return attention(q, k, v, causal(128))


@program("batch of BERT-base layers' attention 8x128 tokens", (8, 128, 768), *((768, 768),) * 4)
def bert_base_attention(x, wq, wk, wv, wo):
    def split(t):
        return t.reshape(8, 128, 12, 64).transpose(0, 2, 1, 3)

    o = attention(split(x @ wq), split(x @ wk), split(x @ wv))
    return o.transpose(0, 2, 1, 3).reshape(8, 128, 768) @ wo
