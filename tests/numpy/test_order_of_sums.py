"""Products whose matrix lies with several rows on each partition, at level 2, where rows of x come in parts: exact."""
import numpy as np
import pytest

import kiln
from against_numpy import SEED


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("rows, depth, columns", [(16, 2048, 5), (33, 2048, 130), (10, 5120, 16), (128, 1024, 7),
                                                  (100, 1300, 40), (129, 4096, 9), (300, 2048, 3)])
def test_both_operands_have_one_order(rows, depth, columns, target):
    rng = np.random.default_rng([SEED, rows, depth])
    x, w = (rng.integers(-3, 4, s).astype(np.float32) for s in ((rows, depth), (depth, columns)))
    for f in (lambda x, w: (x @ w).T, lambda x, w: np.stack([x @ w, x @ w + 1]), lambda x, w: np.maximum(x @ w, 0)):
        np.testing.assert_array_equal(kiln.jit(f, target=target, opt=2)(x, w), f(x, w))


def test_beside_another_reader_of_the_matrix():
    rng = np.random.default_rng(SEED)
    x, w = (rng.integers(-3, 4, s).astype(np.float32) for s in ((33, 2048), (2048, 130)))
    got = kiln.jit(lambda x, w: (x @ w, np.tril(w, 1)), opt=2)(x, w)
    np.testing.assert_array_equal(got[0], x @ w)
    np.testing.assert_array_equal(got[1], np.tril(w, 1))
