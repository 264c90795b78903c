#!/usr/bin/env python3
"""The least that each way to multiply a sparse matrix, 4096^2 with 1 % of elements, by 256 columns takes on trn2, of
what the dense product takes: what its DMAs and the tensor engine are busy for, whichever is more, and nothing else.

A share of the tiles of 128 x 128 is multiplied as it lies, with b in SBUF. Of the rest, columns that have two elements
or more in a group of 128 rows are gathered and multiplied by the tensor engine, and single elements go to the vector
engine; groups of several times 128 rows share what they gather, in tiles of columns that the same ones of them need.
Each share is tried, and the best one printed."""

import itertools

import numpy as np

SIZE, N, TILE, DENSE_NS = 4096, 256, 128, 457.2e3
ENGINES, RATE, PACKET = 16, 24.2, 7.5  # DMAs of trn2: bytes per ns of each, and ns of a packet (kiln/arch)
ROW = (PACKET + 4 * N / RATE) / ENGINES  # a row of b
BLOCK = 4 * TILE * TILE / RATE / ENGINES  # a tile of a
PRODUCT = 4 * N / 2.4  # of a tile: four passes for float32
B_AND_C = 2 * 4 * SIZE * N / RATE / ENGINES


def least(dma, tensor, block):
    """The best share of tiles, where all of the matrix by gathering takes `dma` and `tensor`, of the dense time."""
    share = np.linspace(0, 1, 1001)
    tiles = share * (SIZE // TILE) ** 2
    dma, tensor = (1 - share) * dma + tiles * block + B_AND_C, (1 - share) * tensor + tiles * PRODUCT
    return np.maximum(dma, tensor).min() / DENSE_NS


def shared(a, groups, block):
    """Groups of rows that gather together, each as high as a tile."""
    rows = tiles = singles = 0
    for first in range(0, SIZE, TILE * groups):
        counts = a[first:first + TILE * groups].reshape(-1, TILE, SIZE).sum(1)
        several = counts >= 2
        rows += np.count_nonzero(several.any(0))
        singles += np.count_nonzero(counts == 1)
        for who in itertools.product((False, True), repeat=len(counts)):
            columns = np.count_nonzero((several == np.array(who)[:, None]).all(0))
            tiles += sum(who) * -(-columns // TILE)
    return least((rows + singles) * ROW + tiles * block, tiles * PRODUCT, block)


def side_by_side(a, height, block):
    """Groups of fewer rows than a tile, several of them on the array at the same time."""
    counts = a.reshape(-1, height, SIZE).sum(1)
    tiles = np.count_nonzero(counts >= 2) / TILE * height / TILE
    return least(np.count_nonzero(counts) * ROW + tiles * block, tiles * PRODUCT, block)


def main():
    a = np.random.default_rng(7).random((SIZE, SIZE)) < 0.01
    ways = {"elements": lambda block: least(np.count_nonzero(a) * ROW, 0, block)}
    ways |= {f"gathered for {h} rows": lambda block, h=h: side_by_side(a, h, block) for h in (32, 64)}
    ways |= {f"gathered for {TILE * g} rows": lambda block, g=g: shared(a, g, block) for g in (1, 2, 3, 4)}
    print("the rest of the tiles       as they lie  from a byte per place")
    for name, way in ways.items():
        print(f"{name:26}  {way(BLOCK):11.3f}  {way(BLOCK / 4):21.3f}")


if __name__ == "__main__":
    main()
