"""Forms that kernel libraries in the field use: they must run, and give right values."""

import numpy as np
import pytest

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

DGE_NONE = 3  # the vendor's number of dge_mode.none


@pytest.fixture(autouse=True)
def trn2(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")


def test_dge_mode_none_by_the_vendors_number():
    def kernel(x, mode):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(dst=t, src=x, dge_mode=mode)
        nisa.dma_copy(dst=out, src=t)
        return out

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(nki.simulate(kernel)(x, DGE_NONE), x)
    for wrong in (4, -1, True, 3.0):
        with pytest.raises(nisa.NkiValidationError, match="dge_mode"):
            nki.simulate(kernel)(x, wrong)


def test_one_core_of_a_pair_writes_an_output():
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        if nl.program_id(0) == 1:
            t = nl.ndarray(x.shape, dtype=x.dtype)
            nisa.dma_copy(dst=t, src=x)
            nisa.dma_copy(dst=out, src=t)
        return out

    x = np.arange(30, dtype=np.int32).reshape(5, 6)
    np.testing.assert_array_equal(nki.simulate(kernel[2])(x), x)


def test_psum_tensors_placed_over_each_other_start_their_own_sums():
    """accumulate=None: the first matmul into a tensor overwrites, whatever lay at its address before."""

    def kernel(a, b):
        out = nl.ndarray((3, 128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        x = nl.ndarray(a.shape, dtype=a.dtype)
        y = nl.ndarray(b.shape, dtype=b.dtype)
        nisa.dma_copy(x, a)
        nisa.dma_copy(y, b)
        for i in range(3):
            bank = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum, address=(0, 2048))
            for _ in range(i + 1):
                nisa.nc_matmul(bank, x, y)
            t = nl.ndarray((128, 64), dtype=nl.float32)
            nisa.tensor_copy(t, bank)
            nisa.dma_copy(out[i], t)
        return out

    rng = np.random.default_rng(3)
    a = rng.integers(-3, 4, (32, 128)).astype(np.float32)
    b = rng.integers(-3, 4, (32, 64)).astype(np.float32)
    product = a.T @ b
    np.testing.assert_array_equal(nki.simulate(kernel)(a, b), np.stack([product, 2 * product, 3 * product]))


def test_half_of_a_placed_psum_tensor_is_another_tensors():
    def kernel(a, b):
        out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        x = nl.ndarray(a.shape, dtype=a.dtype)
        y = nl.ndarray(b.shape, dtype=b.dtype)
        nisa.dma_copy(x, a)
        nisa.dma_copy(y, b)
        left = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.psum, address=(0, 0))
        whole = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum, address=(0, 0))
        nisa.nc_matmul(whole[:, 32:], x, y[:, 32:])
        nisa.nc_matmul(left, x, y[:, :32])
        nisa.nc_matmul(whole, x, y)  # takes the left half over, adds to the right half
        t = nl.ndarray((128, 64), dtype=nl.float32)
        nisa.tensor_copy(t, whole)
        nisa.dma_copy(out, t)
        return out

    rng = np.random.default_rng(4)
    a = rng.integers(-3, 4, (16, 128)).astype(np.float32)
    b = rng.integers(-3, 4, (16, 64)).astype(np.float32)
    want = a.T @ b * np.repeat([1.0, 2.0], 32)
    np.testing.assert_array_equal(nki.simulate(kernel)(a, b), want)


def test_a_pattern_may_reach_outside_until_it_is_used():
    def kernel(x, use):
        out = nl.ndarray((8, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)
        for column in range(4):
            quarter = t.ap([[12, 8], [3, 4]], offset=column)  # columns 3 and on run over the end
            if column < 3 or use:
                nisa.dma_copy(out, quarter)
        return out

    x = np.arange(96, dtype=np.float32).reshape(8, 12)
    np.testing.assert_array_equal(nki.simulate(kernel)(x, False), x[:, 2::3])
    with pytest.raises(nisa.NkiValidationError, match="elements 3 to 12"):
        nki.simulate(kernel)(x, True)


@pytest.mark.parametrize("start", [0, 5])
def test_patterns_over_a_view_of_a_tile_step_by_the_views_rows(start):
    """A helper that knows only the view's shape writes [[free size of the view, partitions], ...]."""

    def kernel(x):
        out = nl.ndarray((32, 3), dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)
        half = t.ap([[16, 64], [1, 6]], offset=start)
        nisa.dma_copy(out, half.ap([[6, 32], [2, 3]], offset=32 * 6 + 1))
        return out

    x = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)
    np.testing.assert_array_equal(nki.simulate(kernel)(x), x[32:, start + 1:start + 6:2])


def test_an_empty_slice_may_be_made_and_not_used():
    """A core whose share is empty slices its tensors all the same."""

    def kernel(x, rows, use):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)
        mine = x[0, nl.ds(1, rows)]
        assert mine.shape == (rows, x.shape[2]) and mine.size == rows * x.shape[2]
        if use:
            nisa.dma_copy(t[0, nl.ds(1, rows)], mine)
        nisa.dma_copy(out, t)
        return out

    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    for rows in (0, 2):
        np.testing.assert_array_equal(nki.simulate(kernel)(x, rows, False), x)
    np.testing.assert_array_equal(nki.simulate(kernel)(x, 2, True), x)
    with pytest.raises(nisa.NkiValidationError, match="without elements"):
        nki.simulate(kernel)(x, 0, True)


class Scaling(nl.NKIObject):
    def __init__(self, by, limits):
        self.by, self.limits = by, limits


class Problem(nl.NKIObject):
    def __init__(self, x, scaling):
        self.x, self.scaling = x, scaling


def test_objects_with_equal_fields_are_equal():
    array = np.zeros(3, np.float32)
    assert Scaling(2, (1, 2)) == Scaling(2, (1, 2)) and hash(Scaling(2, ())) == hash(Scaling(2, ()))
    assert Scaling(2, (1, 2)) != Scaling(2, (1, 3)) and Scaling(2, 3) != Problem(2, 3)
    assert Problem(array, None) == Problem(array, None) and Problem(array, None) != Problem(array.copy(), None)


def test_arrays_in_the_fields_of_objects_become_tensors():
    def kernel(problem, plain):
        assert plain is not settings and vars(plain) == vars(settings)
        x, scaling = problem.x, problem.scaling
        assert scaling.limits == (0.0, 9.0)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        by = nl.ndarray(scaling.by.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)
        nisa.dma_copy(by, scaling.by)
        nisa.tensor_scalar(t, t, nl.multiply, by, op1=nl.minimum, operand1=scaling.limits[1])
        nisa.dma_copy(out, t)
        return out

    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    by = np.array([[1], [2], [3], [0]], dtype=np.float32)
    settings = Scaling(None, (1, 2))
    problem = Problem(x, Scaling(by, (0.0, 9.0)))
    np.testing.assert_array_equal(nki.simulate(kernel)(problem, settings), np.minimum(x * by, 9))
    assert problem.x is x and problem.scaling.by is by


def test_dtypes_are_reached_through_nki_dtype():
    import kiln

    kiln.activate()
    try:
        import nki.dtype as nt

        assert nt.bfloat16 == nl.bfloat16 and nt is nki.dtype and isinstance(nl.float8_e4m3, nt)
    finally:
        kiln.deactivate()
