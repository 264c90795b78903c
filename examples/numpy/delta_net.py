"""The recurrence of DeltaNet: a state that is corrected by each key and value, and read by each query."""

import numpy as np

import comparing


def delta_net(q, k, v, beta):
    """For each step: state += beta * outer(k, v - state^T k); out = state^T q."""
    heads, length, size = q.shape
    state = np.zeros((heads, size, v.shape[-1]), q.dtype)
    out = np.empty_like(v)
    for t in range(length):
        kt, vt = k[:, t, :, None], v[:, t, None, :]
        seen = np.sum(state * kt, axis=1, keepdims=True)
        state = state + kt * (beta[:, t, None, None] * (vt - seen))
        out[:, t] = np.sum(state * q[:, t, :, None], axis=1)
    return out


def arguments(random):
    q, k, v = (random.normal(size=(4, 16, 32)).astype(np.float32) for _ in range(3))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    return q, k, v, random.uniform(0.1, 0.9, size=(4, 16)).astype(np.float32)


if __name__ == "__main__":
    comparing.main(delta_net, arguments(np.random.default_rng(0)))
