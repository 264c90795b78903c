"""Forms that published kernels use and the documents do not show."""

import warnings

import numpy as np

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def transposed_load(x):
    out = nl.ndarray((x.shape[2], x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load_transpose2d(x[1, :, :]))
    return out


def test_load_transpose2d_ignores_trailing_dimensions_of_size_one():
    x = np.random.default_rng(3).standard_normal((2, 20, 9, 1)).astype(np.float32)
    np.testing.assert_array_equal(nki.simulate(transposed_load)(x), x[1, :, :, 0].T)


def products_onto_zeros(a, b):
    """Sums of products that start from nl.zeros instead of from the first product."""
    out = nl.ndarray((3, a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(3):
        total = nl.zeros((a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.psum)
        for _ in range(2):
            nisa.nc_matmul(total, nl.load(a), nl.load(b), accumulate=True)
        nl.store(out[i], value=nl.copy(total))
    return out


def test_accumulating_onto_zeros_runs_and_warns_once_per_line(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((64, 16), (64, 40)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = nki.simulate(products_onto_zeros)(a, b)
    np.testing.assert_array_equal(got, np.broadcast_to(2 * a.T @ b, got.shape))
    assert ["nc_matmul.R21" in str(w.message) for w in caught] == [True]
