"""Plans: what is known about a length before its first transform."""

import dataclasses
import enum
import functools

from kiln._kiln import fft as _native

from ._axes import length


class FFTAlgorithm(enum.Enum):
    COOLEY_TUKEY = "cooley_tukey"  # products of factors
    BLUESTEIN = "bluestein"  # a convolution, for lengths with a prime factor above 128


@dataclasses.dataclass(frozen=True)
class FFTPlan:
    """The plan of a length and a direction. Tables and program belong to the device plan, which is made once for each
    batch and kept; `device` tells about it."""

    n: int
    algorithm: FFTAlgorithm
    inverse: bool = False
    padded_n: int | None = None  # of the convolution, as trnfft has it

    def device(self, rows=1, real=False):
        """The plan for the chip that is chosen: dict of way, whether half a spectrum costs half, bytes of tables."""
        kind = (2 if self.inverse else 1) if real else 0
        way, halved, table_bytes = _native.plan(self.n, rows, kind, self.inverse, 1 / self.n if self.inverse else 1.0)
        return {"way": way, "half_cost": bool(real and halved), "table_bytes": table_bytes}


@functools.lru_cache(maxsize=1024)
def _plan(n, inverse):
    if n & (n - 1) == 0:
        return FFTPlan(n, FFTAlgorithm.COOLEY_TUKEY, inverse, n)
    return FFTPlan(n, FFTAlgorithm.BLUESTEIN, inverse, 1 << (2 * n - 2).bit_length())


def create_plan(n, inverse=False):
    """The plan of n numbers: the same object for the same arguments. The algorithm is named as trnfft names it: powers
    of two are COOLEY_TUKEY; `FFTPlan.device` has the way that a device takes."""
    return _plan(length(n, 0), bool(inverse))


def clear_plan_cache():
    """Forgets all plans, with their tables."""
    _plan.cache_clear()
    _native.clear_plans()


def plan_cache_size():
    return _plan.cache_info().currsize


def device_plan_count():
    """Device plans that are kept."""
    return _native.plan_count()
