"""kiln.numpy: activations, top-k, convolutions, pooling, loops, against NumPy and torch where it is there."""

import math

import numpy as np
import pytest

import kiln
import kiln.numpy as kn
from against_numpy import same, sample

X = sample(np.float32, (6, 8), 1, False)
IMAGE, KERNEL = sample(np.float32, (2, 4, 9, 10), 2, False), sample(np.float32, (6, 4, 3, 2), 3, False)


def test_activations():
    x = X.astype(np.float64)
    phi = np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))(x)
    wanted = {"relu": np.maximum(x, 0), "sigmoid": 1 / (1 + np.exp(-x)), "silu": x / (1 + np.exp(-x)), "gelu": x * phi,
              "softplus": np.log1p(np.exp(x)), "mish": x * np.tanh(np.log1p(np.exp(x))),
              "leaky_relu": np.where(x > 0, x, 0.01 * x), "erf": np.vectorize(math.erf)(x)}
    for name, want in wanted.items():
        same(getattr(kn, name)(X), want, loose=10)
    tanh = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    same(kiln.jit(lambda x: kn.gelu(x, approximate=True))(X), tanh, loose=10)


def test_softmax_and_norms():
    e = np.exp(X - X.max(axis=0))
    same(kn.softmax(X, axis=0), e / e.sum(axis=0))
    same(kn.log_softmax(X), X - X.max(-1, keepdims=True) - np.log(np.exp(X - X.max(-1, keepdims=True)).sum(
        -1, keepdims=True)))
    same(kn.logsumexp(X, axis=1), np.log(np.exp(X.astype(np.float64)).sum(axis=1)))
    centred = X - X.mean(-1, keepdims=True)
    same(kn.layer_norm(X, X[0], X[1]), centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * X[0] + X[1])


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_top_k(axis, dtype):
    x = sample(dtype, (6, 8), 4, False)
    values, where = kn.topk(x, 3, axis=axis)
    order = np.argsort(-x, axis=axis, kind="stable").take(np.arange(3), axis=axis)
    same(where, order)
    same(values, np.take_along_axis(x, order, axis=axis))
    values, where = kn.topk(x, 2, axis=axis, largest=False)
    same(values, np.sort(x, axis=axis).take(np.arange(2), axis=axis))


def _convolved(x, w, stride, padding, dilation, groups):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding))).astype(np.float64)
    kh, kw = (w.shape[2] - 1) * dilation + 1, (w.shape[3] - 1) * dilation + 1
    height, width = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    out = np.zeros((x.shape[0], w.shape[0], height, width))
    each, results = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        channels = x[:, o // results * each:(o // results + 1) * each]
        for i in range(height):
            for j in range(width):
                cut = channels[:, :, i * stride:i * stride + kh:dilation, j * stride:j * stride + kw:dilation]
                out[:, o, i, j] = (cut * w[o]).sum(axis=(1, 2, 3))
    return out


@pytest.mark.parametrize("stride, padding, dilation, groups", [(1, 0, 1, 1), (2, 1, 1, 1), (1, 1, 2, 1), (2, 2, 1, 2),
                                                              (1, 0, 1, 4)])
def test_convolution(stride, padding, dilation, groups):
    w = KERNEL[:4 if groups == 4 else 6, :4 // groups].copy()
    same(
        kn.conv2d(IMAGE, w, stride, padding, dilation, groups), _convolved(IMAGE, w, stride, padding, dilation, groups)
    )


def test_convolutions_of_other_ranks():
    x, w = IMAGE[:, :, 0], KERNEL[:, :, 0]
    want = np.stack([[sum(np.correlate(x[b, c], w[o, c]) for c in range(4)) for o in range(6)] for b in range(2)])
    same(kn.conv1d(x.copy(), w.copy()), want)
    cube, kernel = sample(np.float32, (1, 2, 4, 5, 6), 5, False), sample(np.float32, (3, 2, 2, 2, 2), 6, False)
    want = np.zeros((1, 3, 3, 4, 5))
    for i in range(2):
        for j in range(2):
            for k in range(2):
                want += np.einsum("bcxyz,oc->boxyz", cube[:, :, i:i + 3, j:j + 4, k:k + 5], kernel[:, :, i, j, k])
    same(kn.conv3d(cube, kernel, bias=np.zeros(3, np.float32)), want)
    assert kn.conv2d(IMAGE, KERNEL, padding="same").shape == (2, 6, 9, 10)


def test_pooling():
    x = IMAGE[:, :, :8]
    blocks = x.reshape(2, 4, 4, 2, 5, 2)
    same(kn.max_pool(x.copy(), 2), blocks.max(axis=(3, 5)))
    same(kn.avg_pool(x.copy(), 2), blocks.mean(axis=(3, 5)))
    assert kn.max_pool(IMAGE, 3, stride=2, padding=1).shape == (2, 4, 5, 5)


def test_indices():
    i = np.array([1, 3, 1], np.int32)
    same(kn.one_hot(i, 4), np.eye(4, dtype=np.float32)[i])
    same(kn.bincount(i, 5), np.bincount(i, minlength=5))
    same(kiln.jit(lambda x, s: kn.dynamic_slice(x, s, 3, axis=1))(X, np.int32(2)), X[:, 2:5])
    same(
        kiln.jit(lambda x, s: kn.dynamic_update_slice(x, x[:, :2] * 0, s, axis=1))(X, np.int32(2))[:, 2:4], X[:, :2] * 0
    )


def test_loops_with_a_known_number_of_passes():
    f = kiln.jit(lambda x: kiln.fori_loop(0, 4, lambda i, c: c + x * i, np.zeros_like(x)))
    same(f(X), X * 6)
    low = f.lower(X)
    assert "for_loop" in low.ir and low.check()
    same(kiln.jit(lambda x: kiln.fori_loop(2, 5, lambda i, c: {"a": c["a"] * 2, "n": c["n"] + i}, {"a": x, "n": 0}))(
        X)["n"], np.int32(9))
    same(kiln.jit(lambda x: kiln.fori_loop(3, 3, lambda i, c: c + 1, x))(X), X)
    nested = kiln.jit(lambda x: kiln.fori_loop(
        0, 3, lambda i, c: kiln.fori_loop(0, 2, lambda j, d: d + x * (i + 10 * j), c), x))
    want = X.copy()
    for i in range(3):
        for j in range(2):
            want = want + X * (i + 10 * j)
    same(nested(X), want)


def _writes(i, c):
    c[i] = c[i] * 2 + i
    return c


def test_loops_write_to_their_state():
    want = X.copy()
    for i in range(4):
        want[i] = want[i] * 2 + i
    same(kiln.jit(lambda x: kiln.fori_loop(0, 4, _writes, x))(X.copy()), want)
    with pytest.raises(ValueError, match="carry the array"):
        kiln.jit(lambda x: kiln.fori_loop(0, 4, lambda i, c: (x.__setitem__(0, 1), c)[1], x * 2))(X.copy())


def test_loops_that_the_run_ends():
    f = kiln.jit(lambda x, top: kiln.while_loop(
        lambda c: np.abs(c[0]).max() < top, lambda c: (c[0] * 2, c[1] + 1), (x, 0)))
    want, n = X.copy(), 0
    while np.abs(want).max() < 1000:
        want, n = want * 2, n + 1
    same(f(X, np.float32(1000)), (want, np.int32(n)))
    same(kiln.jit(lambda x, n: kiln.fori_loop(0, n, lambda i, c: c + i, x))(X, np.int32(4)), X + 6)


def test_scan():
    carry, rows = kiln.jit(lambda x: kiln.scan(lambda c, r: (c + r, c * 2), np.zeros_like(x[0]), x))(X)
    same(carry, X.sum(axis=0))
    same(rows[1:], 2 * np.cumsum(X, axis=0)[:-1])
    carry, (a, b) = kiln.jit(lambda x: kiln.scan(lambda c, r: (c, (r["p"] + c, r["q"].sum())), np.float32(1),
                                                 {"p": x, "q": x[:, :3]}))(X)
    same((a, b), (X + 1, X[:, :3].sum(axis=1)))


def test_branches():
    f = kiln.jit(lambda c, x, y: kiln.cond(c, lambda a: (a + y, a), lambda a: (a * 2, -a), x))
    for c in (True, False):
        same(f(np.bool_(c), X, X), (X + X, X) if c else (X * 2, -X))
    assert "branch" in f.lower(np.bool_(True), X, X).ir
    with pytest.raises(ValueError, match="shapes"):
        kiln.jit(lambda c, x: kiln.cond(c, lambda a: a[0], lambda a: a, x))(np.bool_(True), X)
    same(kiln.jit(lambda x: kiln.cond(True, lambda a: a + 1, lambda a: a[0], x))(X), X + 1)
