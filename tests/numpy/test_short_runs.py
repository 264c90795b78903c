"""Dimensions that change places around short runs: the bits are those of NumPy, on every target."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

BF16 = ml_dtypes.bfloat16
# Shape, order of the dimensions, and whether longer runs win (on trn2).
CASES = [
    ((2, 512, 16, 64), (0, 2, 1, 3), BF16, True),
    ((197, 36, 64), (1, 0, 2), BF16, True),  # 197 is a prime: what remains is copied
    ((301, 48, 20), (1, 0, 2), np.int32, True),
    ((6, 56, 2, 56, 2, 24), (0, 1, 3, 2, 4, 5), np.float32, True),
    ((3, 257, 5, 130, 8), (2, 3, 0, 1, 4), np.float32, True),
    ((2000, 3, 7, 33), (2, 0, 1, 3), np.uint8, True),
    ((64, 2, 2, 64, 64), (0, 3, 1, 4, 2), BF16, True),  # pixels of channels
    ((2, 3, 14, 16, 14, 16), (0, 2, 4, 1, 3, 5), BF16, True),  # patches of an image
    ((20001, 7), (1, 0), np.float32, True),
    ((40, 8, 64), (1, 0, 2), BF16, False),  # a single DMA is done sooner
    ((512, 16, 256), (1, 0, 2), np.float32, False),  # runs of 1 KiB
]


@pytest.fixture
def rng():
    print(f"KILN_SEED={SEED}")
    return np.random.default_rng(SEED)


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize(("shape", "order", "dtype", "regrouped"), CASES)
def test_order_of_dimensions(shape, order, dtype, regrouped, target, rng):
    x = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8).view(dtype)[..., 0]
    turned = kiln.jit(lambda x: np.ascontiguousarray(x.transpose(order)), target=target)
    assert turned(x).tobytes() == np.ascontiguousarray(x.transpose(order)).tobytes()
    if target == "trn2":
        assert (turned.lower(x).report()["instructions_static"] > 1) == regrouped


def test_slices_and_repeats(rng):
    x = rng.standard_normal((4, 300, 20, 32), dtype=np.float32)

    def views(x):
        part = x[1:3, 7:, 2:18].transpose(2, 0, 1, 3)
        repeated = np.broadcast_to(x[0, :, None], (300, 3, 20, 32)).transpose(2, 1, 0, 3)
        return part, repeated, x[:, ::-1].transpose(2, 1, 0, 3)

    for got, want in zip(kiln.jit(views)(x), views(x)):
        assert np.array_equal(got, want)


def test_random_orders(rng):
    """As they are, and as shapes that no pattern of strides gives."""
    for _ in range(40):
        rank = int(rng.integers(2, 7))
        shape = [int(n) for n in np.exp(rng.uniform(0, 11 / rank, rank)) + 1]
        order = [int(d) for d in rng.permutation(rank)]
        dtype = [BF16, np.float32, np.int32, np.uint8, np.float16][rng.integers(5)]
        x = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8).view(dtype)[..., 0]
        target = ["trn1", "trn2", "trn3"][rng.integers(3)]
        for f in (lambda x: np.ascontiguousarray(x.transpose(order)), lambda x: x.transpose(order).reshape(-1)):
            assert kiln.jit(f, target=target)(x).tobytes() == f(x).tobytes(), (shape, order, dtype, target)
