"""More statistics, iterations of solvers, stencils and searches."""

import numpy as np
from program import FLOAT32, program


@program("correlation matrix (8192, 256)", (8192, 256))
def correlation(x):
    z = (x - x.mean(0)) / x.std(0)
    return z.T @ z / x.shape[0]


@program("step of PCA (8192, 512), 8", (8192, 512), (512, 8))
def pca_step(x, v):
    x = x - x.mean(0)
    y = x.T @ (x @ v)
    return y / np.sqrt((y * y).sum(0))


@program("step of PageRank 4096", (4096, 4096), (4096,))
def page_rank(links, rank):
    out = links.sum(0)
    return 0.85 * (links @ (rank / np.maximum(out, 1))) + 0.15 / 4096


@program("layer norm of two axes (64, 256, 784)", (64, 256, 784), (256, 784), (256, 784))
def norm_of_two_axes(x, gain, bias):
    mean, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gain + bias


@program("running mean and variance (16384, 512)", (16384, 512), (FLOAT32, (512,)), (FLOAT32, (512,)))
def running_moments(x, mean, var):
    z = x.astype(np.float32)
    return 0.9 * mean + 0.1 * z.mean(0), 0.9 * var + 0.1 * z.var(0)


@program("softmax of columns (4096, 1024)", (4096, 1024))
def softmax_of_columns(x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


@program("argmin of columns (4096, 2048)", (4096, 2048))
def argmin_of_columns(x):
    return np.argmin(x, 0)


@program("argmax of short rows (65536, 100)", (65536, 100))
def argmax_of_short_rows(x):
    return np.argmax(x, -1)


@program("accuracy (8192, 1000)", (8192, 1000), ("int32", (8192,)))
def accuracy(logits, labels):
    return (np.argmax(logits, -1) == labels).astype(np.float32).mean()


@program("range of rows (8192, 2048)", (8192, 2048))
def range_of_rows(x):
    low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)
    return (x - low) / (high - low)


@program("median of rows (512, 1024)", (512, 1024))
def median(x):
    return np.median(x, axis=-1)


@program("counts of 64 bins, 1 M", ("int32", (1048576,)))
def counts(x):
    return (x[:, None] == np.arange(64)).astype(np.int32).sum(0)


@program("Jacobi, 10 sweeps of 1024 x 1024", (1024, 1024), (1024, 1024), dtypes=(FLOAT32,))
def jacobi(u, f):
    for _ in range(10):
        u = np.pad(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1]), 1)
    return u


@program("red half of Gauss-Seidel 2048", (2048, 2048), (2048, 2048), dtypes=(FLOAT32,))
def gauss_seidel(u, f):
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1]
    red = (np.arange(2046)[:, None] + np.arange(2046)) % 2 == 0
    return np.pad(np.where(red, 0.25 * around, u[1:-1, 1:-1]), 1)


@program("Laplacian of 192 x 192 x 192", (192, 192, 192), dtypes=(FLOAT32,))
def laplacian(u):
    c = u[1:-1, 1:-1, 1:-1]
    return (u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * c)


@program("gradient of an image 4096 x 4096", (4096, 4096), dtypes=(FLOAT32,))
def image_gradient(x):
    return x[:, 1:] - x[:, :-1], x[1:] - x[:-1]


@program("Mandelbrot, 16 steps of 1024 x 1024", (1024, 1024), (1024, 1024), dtypes=(FLOAT32,))
def mandelbrot(re, im):
    x, y, n = re * 0, im * 0, re * 0
    for _ in range(16):
        x, y = np.clip(x * x - y * y + re, -4, 4), np.clip(2 * x * y + im, -4, 4)
        n = n + (x * x + y * y < 4)
    return n


@program("forces of 2048 bodies", (2048, 3), (2048,), dtypes=(FLOAT32,))
def forces(p, mass):
    d = p[None] - p[:, None]
    r2 = (d * d).sum(-1) + 1e-3
    return (d * (mass / (r2 * np.sqrt(r2)))[..., None]).sum(1)


@program("logistic regression step 16384 x 512", (16384, 512), (512,), (16384,))
def logistic_step(x, w, y):
    p = 1 / (1 + np.exp(-(x @ w)))
    return w - 0.1 * (x.T @ (p - y)) / 16384


@program("weights of attention, mean of heads 16 x 512 x 512", (16, 512, 512))
def mean_of_heads(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).mean(0)


@program("differences of time (1024, 8192)", (1024, 8192))
def differences(x):
    return np.diff(x, axis=-1)


@program("max pool 3 x 3, 64 x 112 x 112", (64, 112, 112))
def max_pool_3(x):
    parts = [x[:, i:110 + i, j:110 + j] for i in range(3) for j in range(3)]
    out = parts[0]
    for part in parts[1:]:
        out = np.maximum(out, part)
    return out


@program("blur of 5 x 5, 2048 x 2048", (2048, 2048), dtypes=(FLOAT32,))
def blur(x):
    w = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)
    rows = sum(w[i] * x[i:2044 + i] for i in range(5))
    return sum(w[i] * rows[:, i:2044 + i] for i in range(5))
