"""Whole kernels of examples/nki beside NumPy, in float32 and as one would write them there."""

import functools
import time

import ml_dtypes
import numpy as np

from figures import milliseconds, ratio, take_turns

SHORT = 0.2  # seconds of both calls


def narrow(arrays):
    return [x.astype(ml_dtypes.bfloat16) for x in arrays]


def compare(name, chosen, figures, limit, ours, peer, tolerance=2e-2):
    """The ratio of our time to NumPy's, after both have given the same; short ones in as many rounds as programs."""
    start = time.perf_counter()
    got, want = np.asarray(ours()).astype(np.float32), np.asarray(peer())
    rounds = chosen.rounds if time.perf_counter() - start < SHORT else min(3, chosen.rounds)
    difference = np.abs(got - want).max() / np.abs(want).max()
    assert difference <= tolerance, f"{name} differs by {difference:.1e}"
    ours_times, peer_times = take_turns([ours, peer], rounds)
    figures.add(name, ratio(ours_times, peer_times), limit, "ratio",
                f"Kiln {milliseconds(ours_times)}, NumPy {milliseconds(peer_times)}")


def large_matmul(name, chosen, figures):
    import matmul

    side = 256 if chosen.quick else 4096
    a, b = random_arrays(2, (side, side))
    small = narrow((a, b))
    compare(name, chosen, figures, 1.15, lambda: matmul.blocked_free(*small), lambda: a.T @ b)


def mx_matmul(name, chosen, figures):
    import mx_matmul as example

    side = 256 if chosen.quick else 2048
    a, b = random_arrays(2, (side, side))
    small = narrow((a, b))
    # Elements of four bits of mantissa, so the products are near only.
    compare(name, chosen, figures, 1.5, lambda: example.mx_matmul(*small), lambda: a.T @ b, tolerance=0.1)


def attention(name, chosen, figures, *, keys):
    import attention as example

    arrays = random_arrays(3, (1, 256, 128) if chosen.quick else (2, keys, 128))
    small = narrow(arrays)

    def in_numpy():
        return np.stack([example.reference(*(x[i:i + 1] for x in arrays))[0][0] for i in range(len(arrays[0]))])

    compare(name, chosen, figures, 1.0, lambda: example.attention(*small)[0], in_numpy)


def attention_backward(name, chosen, figures):
    import attention
    import attention_backward as example

    q, k, v, gradient = random_arrays(4, (1, 256, 64) if chosen.quick else (4, 2048, 64))
    result, log_sums = attention.attention(q, k, v)
    compare(name, chosen, figures, 0.9,
            lambda: example.attention_backward(q, k, v, result, log_sums, gradient)[0],
            lambda: example.reference(q, k, v, gradient)[0])


def mixture_of_experts(name, chosen, figures):
    import mixture_of_experts as example
    from router_topk import reference as route

    sizes = (128, 128, 128, 8) if chosen.quick else (1024, 512, 1024, 8)
    arrays = example.inputs(np.random.default_rng(1), *sizes)

    def in_numpy():  # an expert at a time, on the tokens that chose it
        x, router, gate, up, down = arrays
        shares, experts = route(x, router, 2)
        out = np.zeros_like(x)
        for e in range(len(gate)):
            tokens, place = np.nonzero(experts == e)
            g = x[tokens] @ gate[e]
            out[tokens] += shares[tokens, place, None] * ((g / (1 + np.exp(-g)) * (x[tokens] @ up[e])) @ down[e])
        return out

    compare(name, chosen, figures, 0.9, lambda: example.mixture_of_experts(*arrays, k=2), in_numpy)


def selective_scan(name, chosen, figures):
    import selective_scan as example

    sizes = (1, 128, 2, 64) if chosen.quick else (2, 512, 16, 1024)
    arrays = example.inputs(np.random.default_rng(1), *sizes)

    def in_numpy():
        delta, u, a, b, c = arrays
        state, out = np.zeros((*u.shape[:2], a.shape[1]), np.float32), np.empty(u.shape, np.float32)
        for t in range(u.shape[2]):
            step = delta[:, :, t, None]
            state = np.exp(step * a) * state + step * u[:, :, t, None] * b[:, None, :, t]
            out[:, :, t] = (state * c[:, None, :, t]).sum(axis=2)
        return out

    compare(name, chosen, figures, 0.3, lambda: example.selective_scan(*arrays), in_numpy)


def random_arrays(count, shape):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape, dtype=np.float32) for _ in range(count)]


FIGURES = {
    "python_matmul_4096": large_matmul,
    "python_mx_matmul": mx_matmul,
    "python_attention_1k": functools.partial(attention, keys=1024),
    "python_attention_8k": functools.partial(attention, keys=8192),
    "python_attention_backward": attention_backward,
    "python_mixture_of_experts": mixture_of_experts,
    "python_selective_scan": selective_scan,
}
