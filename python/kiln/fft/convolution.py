"""Convolutions by transforms."""

import numpy as np

from . import api
from ._axes import listed, normal
from ._call import Data, function
from ._refused import Invalid, Refused
from .helpers import next_fast_len


def _axes_of(ndim, axes, axis):
    """The axes that are convolved: all where none is given."""
    if axes is not None and axis is not None:
        raise Invalid("axis: it means axes, which are given too")
    given = axes if axis is None else axis
    if given is None:
        return list(range(ndim))
    found = [normal(a, ndim, "axes") for a in listed(given, "axes")]
    if len(set(found)) != len(found):
        raise Invalid(f"axes: they repeat: {found}")
    return found


def _cut(shape1, shape2, axes, mode):
    """The places of a full convolution that a mode keeps."""
    kept = []
    for a, (n1, n2) in enumerate(zip(shape1, shape2)):
        full = n1 + n2 - 1 if a in axes else max(n1, n2)
        first, size = 0, full
        if mode == "same":
            first, size = (full - n1) // 2, n1
        elif mode == "valid" and a in axes:
            first, size = min(n1, n2) - 1, abs(n1 - n2) + 1
        kept.append(slice(first, first + size))
    return tuple(kept)


def _require_alike(shape1, shape2, axes, mode):
    if len(shape1) != len(shape2):
        raise Refused(f"in2: it has {len(shape2)} dimensions, in1 has {len(shape1)}")
    for a, (n1, n2) in enumerate(zip(shape1, shape2)):
        if a not in axes and n1 != n2 and 1 not in (n1, n2):
            raise Refused(f"in2: {n2} numbers along axis {a}, which is not convolved, in1 has {n1}")
    larger = [shape1[a] - shape2[a] for a in axes]
    if mode == "valid" and min(larger, default=0) < 0 < max(larger, default=0):
        raise Invalid("mode: 'valid' needs one signal that is not shorter than the other along any axis")


def _alike(a, b):
    """The numbers of both, those of the less exact one as exact as the others."""
    if a.torch is None or b.torch is None:
        given = [d.value.dtype if d.torch is None else np.float32 for d in (a, b)]
        real = np.result_type(*given).type().real.dtype
        return [d.value.astype(np.result_type(d.value.dtype, real), copy=False) if d.torch is None else d.value
                for d in (a, b)]
    real = a.torch.promote_types(a.value.dtype, b.value.dtype).to_real()
    return [d.value.to(real.to_complex() if d.is_complex else real) for d in (a, b)]


def _rounded(y, a, b):
    """Results of half precisions are rounded once."""
    if a.torch is None or b.torch is None:
        return y
    real = a.torch.promote_types(*(d.value.dtype.to_real() if d.dtype is None else d.dtype for d in (a, b)))
    return y.to(real) if real.itemsize == 2 else y


@function
def fftconvolve(in1, in2, mode="full", axes=None, *, axis=None, precision=None):
    """The convolution of two signals along all axes, or those that are given, as scipy.signal.fftconvolve: 'full',
    'same' (the middle, of the shape of in1) or 'valid'."""
    if mode not in ("full", "same", "valid"):
        raise Invalid(f"mode: {mode!r}, expected 'full', 'same' or 'valid'")
    a, b = Data(in1, "in1"), Data(in2, "in2")
    if len(a.shape) == len(b.shape) and 0 in (*a.shape, *b.shape):
        return np.array([]) if a.torch is None else a.torch.zeros(0)  # of nothing, as SciPy has it
    # Along an axis of one number a convolution is a product.
    axes = [i for i in _axes_of(len(a.shape), axes, axis) if 1 not in (a.shape[i], *b.shape[i:i + 1])]
    _require_alike(a.shape, b.shape, axes, mode)
    if not axes:
        return (in1 * in2)[_cut(a.shape, b.shape, axes, mode)]
    lengths = [next_fast_len(a.shape[i] + b.shape[i] - 1) for i in axes]
    options = {"s": lengths, "axes": axes, "precision": precision}
    x, y = _alike(a, b)
    if a.is_complex or b.is_complex:
        z = api.ifftn(api.fftn(x, **options) * api.fftn(y, **options), **options)
    else:
        z = api.irfftn(api.rfftn(x, **options) * api.rfftn(y, **options), **options)
    return _rounded(z, a, b)[_cut(a.shape, b.shape, axes, mode)]


def convolve(a, v, mode="full", **options):
    """numpy.convolve of vectors, by transforms; of arrays along their last axis."""
    sizes = Data(a, "a").shape[-1], Data(v, "v").shape[-1]
    if 0 in sizes:
        raise Invalid(f"{'av'[sizes.index(0)]}: it cannot be empty")
    if sizes[0] < sizes[1]:
        a, v = v, a  # as in NumPy: 'same' is as long as the longer one
    options.setdefault("axis", -1)
    return fftconvolve(a, v, mode, **options)
