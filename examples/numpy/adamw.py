"""A step of AdamW: weights and both moments change in place."""

import numpy as np

import comparing


def adamw(w, m, v, gradient, step):
    """Weight decay apart from the gradient; the step is known at run time."""
    m *= 0.9
    m += 0.1 * gradient
    v *= 0.999
    v += 0.001 * gradient**2
    corrected = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    w -= 1e-3 * (corrected + 0.01 * w)


def arguments(random):
    w, m, gradient = (random.normal(size=(512, 1024)).astype(np.float32) for _ in range(3))
    return w, m, np.abs(random.normal(size=(512, 1024))).astype(np.float32), gradient, np.float32(10)


if __name__ == "__main__":
    comparing.main(adamw, arguments(np.random.default_rng(0)))
