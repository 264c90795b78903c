"""Linear algebra, statistics, searches and stencils."""

import numpy as np
from program import FLOAT32, program


@program("z-scores of columns (8192, 512)", (8192, 512))
def z_scores(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


@program("pairwise distances 2000 x 1500, 64", (2000, 64), (1500, 64))
def pairwise_distances(a, b):
    return np.sqrt(np.maximum((a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * a @ b.T, 0))


@program("cosine similarity 4096 x 2048, 512", (4096, 512), (2048, 512))
def cosine_similarity(a, b):
    return a / np.linalg.norm(a, axis=1, keepdims=True) @ (b / np.linalg.norm(b, axis=1, keepdims=True)).T


@program("covariance (16384, 256)", (16384, 256))
def covariance(x):
    x = x - x.mean(0)
    return x.T @ x / (x.shape[0] - 1)


@program("bilinear form 512, 64 x 256 x 256", (512, 256), (64, 256, 256), (512, 256))
def bilinear(x, w, y):
    return np.einsum("bi,oij,bj->bo", x, w, y)


@program("50 largest of (64, 32000)", (64, 32000))
def largest(x):
    return np.argsort(-x, axis=-1)[:, :50]


@program("argmax (2048, 32000)", (2048, 32000))
def argmax(x):
    return np.argmax(x, -1)


@program("cumulative sum (1024, 8192)", (1024, 8192))
def cumulative_sum(x):
    return np.cumsum(x, -1)


@program("outer update 2048", (2048, 2048), (2048,), (2048,))
def outer_update(a, x, y):
    return a + np.outer(x, y)


@program("matrix with vector 8192 x 4096", (8192, 4096), (4096,))
def matrix_vector(a, x):
    return a @ x


@program("transpose with vector 8192 x 4096", (8192, 4096), (8192,))
def transpose_vector(a, x):
    return a.T @ x


@program("heads before tokens 2x2048x16x128", (2, 2048, 16, 128))
def heads_first(x):
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3))


@program("step of k-means 16384 x 64, 256", (16384, 64), (256, 64))
def k_means_step(x, centres):
    nearest = np.argmin((centres * centres).sum(1) - 2 * x @ centres.T, axis=1)
    chosen = (np.arange(256) == nearest[:, None]).astype(x.dtype)
    return (chosen.T @ x) / np.maximum(chosen.sum(0), 1)[:, None]


@program("heat equation, a step of 4096 x 4096", (4096, 4096), dtypes=(FLOAT32,))
def heat_step(u):
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return np.pad(inner + 0.1 * (around - 4 * inner), 1)


@program("moving average of 16, (512, 16384)", (512, 16384), dtypes=(FLOAT32,))
def moving_average(x):
    sums = np.cumsum(np.pad(x, ((0, 0), (1, 0))), axis=-1)
    return (sums[:, 16:] - sums[:, :-16]) / 16
