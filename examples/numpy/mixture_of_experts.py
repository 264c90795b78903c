"""A mixture of experts: every token goes to the two experts that its router likes best."""

import numpy as np

import comparing

EXPERTS, CHOSEN = 8, 2


def mixture(x, router, gate, down):
    """All experts compute; the weights of those that were not chosen are zero."""
    scores = x @ router
    p = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    p /= np.sum(p, axis=-1, keepdims=True)
    threshold = np.sort(p, axis=-1)[:, -CHOSEN:][:, :1]
    weight = np.where(p >= threshold, p, 0.0)
    weight /= np.sum(weight, axis=-1, keepdims=True)
    out = np.zeros_like(x)
    for e in range(EXPERTS):
        hidden = x @ gate[e]
        out += weight[:, e : e + 1] * ((hidden / (1 + np.exp(-hidden))) @ down[e])
    return out


def arguments(random):
    shapes = ((128, 256), (256, EXPERTS), (EXPERTS, 256, 512), (EXPERTS, 512, 256))
    return tuple((random.normal(size=s) / np.sqrt(s[-2])).astype(np.float32) for s in shapes)


if __name__ == "__main__":
    comparing.main(mixture, arguments(np.random.default_rng(0)))
