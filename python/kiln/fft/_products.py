"""Products of ComplexTensors: by torch natively, by kernels on the other backends; gradients by products again."""

import math

import numpy as np

from kiln import blas
from kiln._kiln import blas as _choice
from kiln._kiln import fft as _native
from kiln.blas._arrays import to_numpy
from kiln.blas._backend import scope

from . import _wide
from ._rows import current_backend, is_native

_NODES = {}


def _pair(z, dtype):
    from .complex import ComplexTensor
    return ComplexTensor(z.real.to(dtype), z.imag.to(dtype))


def _tensor(torch, array, like):
    return torch.from_numpy(np.ascontiguousarray(array)).to(like.device)


def _multiply_arrays(x, y):
    """x y of complex arrays of one shape and dtype, by the kernel."""
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    if x.dtype == np.complex128 and x.size:
        return _wide.multiply(x, y, lambda: _multiply_arrays(x.astype(np.complex64), y.astype(np.complex64)))
    z = np.empty_like(x)
    if x.size:
        _native.complex_multiply(x.size, x.ctypes.data, y.ctypes.data, z.ctypes.data)
    return z


def _three_products(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    c = np.empty((a.shape[0], b.shape[1]), np.complex64)
    _native.complex_gemm(a.shape[0], b.shape[1], a.shape[1], 3, a.ctypes.data, b.ctypes.data, c.ctypes.data)
    return c


def _mod_relu_arrays(x, bias):
    x, bias = np.ascontiguousarray(x), np.ascontiguousarray(bias)
    if x.dtype == np.complex128 and x.size:
        return _wide.mod_relu(x, bias, lambda: _mod_relu_arrays(x.astype(np.complex64), bias.astype(np.float32)))
    y = np.empty_like(x)
    if x.size:
        _native.mod_relu(x.size // bias.size, bias.size, x.ctypes.data, bias.ctypes.data, y.ctypes.data)
    return y


def _mod_relu_backward_arrays(x, bias, gradient):
    """(dx, dbias) of float32 numbers, by the kernel."""
    x, bias, gradient = (np.ascontiguousarray(a) for a in (x, bias, gradient))
    dx, dbias = np.zeros_like(x), np.zeros_like(bias)
    if x.size:
        _native.mod_relu_backward(x.size // bias.size, bias.size, x.ctypes.data, bias.ctypes.data,
                                  gradient.ctypes.data, dx.ctypes.data, dbias.ctypes.data)
    return dx, dbias


def _nodes(torch):
    if torch in _NODES:
        return _NODES[torch]

    class Multiply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            ctx.choice = _choice.scope_choice()
            return _tensor(torch, _multiply_arrays(to_numpy(x, "x"), to_numpy(y, "y")), x)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            with scope(ctx.choice or None):
                return Multiply.apply(g, y.conj()), Multiply.apply(g, x.conj())

    class Gemm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, ta, tb, products=4):
            ctx.save_for_backward(a, b)
            ctx.trans, ctx.choice, ctx.products = (ta, tb), _choice.scope_choice(), products
            if products == 3:
                return _tensor(torch, _three_products(to_numpy(a, "a"), to_numpy(b, "b")), a)
            with scope(current_backend()):  # FFT's choice, not that of BLAS
                return _tensor(torch, blas.gemm(1.0, to_numpy(a, "a"), to_numpy(b, "b"), transA=ta, transB=tb), a)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            ta, tb = ctx.trans
            with scope(ctx.choice or None):
                # Transposed operands get the transposed gradient.
                da = Gemm.apply(g, b if tb == "N" else b.mT, "N", "C")
                db = Gemm.apply(a if ta == "N" else a.mT, g, "C", "N")
                return da if ta == "N" else da.mT, db if tb == "N" else db.mT, None, None, None

    class ModRelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z, bias):
            ctx.save_for_backward(z, bias)
            ctx.choice = _choice.scope_choice()
            return _tensor(torch, _mod_relu_arrays(to_numpy(z, "z"), to_numpy(bias, "bias")), z)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            z, bias = ctx.saved_tensors
            if z.dtype == torch.complex64:
                with scope(ctx.choice or None):
                    arrays = (to_numpy(z, "z"), to_numpy(bias, "bias"), to_numpy(g, "gradient"))
                    dz, db = _mod_relu_backward_arrays(*arrays)
                return _tensor(torch, dz, z), _tensor(torch, db, bias)
            with torch.enable_grad():
                re, im, b = (t.detach().requires_grad_() for t in (z.real.clone(), z.imag.clone(), bias))
                out = _mod_relu_formula(torch, re, im, b)
                dre, dim, db = torch.autograd.grad(out, (re, im, b), (g.real, g.imag))
            return torch.complex(dre, dim), db

    _NODES[torch] = (Multiply, Gemm, ModRelu)
    return _NODES[torch]


def multiply(a, b):
    """Elementwise."""
    import torch

    from .complex import ComplexTensor
    if is_native():
        out = ComplexTensor(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)
        if out.numel():
            _native.note_complex_multiply(out.numel())
        return out
    dtype = torch.result_type(a.real, b.real)
    x, y = torch.broadcast_tensors(a.to_torch_complex(), b.to_torch_complex())
    if x.dtype != y.dtype:
        x, y = x.to(torch.complex128), y.to(torch.complex128)
    return _pair(_nodes(torch)[0].apply(x, y), dtype)


def gemm(a, b, trans_a="N", trans_b="N", products=4):
    """op(a) op(b) of matrices, or of stacks of them, which are one program."""
    import torch
    dtype = torch.result_type(a.real, b.real)
    x, y = a.to_torch_complex(), b.to_torch_complex()
    if x.dtype != y.dtype:
        x, y = x.to(torch.complex128), y.to(torch.complex128)
    if products == 3 and (is_native() or x.dtype != torch.complex64 or 0 in (*x.shape, *y.shape)):
        products = 4  # natively OpenBLAS chooses, and doubles have products of their own
    return _pair(_nodes(torch)[1].apply(x, y, trans_a, trans_b, products), dtype)


def rows_of(x):
    """All rows of the last axis as a matrix, where there are no numbers too."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def matmul(a, b):
    """As torch.matmul."""
    import torch

    from .complex import ComplexTensor
    if is_native():
        re = torch.matmul(a.real, b.real) - torch.matmul(a.imag, b.imag)
        return ComplexTensor(re, torch.matmul(a.real, b.imag) + torch.matmul(a.imag, b.real))
    if a.ndim == 2 and b.ndim == 2:
        return gemm(a, b)
    if a.ndim == 1 or b.ndim == 1:
        rows = a if a.ndim > 1 else a.unsqueeze(0)
        out = matmul(rows, b if b.ndim > 1 else b.unsqueeze(1))
        out = out if b.ndim > 1 else out.squeeze(-1)
        return out if a.ndim > 1 else out.squeeze(-2 if b.ndim > 1 else -1)
    if b.ndim == 2:  # one matrix for all: a single product
        return gemm(rows_of(a), b).reshape(*a.shape[:-1], b.shape[-1])
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = a.expand(*batch, *a.shape[-2:]).reshape(math.prod(batch), *a.shape[-2:])
    right = b.expand(*batch, *b.shape[-2:]).reshape(math.prod(batch), *b.shape[-2:])
    out = gemm(left, right)
    return out.reshape(*batch, *out.shape[-2:])


def _mod_relu_formula(torch, re, im, bias):
    size = torch.sqrt(torch.clamp(re * re + im * im, min=1e-16))  # clamped first: its gradient at 0 is 0
    factor = torch.relu(size + bias) / size
    return re * factor, im * factor


def mod_relu(z, bias):
    """relu(|z| + bias) z / |z|; the bias belongs to the last axis."""
    import torch

    from .complex import ComplexTensor
    if is_native():
        out = ComplexTensor(*_mod_relu_formula(torch, z.real, z.imag, bias))
        if z.numel():
            _native.note_mod_relu(z.numel() // bias.numel(), bias.numel())
        return out
    real = torch.float64 if z.real.dtype == torch.float64 else torch.float32
    return _pair(_nodes(torch)[2].apply(z.to_torch_complex(), bias.to(real)), z.real.dtype)
