"""Energies of second-order Møller-Plesset theory with density fitting:
E = sum_ijab T_ijab (2 T_ijab - T_ijba) / (e_i + e_j - e_a - e_b), T_ijab = sum_P B_iaP B_jbP."""

import numpy as np

from . import _native as native
from ._arrays import Form, expect_shape, to_numpy
from ._autograd import differentiable
from ._backend import routine


def _dense(form, value, name, ndim):
    return np.ascontiguousarray(form.array(value, name, ndim))


def _form(value, name):
    form = Form(value, name)
    if form.letter not in "sd":
        raise TypeError(f"{name}: elements are {form.dtype}, expected real ones")
    return form


def _orbital(form, value, name):
    array = to_numpy(value, name)
    if array.size != 1:
        raise ValueError(f"{name}: its shape is {array.shape}, expected one number")
    return float(array.reshape(()))


@routine
@differentiable
def mp2_energy(B, eps_occ, eps_vir):
    """The energy of all pairs from B (occupied, virtual, auxiliary), as one program."""
    form = _form(B, "B")
    b = _dense(form, B, "B", 3)
    o, v, x = b.shape
    occ = expect_shape(_dense(form, eps_occ, "eps_occ", 1), "eps_occ", (o,))
    vir = expect_shape(_dense(form, eps_vir, "eps_vir", 1), "eps_vir", (v,))
    return form.number(native.routine(b, "mp2_energy")(o, v, x, b.ctypes.data, occ.ctypes.data, vir.ctypes.data))


@routine
@differentiable
def mp2_pair_energy(b_i, b_j, eps_occ_i, eps_occ_j, eps_vir):
    """E_ij of two panels (virtual, auxiliary)."""
    form = _form(b_i, "b_i")
    first = _dense(form, b_i, "b_i", 2)
    second = expect_shape(_dense(form, b_j, "b_j", 2), "b_j", first.shape)
    v, x = first.shape
    vir = expect_shape(_dense(form, eps_vir, "eps_vir", 1), "eps_vir", (v,))
    return form.number(native.routine(first, "mp2_pair_energy")(
        v, x, first.ctypes.data, second.ctypes.data, _orbital(form, eps_occ_i, "eps_occ_i"),
        _orbital(form, eps_occ_j, "eps_occ_j"), vir.ctypes.data))


@routine
@differentiable
def mp2_reduce(T_flat, eps_occ_chunk, eps_occ_full, eps_vir):
    """The energy of amplitudes T_flat[(i, a), (j, b)] for a chunk of i and all j."""
    form = _form(T_flat, "T_flat")
    t = _dense(form, T_flat, "T_flat", 2)
    chunk, occ = _dense(form, eps_occ_chunk, "eps_occ_chunk", 1), _dense(form, eps_occ_full, "eps_occ_full", 1)
    vir = _dense(form, eps_vir, "eps_vir", 1)
    expect_shape(t, "T_flat", (chunk.size * vir.size, occ.size * vir.size))
    return form.number(native.routine(t, "mp2_reduce")(chunk.size, occ.size, vir.size, t.ctypes.data, chunk.ctypes.data,
                                                  occ.ctypes.data, vir.ctypes.data))
