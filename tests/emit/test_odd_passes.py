"""Loops of which one pass does something else: random kernels of that shape, emitted and traced again.

KILN_SEED repeats a run.
"""

import os
import pathlib
import random
import re
import sys

import kiln
from kiln.nki import isa as nisa
from kiln.nki import language as nl

sys.path.insert(0, str(pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "tests" / "emit"))

import round_trip  # noqa: E402

SEED = int(os.environ["KILN_SEED"])
ROWS, COLUMNS = 16, 512


class Shape:
    """What the passes of a loop do, drawn once for a kernel: loops in them, statements, and where one pass differs."""

    def __init__(self, rng):
        self.outer = rng.choice([1, 1, 2, 3])
        self.passes = rng.randint(3, 5)
        self.inner = [rng.randint(1, 4) for _ in range(rng.randint(0, 2))]
        self.odd = rng.choice([0, 0, self.passes - 1, self.passes - 1, rng.randrange(self.passes)])
        # Statements around the place where the odd pass differs, by depth, and those at the place.
        self.before = [rng.choices(OPS, k=rng.randint(1, 4)) for _ in range(len(self.inner) + 1)]
        self.behind = [rng.choices(OPS, k=rng.randint(0, 3)) for _ in range(len(self.inner) + 1)]
        self.special, self.regular = (rng.choices(OPS, k=rng.randint(0, 2)) for _ in range(2))
        self.keeps = rng.choice(["nothing", "special", "special", "all", "regular"])
        self.spare = rng.choices(OPS, k=rng.randint(0, 2))


class Pass:
    """Issues statements; numbers depend on where it stands."""

    def __init__(self, shape, x, out):
        self.shape, self.x, self.out, self.kept = shape, x, out, []

    def place(self, at):
        return sum(a * step for a, step in zip(at, (8, 16, 24, 40), strict=False))

    def do(self, ops, at, keep=False):
        tile = None
        for op in ops:
            tile = op(self, at, tile)
            if keep and tile is not None and all(tile is not k for k in self.kept):
                self.kept.append(tile)

    def level(self, at, depth, k):
        shape, is_odd = self.shape, k == self.shape.odd
        self.do(shape.before[depth], at, shape.keeps == "all")
        if depth < len(shape.inner):
            for i in range(shape.inner[depth]):
                self.level([*at, i], depth + 1, k)
        elif is_odd:
            self.do(shape.special, at, shape.keeps == "special")
        else:
            self.do(shape.regular, at, shape.keeps == "regular")
            for tile in self.kept[:2] if shape.keeps == "special" else []:
                nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.add)
        self.do(shape.behind[depth], at)


def load(p, at, _):
    tile = nl.ndarray((ROWS, 8), dtype=nl.float32)
    nisa.dma_copy(dst=tile, src=p.x[:, nl.ds(p.place(at), 8)])
    return tile


def fill(p, at, _):
    tile = nl.ndarray((ROWS, 8), dtype=nl.float32)
    nisa.memset(dst=tile, value=0.0)
    return tile


def double(_p, _at, tile):
    if tile is not None:
        nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.add)
    return tile


def store(p, at, tile):
    if tile is not None:
        nisa.dma_copy(dst=p.out[:, nl.ds(p.place(at), 8)], src=tile)
    return tile


def copy(_p, _at, tile):
    if tile is None:
        return None
    out = nl.ndarray((ROWS, 8), dtype=nl.float32)
    nisa.tensor_copy(dst=out, src=tile)
    return out


OPS = [load, fill, double, store, copy]


def kernel_of(shape):
    def odd_passes(x):
        out = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=x)
        for i in range(shape.outer):
            p = Pass(shape, x, out)
            p.do(shape.spare, [i])
            for k in range(shape.passes):
                p.level([i, k], 0, k)
            for number, tile in enumerate(p.kept):
                nisa.dma_copy(dst=out[:, nl.ds(number % 60 * 8, 8)], src=tile)
        return out

    return odd_passes


def require_same(kernel, folder, number):
    x = round_trip.specs.Spec((ROWS, COLUMNS), "float32")
    cores = [core.program() for core in round_trip.simulate.trace_cores(kernel, 1, [x], {})]
    source = kiln._kiln.emit(cores)
    _, again = round_trip.load(source, folder)
    traced = round_trip.trace(again, cores)
    assert round_trip.normal_text(traced[0]) == round_trip.normal_text(cores[0]), number
    assert kiln._kiln.emit(traced) == source, number
    given = round_trip.random_arrays(cores, SEED)
    assert list(round_trip.run(traced, given).values()) == list(round_trip.run(cores, given).values()), number
    return source


def test_random_kernels(tmp_path):
    print(f"KILN_SEED={SEED}")
    rng = random.Random(SEED)
    asked = sum(bool(re.search(r"^ +if ", require_same(kernel_of(Shape(rng)), tmp_path, number), re.M))
                for number in range(200))
    assert asked > 3
