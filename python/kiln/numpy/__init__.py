"""kiln.numpy: plain NumPy functions become programs for the chip. `kiln.jit` is the door; here is what models need and
NumPy lacks."""

from kiln.numpy import _ufuncs  # noqa: F401  (fills the tables of _dispatch)
from kiln.numpy import _covariance, _factors, _histograms, _integers, _padding, _segments  # noqa: F401
from kiln.numpy import _linalg, _numeric, _products, _reductions, _selection, _shapes, _sorting  # noqa: F401
from kiln.numpy._arguments import Shape as shape
from kiln.numpy._array import Array
from kiln.numpy._collectives import all_gather, all_reduce, all_to_all, collective_permute, reduce_scatter
from kiln.numpy._functions import (
    avg_pool,
    bincount,
    cond,
    conv1d,
    conv2d,
    conv3d,
    dynamic_slice,
    dynamic_update_slice,
    erf,
    fori_loop,
    gelu,
    layer_norm,
    leaky_relu,
    log_softmax,
    logsumexp,
    max_pool,
    mish,
    nonzero,
    one_hot,
    relu,
    rms_norm,
    rsqrt,
    scan,
    sigmoid,
    silu,
    softmax,
    softplus,
    topk,
    while_loop,
)
from kiln.numpy import random
from kiln.numpy._jit import jit
from kiln.numpy._kernels import call_kernel
from kiln.numpy._quantised import dequantize, matmul_f32, mx_dequantize, mx_matmul, mx_quantize, quantize
from kiln.numpy._sequence import sequence

__all__ = [
    "Array",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "avg_pool",
    "bincount",
    "call_kernel",
    "collective_permute",
    "cond",
    "conv1d",
    "conv2d",
    "conv3d",
    "dequantize",
    "dynamic_slice",
    "dynamic_update_slice",
    "erf",
    "fori_loop",
    "gelu",
    "jit",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "logsumexp",
    "matmul_f32",
    "max_pool",
    "mish",
    "mx_dequantize",
    "mx_matmul",
    "mx_quantize",
    "nonzero",
    "one_hot",
    "quantize",
    "random",
    "reduce_scatter",
    "relu",
    "rms_norm",
    "rsqrt",
    "scan",
    "sequence",
    "shape",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "topk",
    "while_loop",
]
