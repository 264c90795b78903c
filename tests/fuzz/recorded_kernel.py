"""The kernel whose recorded calls fuzz_records.py tampers with."""

import enum

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


class Mode(enum.Enum):
    plain = 0
    twice = 1


class Config(nl.NKIObject):
    factor: float = 2.0
    shape: tuple = (128, 64)


@nki.jit
def scaled(x, config, mode=Mode.plain, dtype=nl.float32, names=()):
    t = nl.ndarray(x.shape, dtype=dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, config.factor if mode is Mode.plain else 2 * config.factor)
    out = nl.ndarray(x.shape, dtype=dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, t)
    return out
