"""A layer of Qwen3-0.6B and a step of decoding with a cache, random weights; the time of all 28 layers:

kiln time examples/numpy/qwen3.py:model --arg length=128
"""

import numpy as np

import comparing
import kiln

HIDDEN, INNER, HEADS, GROUPS, SIZE = 1024, 3072, 16, 8, 128
WEIGHTS = {"wq": (HIDDEN, HEADS * SIZE), "wk": (HIDDEN, GROUPS * SIZE), "wv": (HIDDEN, GROUPS * SIZE),
           "wo": (HEADS * SIZE, HIDDEN), "gate": (HIDDEN, INNER), "up": (HIDDEN, INNER), "down": (INNER, HIDDEN),
           "norm1": (HIDDEN,), "norm2": (HIDDEN,), "norm_q": (SIZE,), "norm_k": (SIZE,)}


def rms_norm(x, weight):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * weight


def rope(x, cosine, sine):
    x1, x2 = np.split(x, 2, axis=-1)
    return np.concatenate([x1 * cosine - x2 * sine, x2 * cosine + x1 * sine], axis=-1)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def heads(x, count):
    return x.reshape(x.shape[0], count, SIZE).swapaxes(0, 1)


def feed_forward(x, w):
    h = rms_norm(x, w["norm2"])
    g = h @ w["gate"]
    return x + (g / (1 + np.exp(-g)) * (h @ w["up"])) @ w["down"]


def projections(x, w, cosine, sine):
    h = rms_norm(x, w["norm1"])
    q = rope(rms_norm(heads(h @ w["wq"], HEADS), w["norm_q"]), cosine, sine)
    k = rope(rms_norm(heads(h @ w["wk"], GROUPS), w["norm_k"]), cosine, sine)
    return q, k, heads(h @ w["wv"], GROUPS)


def layer(x, w, cosine, sine):
    """All tokens at once, each of which sees those before it."""
    length = x.shape[0]
    q, k, v = projections(x, w, cosine, sine)
    q = q.reshape(GROUPS, HEADS // GROUPS, length, SIZE)
    scores = q @ k[:, None].swapaxes(-1, -2) * float(SIZE**-0.5)
    scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    seen = (softmax(scores) @ v[:, None]).reshape(HEADS, length, SIZE)
    x = x + seen.swapaxes(0, 1).reshape(length, HEADS * SIZE) @ w["wo"]
    return feed_forward(x, w)


def decode(x, w, cosine, sine, keys, values, position):
    """One token; its key and value go into the cache."""
    q, k, v = projections(x, w, cosine, sine)
    keys[:, position] = k[:, 0]
    values[:, position] = v[:, 0]
    q = q.reshape(GROUPS, HEADS // GROUPS, SIZE)
    scores = q @ keys.swapaxes(-1, -2) * float(SIZE**-0.5)
    scores = np.where(np.arange(keys.shape[1]) <= position, scores, -np.inf)
    x = x + (softmax(scores) @ values).reshape(1, HEADS * SIZE) @ w["wo"]
    return feed_forward(x, w)


def angles(positions):
    turned = np.asarray(positions)[:, None] * 1e6 ** (-np.arange(0, SIZE, 2) / SIZE)
    return np.cos(turned).astype(np.float32), np.sin(turned).astype(np.float32)


def weights(random):
    return {
        name: (random.normal(size=s) / np.sqrt(s[0]) if len(s) > 1 else random.uniform(0.8, 1.2, s)).astype(np.float32)
        for name, s in WEIGHTS.items()
    }


def arguments(random, length=128):
    return random.normal(size=(length, HIDDEN)).astype(np.float32), weights(random), *angles(range(length))


def decode_arguments(random, length=256, position=100):
    cache = [random.normal(size=(GROUPS, length, SIZE)).astype(np.float32) for _ in range(2)]
    x = random.normal(size=(1, HIDDEN)).astype(np.float32)
    return x, weights(random), *angles([position]), *cache, np.int32(position)


compiled_layer = kiln.jit(layer)


@kiln.jit
def logits(x, weight, head):
    """Of the last token."""
    return rms_norm(x[-1:], weight) @ head


@kiln.jit
def embedded(tokens, table):
    return table[tokens]


@kiln.numpy.sequence
def model(length=128, dtype="bfloat16", vocabulary=151936):
    """The shapes of the whole model, from tokens to logits: one program for all layers."""
    table = kiln.numpy.shape(dtype, (vocabulary, HIDDEN))
    x = embedded(kiln.numpy.shape("int32", (length,)), table)
    w = {name: kiln.numpy.shape(dtype, s) for name, s in WEIGHTS.items()}
    turned = [kiln.numpy.shape(dtype, (length, SIZE // 2))] * 2
    for _ in range(28):
        x = compiled_layer(x, w, *turned)
    return logits(x, kiln.numpy.shape(dtype, (HIDDEN,)), kiln.numpy.shape(dtype, (HIDDEN, vocabulary)))


if __name__ == "__main__":
    comparing.main(layer, arguments(np.random.default_rng(0)), tolerance=1e-3)
    comparing.main(decode, decode_arguments(np.random.default_rng(0)), tolerance=1e-3)
