"""The feed-forward block of a transformer: silu(x gate) * (x up), projected down."""

import numpy as np

import comparing


def swiglu(x, gate, up, down):
    """A gated feed-forward block."""
    g = x @ gate
    return (g / (1 + np.exp(-g)) * (x @ up)) @ down


def arguments(random):
    shapes = ((128, 512), (512, 1536), (512, 1536), (1536, 512))
    return tuple((random.normal(size=s) / np.sqrt(s[0])).astype(np.float32) for s in shapes)


if __name__ == "__main__":
    comparing.main(swiglu, arguments(np.random.default_rng(0)))
