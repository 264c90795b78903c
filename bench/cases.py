"""What is measured: for each program of bench/programs.h its peer, both on the same arrays."""

import dataclasses
from collections.abc import Callable

import ml_dtypes
import numpy as np
import scipy.special


@dataclasses.dataclass
class Case:
    name: str
    limit: float  # of our time, in times of the peer
    peer_name: str
    peer: Callable  # of the inputs
    inputs: int = 1
    columns: int | None = None  # of the result; None: as many as the inputs have
    dtype: type = np.float32  # of our inputs; the peer always gets float32
    square: bool = False
    tolerance: float = 2e-6  # largest difference, relative to the largest value of the peer


def gelu(x):
    return 0.5 * x * (1 + scipy.special.erf(x / np.float32(np.sqrt(2))))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def gemm(name, limit, dtype, tolerance):
    return Case(
        name, limit, "OpenBLAS sgemm", lambda a_t, b: a_t.T @ b,
        inputs=2, dtype=dtype, square=True, tolerance=tolerance,
    )


CASES = [
    gemm("gemm_f32", 1.5, np.float32, 1e-5),
    gemm("gemm_bf16", 2.0, ml_dtypes.bfloat16, 2e-2),
    Case("add", 1.0, "NumPy x + y", lambda x, y: x + y, inputs=2),
    Case("exp", 1.0, "NumPy exp", np.exp),
    Case("gelu", 1.0, "NumPy with SciPy's erf", gelu),
    Case("tanh", 1.0, "NumPy tanh", np.tanh),
    Case("silu", 1.0, "NumPy x / (1 + exp(-x))", lambda x: x / (1 + np.exp(-x))),
    Case("row_sum", 1.0, "NumPy sum(axis=1)", lambda x: x.sum(axis=1, keepdims=True), columns=1, tolerance=1e-4),
    Case("softmax", 1.0, "NumPy softmax", softmax, tolerance=1e-5),
]
