"""How an operand lies in SBUF: what is loaded, how an instruction sees it, and how NumPy does."""

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
        return self.numpy(np.empty(self.loaded, bool)).shape


def same(t):
    return t


def whole(rows, columns):
    return Layout(f"{rows}x{columns}", (rows, columns), same, same)


DENSE = Layout("dense", (128, 512), same, same)
COLUMN = Layout("column", (128, 1), same, same)
STRIDED = Layout("stride2", (128, 1024), lambda t: t[:, 0:1024:2], lambda x: x[:, ::2])
PERMUTED = Layout("permuted", (128, 512), lambda t: t.ap([[512, 128], [1, 32], [32, 16]]),
                  lambda x: x.reshape(128, 16, 32).transpose(0, 2, 1))
BROADCAST = Layout("broadcast", (128, 1), lambda t: t.ap([[1, 128], [0, 512]]),
                   lambda x: np.broadcast_to(x, (128, 512)))

ALL = (DENSE, COLUMN, STRIDED, PERMUTED, BROADCAST)

# What kernels have besides: sizes that no vector divides, parts of tiles, more dimensions, repeated rows and elements.
HALF = Layout("half", (128, 1024), lambda t: t[:, 512:1024], lambda x: x[:, 512:])
HEADS = Layout("heads", (128, 1024), lambda t: t.ap([[1024, 128], [128, 8], [1, 64]]),
               lambda x: x.reshape(128, 8, 128)[:, :, :64])
STRIDE3 = Layout("stride3", (128, 1536), lambda t: t[:, 0:1536:3], lambda x: x[:, ::3])
LANES = Layout("lanes", (128, 512), lambda t: t[64:128], lambda x: x[64:])
FOUR_DIMS = Layout("4d", (128, 512), lambda t: t.ap([[512, 128], [8, 8], [64, 8], [1, 8]]),
                   lambda x: x.reshape(128, 8, 8, 8).transpose(0, 2, 1, 3))
REVERSED_DIMS = Layout("reversed_dims", (128, 512), lambda t: t.ap([[512, 128], [1, 8], [8, 8], [64, 8]]),
                       lambda x: x.reshape(128, 8, 8, 8).transpose(0, 3, 2, 1))
REPEATED_EACH = Layout("repeated_each", (128, 16), lambda t: t.ap([[16, 128], [1, 16], [0, 32]]),
                       lambda x: np.broadcast_to(x[:, :, None], (128, 16, 32)))
REPEATED_ALL = Layout("repeated_all", (128, 16), lambda t: t.ap([[16, 128], [0, 32], [1, 16]]),
                      lambda x: np.broadcast_to(x[:, None, :], (128, 32, 16)))

WIDE = (whole(64, 100), whole(128, 3), whole(128, 65), whole(1, 4096), whole(8, 2048), whole(128, 2048), HALF, HEADS,
        STRIDE3, LANES, FOUR_DIMS, REVERSED_DIMS, REPEATED_EACH, REPEATED_ALL)

# Few columns, and parts of tiles that have few.
NARROW = (whole(128, 2), whole(128, 5), whole(128, 8), whole(16, 8),
          Layout("column_of_512", (128, 512), lambda t: t[:, 5:6], lambda x: x[:, 5:6]),
          Layout("4_of_512", (128, 512), lambda t: t[:, 4:8], lambda x: x[:, 4:8]),
          Layout("every_64th", (128, 512), lambda t: t[:, 0:512:64], lambda x: x[:, ::64]),
          Layout("64x1", (128, 64), lambda t: t.ap([[64, 128], [1, 64], [1, 1]]), lambda x: x.reshape(128, 64, 1)))
# Heads side by side or repeated, pairs, windows that overlap, the inside of an image.
VIEWS = (Layout("stride4", (128, 2048), lambda t: t[:, 0:2048:4], lambda x: x[:, ::4]),
         Layout("8_heads_across", (128, 512), lambda t: t.ap([[512, 128], [1, 64], [64, 8]]),
                lambda x: x.reshape(128, 8, 64).transpose(0, 2, 1)),
         Layout("even_then_odd", (128, 512), lambda t: t.ap([[512, 128], [1, 2], [2, 256]]),
                lambda x: x.reshape(128, 256, 2).transpose(0, 2, 1)),
         Layout("head_repeated", (128, 64), lambda t: t.ap([[64, 128], [0, 8], [1, 64]]),
                lambda x: np.broadcast_to(x[:, None, :], (128, 8, 64))),
         Layout("group_repeated", (128, 64), lambda t: t.ap([[64, 128], [16, 4], [0, 8], [1, 16]]),
                lambda x: np.broadcast_to(x.reshape(128, 4, 1, 16), (128, 4, 8, 16))),
         Layout("pairs", (128, 1024), lambda t: t.ap([[1024, 128], [4, 256], [1, 2]]),
                lambda x: x.reshape(128, 256, 4)[:, :, :2]),
         Layout("windows", (128, 130), lambda t: t.ap([[130, 128], [1, 128], [1, 3]]),
                lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)),
         Layout("image", (128, 34 * 34), lambda t: t.ap([[34 * 34, 128], [34, 32], [1, 32]], offset=35),
                lambda x: x.reshape(128, 34, 34)[:, 1:33, 1:33]))
