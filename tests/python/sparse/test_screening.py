"""Screened products: the mask is exact, bit for bit, over sweeps of the threshold; whole tiles are left out."""

import numpy as np
import pytest

from cases import KERNELS, assert_product, generator
from kiln import sparse


@pytest.mark.parametrize("backend, target", KERNELS)
@pytest.mark.parametrize("rows, columns, n", [(200, 200, 64), (130, 300, 9), (1, 257, 3)])
def test_the_mask_is_exact(backend, target, rows, columns, n):
    rng = generator(rows)
    before = sparse.get_target()
    sparse.set_target(target)
    row, column = (rng.lognormal(0, 3, size).astype(np.float32) for size in (rows, columns))
    products = np.sqrt(row)[:, None] * np.sqrt(column)[None, :]
    # thresholds whose root is a product itself: there a mask that is nearly exact goes wrong
    exact = [float(np.float64(p) ** 2) for p in rng.choice(products.reshape(-1), 4)]
    identity = np.eye(columns, dtype=np.float32)
    ones = np.ones((rows, columns), np.float32)
    for threshold in (0.0, 1e-10, 0.5, 1e6, *exact):
        want = products > np.float32(np.sqrt(threshold))
        got = sparse.screened_spmm(ones, row, identity, threshold, column_integrals=column, backend=backend)
        np.testing.assert_array_equal(got != 0, want)
        np.testing.assert_array_equal(sparse.is_screened(row, threshold, column), want)
        A, B = (rng.standard_normal(s).astype(np.float32) for s in ((rows, columns), (columns, n)))
        got = sparse.screened_spmm(A, row, B, threshold, column_integrals=column, backend=backend)
        assert_product(got, A * want, B)
    sparse.set_target(before)


def test_tiles_below_the_threshold_are_not_read():
    rng = generator()
    bounds = np.ones(512, np.float32)
    bounds[128:] = 1e-8
    A, B = rng.standard_normal((512, 512)).astype(np.float32), rng.standard_normal((512, 64)).astype(np.float32)
    A[200:, 200:] = np.nan
    got = sparse.screened_spmm(A, bounds, B, 0.25, backend="simulator")
    assert_product(got[:128], A[:128, :128], B[:128])
    np.testing.assert_array_equal(got[128:], 0)
    some = sparse.last_call()
    sparse.screened_spmm(np.ones_like(A), np.ones_like(bounds), B, 0.25, backend="simulator")
    assert str(some.program).count("nc_matmul") * 16 == str(sparse.last_call().program).count("nc_matmul")
    assert some.predicted_ns < sparse.last_call().predicted_ns


def test_helpers():
    d = np.array([[4.0, -9.0], [0.0, 1e-12]])
    np.testing.assert_allclose(sparse.schwarz_bounds(d), [[2, 3], [0, 1e-6]])
    Q = sparse.schwarz_bounds(d)
    assert sparse.screen_quartets(Q, 1e-10).tolist() == [[True, True], [False, False]]
    assert sparse.density_screen(Q, np.ones((2, 2)), 1e-5).tolist() == [[True, True], [False, False]]
    stats = sparse.sparsity_stats(Q, 1e-10)
    assert stats == {"n_shells": 2, "total_pairs": 4, "significant_pairs": 2, "pair_sparsity": 0.5,
                     "total_quartets": 16, "significant_quartets_upper": 4, "quartet_sparsity_lower": 0.75}
