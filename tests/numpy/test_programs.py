"""Programs as people write them in NumPy: recurrences, dynamic programming, solvers, filters, training."""

import numpy as np
import pytest

from against_numpy import SEED, check

R = np.random.default_rng(SEED)


def normal(*shape):
    return R.normal(size=shape).astype(np.float32)


def integers(high, *shape):
    return R.integers(0, high, shape).astype(np.int32)


def lstm(x, h, c, w, u, b):
    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    for t in range(x.shape[0]):
        i, f, g, o = np.split(x[t] @ w + h @ u + b, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h, c


def shortest_paths(d):
    for k in range(len(d)):
        np.minimum(d, d[:, k:k + 1] + d[k:k + 1], out=d)
    return d


def edit_distance(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    table[:, 0] = np.arange(len(a) + 1)
    table[0] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            replaced = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = np.minimum(np.minimum(table[i - 1, j] + 1, table[i, j - 1] + 1), replaced)
    return table[-1, -1]


def viterbi(moves, sights, seen):
    v, back = sights[:, seen[0]], []
    for t in range(1, 4):
        scores = v[:, None] + moves
        back.append(scores.argmax(0))
        v = scores.max(0) + sights[:, seen[t]]
    path = [v.argmax()]
    for b in back[::-1]:
        path.append(b[path[-1]])
    return np.array(path[::-1])


def kalman(x, p, z, a, h):
    for k in range(3):
        x, p = a @ x, a @ p @ a.T + 0.1 * np.eye(4, dtype=np.float32)
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + np.eye(2, dtype=np.float32))
        x = x + gain @ (z[k] - h @ x)
        p = (np.eye(4, dtype=np.float32) - gain @ h) @ p
    return x, p


def runge_kutta(y, h=0.1):
    def f(y):
        return np.stack([y[1], -y[0] - 0.1 * y[1]])

    for _ in range(5):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))
    return y


def bodies(place, speed, mass):
    for _ in range(2):
        d = place[None] - place[:, None]
        near = (d**2).sum(-1) + 0.01
        speed += (d * (mass[None, :] / near**1.5)[..., None]).sum(1) * 0.1
        place += speed * 0.1


def page_rank(links):
    moves = links / np.maximum(links.sum(0), 1e-9)
    v = np.ones(len(links)) / len(links)
    for _ in range(10):
        v = 0.85 * moves @ v + 0.15 / len(links)
    return v


def bilinear(image, xs, ys):
    x0, y0 = np.floor(xs).astype(np.int32), np.floor(ys).astype(np.int32)
    fx, fy = xs - x0, ys - y0
    x1, y1 = np.clip(x0 + 1, 0, image.shape[1] - 1), np.clip(y0 + 1, 0, image.shape[0] - 1)
    top = (1 - fx) * image[y0, x0] + fx * image[y0, x1]
    return (1 - fy) * top + fy * ((1 - fx) * image[y1, x0] + fx * image[y1, x1])


def batch_norm(x, weight, bias):
    mean, spread = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) / np.sqrt(spread + 1e-5) * weight[:, None, None] + bias[:, None, None]


def logistic_regression(w, x, y):
    for _ in range(3):
        w -= 0.1 * x.T @ (1 / (1 + np.exp(-(x @ w))) - y) / len(y)
    return w


def gauss_seidel(a, b):
    x = np.zeros_like(b)
    for _ in range(3):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return x


def gram_schmidt(a):
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n), a.dtype)
    for j in range(n):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = q[:, i] @ a[:, j]
            v -= r[i, j] * q[:, i]
        r[j, j] = np.linalg.norm(v)
        q[:, j] = v / r[j, j]
    return q, r


def triangular_factors(a):
    lower = np.eye(len(a), dtype=a.dtype)
    for k in range(len(a) - 1):
        lower[k + 1:, k] = a[k + 1:, k] / a[k, k]
        a[k + 1:] -= np.outer(lower[k + 1:, k], a[k])
    return lower, a


def knapsack(values):
    best = np.zeros(12, np.int32)
    for i, weight in enumerate((2, 3, 4)):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + values[i])
    return best


def rotated(q, x):
    w, a, b, c = q / np.linalg.norm(q)
    turn = np.array([[1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w)],
                     [2 * (a * b + c * w), 1 - 2 * (a * a + c * c), 2 * (b * c - a * w)],
                     [2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)]])
    return x @ turn.T


def edges(x):
    right = x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:] - x[:-2, :-2] - 2 * x[1:-1, :-2] - x[2:, :-2]
    down = x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:] - x[:-2, :-2] - 2 * x[:-2, 1:-1] - x[:-2, 2:]
    return np.hypot(right, down)


def equalized(image):
    counts = np.array([(image == v).sum() for v in range(8)])
    return (np.cumsum(counts) / image.size)[image]


def life(board):
    around = sum(np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)


def smoothed(x):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.3 * x[i] + 0.7 * y[i - 1]
    return y


def windows(x):
    seen = np.lib.stride_tricks.sliding_window_view(x, 3)
    return seen.mean(-1), np.r_[x, 1.0, 2.0], np.c_[x, x], np.mean([x[i] for i in range(3)])


def losses(scores, wanted):
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    table = np.array([[((wanted == i) & (scores.argmax(1) == j)).sum() for j in range(4)] for i in range(4)])
    return -logs[np.arange(len(wanted)), wanted].mean(), table


PROGRAMS = {
    lstm: (normal(5, 2, 8), normal(2, 6), normal(2, 6), normal(8, 24), normal(6, 24), normal(24)),
    shortest_paths: (np.abs(normal(9, 9)),), edit_distance: (integers(3, 5), integers(3, 6)),
    viterbi: (normal(4, 4), normal(4, 5), np.array([1, 0, 4, 2], np.int32)),
    kalman: (normal(4), np.eye(4, dtype=np.float32), normal(3, 2), np.eye(4, dtype=np.float32) + 0.1 * normal(4, 4),
             normal(2, 4)),
    runge_kutta: (normal(2, 7),), bodies: (normal(8, 3), normal(8, 3), np.abs(normal(8))),
    page_rank: ((R.random((10, 10)) < 0.3).astype(np.float32),),
    bilinear: (normal(8, 9), R.uniform(0, 7.9, 20).astype(np.float32), R.uniform(0, 6.9, 20).astype(np.float32)),
    batch_norm: (normal(2, 3, 5, 6), normal(3), normal(3)),
    logistic_regression: (normal(5), normal(20, 5), (R.random(20) < 0.5).astype(np.float32)),
    gauss_seidel: (normal(5, 5) + 6 * np.eye(5, dtype=np.float32), normal(5)),
    gram_schmidt: (normal(6, 4) + np.eye(6, 4, dtype=np.float32) * 4,),
    triangular_factors: (normal(6, 6) + 6 * np.eye(6, dtype=np.float32),), knapsack: (integers(9, 3),),
    rotated: (normal(4), normal(6, 3)), edges: (normal(9, 10),), equalized: (integers(8, 6, 7),),
    life: (integers(2, 12, 13),), smoothed: (normal(20),), windows: (normal(20),),
    losses: (normal(10, 4), integers(4, 10)),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program):
    print(f"KILN_SEED={SEED}")
    check(program, *PROGRAMS[program], loose=50)


def test_reductions_of_equal_numbers():
    """Positions along an axis with one element are a constant, which is reduced along an axis that is not the last."""
    x = normal(3, 4, 1)
    check(lambda x: (np.argsort(x, axis=2).max(axis=0), np.argsort(x[:1], axis=0).sum(axis=0, keepdims=True)), x)
    check(lambda x: np.argsort(x[0].T, axis=0).max(axis=0), x)


def test_rows_of_equal_numbers():
    """A table that turns out to be one number is not looked up."""
    check(lambda x, i: (np.argsort(x)[i], (np.argsort(x) // 2)[i], (np.argsort(x) + 3)[i] * x), normal(1),
          np.array([0, 0, -1], np.int32))
