"""Level 1: vectors. Arrays of any shape count as vectors of their elements; results are new arrays."""

import numpy as np

from . import _native as native
from ._arrays import Form, expect_shape, to_numpy, torch_of
from ._autograd import differentiable
from ._backend import routine
from ._native import Vector


def _pair(x, y, names=("x", "y")):
    form = Form(x, names[0])
    a, b = form.array(x, names[0]), form.array(y, names[1])
    return form, a, expect_shape(b, names[1], a.shape)


def _rows(array):
    """A copy by rows, to be written."""
    return np.array(array, order="C")


def _call(name, array, *args, prefix=""):
    return native.call(array, name, *args, prefix=prefix)


@routine
@differentiable
def axpy(alpha, x, y):
    """alpha x + y."""
    form, a, b = _pair(x, y)
    out, a = _rows(b), np.ascontiguousarray(a) if a.ndim != 1 else a
    xv, yv = Vector(a), Vector(out)
    _call("axpy", out, xv.n, form.scalar(alpha, "alpha"), xv, yv)
    return form.result(out)


@routine
@differentiable
def scal(alpha, x):
    """alpha x."""
    form = Form(x, "x")
    out = _rows(form.array(x, "x"))
    v = Vector(out)
    _call("scal", out, v.n, form.scalar(alpha, "alpha"), v)
    return form.result(out)


@routine
@differentiable
def copy(x):
    """x."""
    form = Form(x, "x")
    a = form.array(x, "x")
    out = np.empty(a.shape, a.dtype)
    xv, yv = Vector(np.ascontiguousarray(a) if a.ndim != 1 else a), Vector(out)
    _call("copy", out, xv.n, xv, yv)
    return form.result(out)


@routine
@differentiable
def swap(x, y):
    """(y, x), as new arrays."""
    form, a, b = _pair(x, y)
    first, second = _rows(a), _rows(b)
    xv, yv = Vector(first), Vector(second)
    _call("swap", first, xv.n, xv, yv)
    return form.result(first), form.result(second)


def _dot(name, x, y):
    form = Form(x, "x")
    a, b = form.array(x, "x"), form.array(y, "y")
    if a.size != b.size:
        raise ValueError(f"y: {b.size} elements, but x has {a.size}")
    xv, yv = Vector(a), Vector(b)
    return form.number(_call(name, a, xv.n, xv, yv))


@routine
@differentiable
def dot(x, y):
    """Sum of x_i y_i; of complex vectors too, without a conjugate (dotu)."""
    return _dot("dotu" if Form(x, "x").is_complex else "dot", x, y)


@routine
@differentiable
def dotu(x, y):
    """Sum of x_i y_i."""
    return dot(x, y)


@routine
@differentiable
def dotc(x, y):
    """Sum of conj(x_i) y_i."""
    return _dot("dotc" if Form(x, "x").is_complex else "dot", x, y)


def _single(x, name="x"):
    form = Form(x, name)
    if form.letter != "s":
        raise TypeError(f"{name}: elements are {form.dtype}, expected float32")
    return form


@routine
@differentiable
def dsdot(x, y):
    """Sum of x_i y_i of float32 vectors, accumulated as float64 would be."""
    form = _single(x)
    a, b = form.array(x, "x"), form.array(y, "y")
    if a.size != b.size:
        raise ValueError(f"y: {b.size} elements, but x has {a.size}")
    xv, yv = Vector(a), Vector(b)
    value = np.array(native.invoke(native.routines.dsdot, xv.n, xv, yv))
    return form.torch.from_numpy(value).to(form.device) if form.torch is not None else value[()]


@routine
@differentiable
def sdsdot(alpha, x, y):
    """alpha + x.y of float32 vectors, accumulated as float64 would be and rounded once."""
    form = _single(x)
    return form.number(np.float32(form.scalar(alpha, "alpha") + float(dsdot(x, y))))


@routine
@differentiable
def nrm2(x):
    """The Euclidean norm, without overflow on the way."""
    form = Form(x, "x")
    v = Vector(form.array(x, "x"))
    return form.number(_call("nrm2", v.array, v.n, v), real=True)


@routine
@differentiable
def asum(x):
    """Sum of |x_i|; of complex ones |re| + |im|."""
    form = Form(x, "x")
    v = Vector(form.array(x, "x"))
    return form.number(_call("asum", v.array, v.n, v), real=True)


@routine
def iamax(x):
    """The first index of the largest |x_i|, from 0; a NaN counts as larger than all."""
    form = Form(x, "x")
    v = Vector(form.array(x, "x"))
    if v.n == 0:
        raise ValueError("x: it has no elements")
    return int(_call("amax", v.array, v.n, v, prefix="i"))


@routine
@differentiable
def rot(x, y, c, s):
    """(c x + s y, c y - s x)."""
    form, a, b = _pair(x, y)
    first, second = _rows(a), _rows(b)
    xv, yv = Vector(first), Vector(second)
    real = [float(v) for v in (c, s)]  # complex vectors have real factors too
    _call("rot", first, xv.n, xv, yv, *real)
    return form.result(first), form.result(second)


@routine
@differentiable
def rotg(a, b):
    """(r, z, c, s) of the rotation that takes (a, b) to (r, 0)."""
    torch = torch_of(a)
    dtype = np.dtype(np.result_type(to_numpy(a, "a"), to_numpy(b, "b"), np.float32))
    values = np.array([to_numpy(a, "a"), to_numpy(b, "b"), 0], dtype)
    c = np.zeros(1, np.zeros(1, dtype).real.dtype)
    size, at = dtype.itemsize, values.ctypes.data
    native.call(values, "rotg", at, at + size, c.ctypes.data, at + 2 * size)
    found = values[0], values[1], c[0], values[2]
    return found if torch is None else tuple(torch.tensor(v) for v in found)


@routine
@differentiable
def rotm(x, y, param):
    """x and y after the modified rotation whose flag and matrix are `param` (5 numbers, as rotmg gives them)."""
    form, a, b = _pair(x, y)
    if form.is_complex:
        raise TypeError("x: complex, but rotm is for real vectors")
    h = np.ascontiguousarray(to_numpy(param, "param"), form.compute)
    expect_shape(h, "param", (5,))
    first, second = _rows(a), _rows(b)
    xv, yv = Vector(first), Vector(second)
    _call("rotm", first, xv.n, xv, yv, h.ctypes.data)
    return form.result(first), form.result(second)


@routine
@differentiable
def rotmg(d1, d2, x1, y1, dtype=None):
    """(d1, d2, x1, param) of the modified rotation that makes the second component zero; of numbers in float32, unless
    a dtype is given, of torch tensors in theirs."""
    torch = torch_of(d1)
    if dtype is None:
        dtype = to_numpy(d1, "d1").dtype if torch is not None else np.float32
    values = np.array([to_numpy(v, name) for v, name in ((d1, "d1"), (d2, "d2"), (x1, "x1"))], dtype)
    param = np.zeros(5, dtype)
    size, at = values.itemsize, values.ctypes.data
    native.call(values, "rotmg", at, at + size, at + 2 * size, float(y1), param.ctypes.data)
    found = values[0], values[1], values[2], param
    return found if torch is None else tuple(torch.tensor(v) for v in found)
