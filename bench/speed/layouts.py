"""How an operand of 128 partitions lies in SBUF: what is loaded, how an instruction sees it, and how NumPy does."""

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str
    loaded: tuple  # shape of the tile
    seen: Callable  # of a tile: what the instruction gets
    numpy: Callable  # of an array of the tile's shape

    def shape(self):
        """Of what the instruction sees."""
        return {"permuted": (128, 32, 16), "column": (128, 1)}.get(self.name, (128, 512))


def same(t):
    return t


DENSE = Layout("dense", (128, 512), same, same)
COLUMN = Layout("column", (128, 1), same, same)
STRIDED = Layout("stride2", (128, 1024), lambda t: t[:, 0:1024:2], lambda x: x[:, ::2])
PERMUTED = Layout("permuted", (128, 512), lambda t: t.ap([[512, 128], [1, 32], [32, 16]]),
                  lambda x: x.reshape(128, 16, 32).transpose(0, 2, 1))
BROADCAST = Layout("broadcast", (128, 1), lambda t: t.ap([[1, 128], [0, 512]]),
                   lambda x: np.broadcast_to(x, (128, 512)))

ALL = (DENSE, COLUMN, STRIDED, PERMUTED, BROADCAST)
