"""One transform along the last axis, and all others made of it."""

from ._call import Data, mode_of
from ._linear import Linear
from ._rows import FORWARD, INVERSE, WHOLE

_DFT_GEMM_THRESHOLD = 256  # up to this length a device transforms by one product


def along(data, kind, n, axis, positive, scale, mode):
    """Transforms one axis of a Data in place; returns it."""
    return data.apply(Linear(kind, n, axis, positive, scale, mode, given=data.shape[axis]))


def fft_core(x, inverse=False, plan=None, precision=None):
    """The transform of the last axis; the inverse one is divided by its length. `plan` has the length and the direction
    where it is given."""
    if plan is not None and plan.n != x.shape[-1]:
        raise ValueError(f"plan: it is for {plan.n} numbers, x has {x.shape[-1]}")
    if plan is not None:
        inverse = plan.inverse
    data = Data(x, "x").as_complex()
    n = data.shape[-1]
    return along(data, WHOLE, n, len(data.shape) - 1, inverse, 1 / n if inverse else 1.0, mode_of(precision)).result()


def __getattr__(name):
    if name.startswith("_FORCE_"):  # in trnfft these force a path; plans are chosen by predicted time here
        return False
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["FORWARD", "INVERSE", "WHOLE", "along", "fft_core"]
