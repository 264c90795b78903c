"""One transform along the last axis, and all others made of it."""

from kiln.blas._backend import scope

from ._call import Data, mode_of
from ._linear import Linear
from ._refused import Invalid
from ._rows import FORWARD, INVERSE, WHOLE
from .precision import set_ozaki_product_precision_verified

_DFT_GEMM_THRESHOLD = 256  # up to this length a device transforms by one product


def along(data, kind, n, axis, positive, scale, mode):
    """Transforms one axis of a Data in place; returns it. Natively, tensors of float32 are computed in float32, as by
    torch."""
    return data.apply(Linear(kind, n, axis, positive, scale, mode, given=data.shape[axis],
                             in_single=data.torch is not None))


def fft_core(x, inverse=False, plan=None, precision=None):
    """The transform of the last axis; the inverse one is divided by its length. `plan` has the length and the direction
    where it is given."""
    if plan is not None and plan.n != x.shape[-1]:
        raise Invalid(f"plan: it is for {plan.n} numbers, x has {x.shape[-1]}")
    if plan is not None:
        inverse = plan.inverse
    return _whole(x, inverse, mode_of(precision))


def _whole(x, inverse, mode):
    data = Data(x, "x").as_complex()
    n = data.shape[-1]
    return along(data, WHOLE, n, len(data.shape) - 1, inverse, 1 / n if inverse else 1.0, mode).result()


# The paths of trnfft that code calls by name. Each computes what its name says; which plan a device takes is chosen by
# predicted time.

def _fft_via_gemm(x, inverse):
    """As products with matrices of transforms, in float32."""
    return _whole(x, inverse, "product")


def _fft_via_gemm_double(x, inverse):
    return _whole(x, inverse, "double")


def _fft_via_gemm_bf16(x, inverse):
    return _whole(x, inverse, "bf16")


def _fft_iterative_refinement(x, inverse, steps=1):
    """bfloat16 products, refined by those of the rest; one step is all that float32 can hold."""
    return _whole(x, inverse, "bf16_refined" if steps else "bf16")


def _fft_via_ozaki(x, inverse):
    return _whole(x, inverse, "ozaki")


def _fft_via_ozaki_hq(x, inverse):
    return _whole(x, inverse, "ozaki_hq")


def _ozaki_or_fallback(x, inverse, hq):
    """The mode ozaki or ozaki_hq where it was opened; else bf16, with a warning."""
    return fft_core(x, inverse, precision="ozaki_hq" if hq else "ozaki")


def _on_device(name):
    def transform(x, inverse):
        from . import stockham
        with scope("nki"):
            return getattr(stockham, name)(x, inverse)
    return transform


_fft_via_stockham_nki = _on_device("stockham_radix4")
_fft_via_stockham_nki_r8 = _on_device("stockham_radix8")
_fft_via_stockham_nki_mixed = _on_device("stockham_mixed_radix")


def __getattr__(name):
    if name.startswith("_FORCE_"):  # in trnfft these force a path; plans are chosen by predicted time here
        return False
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["FORWARD", "INVERSE", "WHOLE", "along", "fft_core", "set_ozaki_product_precision_verified"]
