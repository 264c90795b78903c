"""Level 1 against NumPy in float64, natively and by kernels."""

import numpy as np
import pytest

from cases import DTYPES, EPS, assert_close, normal, rng, wide
from kiln import blas

BACKENDS = ("native", "simulator")
SIZES = (1, 2, 127, 129, 1000)


@pytest.fixture(params=BACKENDS, autouse=True)
def backend(request):
    with blas._backend.scope(request.param):
        yield request.param


def pairs(dtype):
    """Dense vectors, and views with strides."""
    r = rng()
    for n in SIZES:
        yield normal(r, n, dtype), normal(r, n, dtype)
        yield normal(r, 3 * n, dtype)[::3], normal(r, 2 * n, dtype)[::-2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_axpy_scal_copy_swap(dtype, backend):
    alpha = -1.25 + 0.5j if dtype == "complex64" else -1.25
    for x, y in pairs(dtype):
        size = np.abs(alpha) * np.abs(wide(x)) + np.abs(wide(y))
        assert_close(blas.axpy(alpha, x, y), alpha * wide(x) + wide(y), 8 * EPS[dtype] * size, "axpy")
        assert blas.last_call().backend == backend
        assert_close(blas.scal(alpha, x), alpha * wide(x), 8 * EPS[dtype] * size, "scal")
        np.testing.assert_array_equal(blas.copy(x), x)
        swapped = blas.swap(x, y)
        np.testing.assert_array_equal(swapped[0], y)
        np.testing.assert_array_equal(swapped[1], x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype):
    for x, y in pairs(dtype):
        bound = (x.size + 8) * EPS[dtype] * (np.abs(wide(x)) @ np.abs(wide(y)) + 1e-30)
        assert_close(blas.dot(x, y), np.sum(wide(x) * wide(y)), 2 * bound, "dot")
        assert_close(blas.dotc(x, y), np.vdot(wide(x), wide(y)), 2 * bound, "dotc")
        parts = np.concatenate([wide(x).real, wide(x).imag])
        assert_close(blas.asum(x), np.abs(parts).sum(), (x.size + 8) * EPS[dtype] * 2 * np.abs(parts).sum(), "asum")
        norm = np.linalg.norm(wide(x))
        assert_close(blas.nrm2(x), norm, (x.size + 8) * EPS[dtype] * norm, "nrm2")
        assert blas.iamax(x) == np.argmax(np.abs(x.real) + np.abs(x.imag))


def test_results_keep_shape_and_dtype():
    x = normal(rng(), (3, 4, 5))
    assert blas.axpy(2.0, x, x).shape == (3, 4, 5)
    assert blas.dot(x, x).dtype == np.float32
    assert isinstance(blas.iamax(x), int)
    half = x.astype(np.float16)
    assert blas.scal(2.0, half).dtype == np.float16


def test_rotations():
    r = rng()
    for n in SIZES:
        x, y = normal(r, n), normal(r, n)
        size = 4 * EPS["float32"] * (np.abs(x) + np.abs(y))
        got = blas.rot(x, y, 0.6, 0.8)
        assert_close(got[0], 0.6 * wide(x) + 0.8 * wide(y), size, "rot")
        assert_close(got[1], 0.6 * wide(y) - 0.8 * wide(x), size, "rot")
    a, b = np.float32(3), np.float32(-4)
    length, _, c, s = blas.rotg(a, b)
    assert_close([c * a + s * b, c * b - s * a], [length, 0], 1e-6, "rotg")
    for flag, h in ((-1, [[0.5, 2], [-1, 0.25]]), (0, [[1, 2], [-1, 1]]), (1, [[0.5, 1], [-1, 0.25]])):
        param = [flag, h[0][0], h[1][0], h[0][1], h[1][1]]
        got = blas.rotm(x, y, param)
        want = np.array(h) @ np.stack([wide(x), wide(y)])
        assert_close(got, want, 1e-5, f"rotm {flag}")
    np.testing.assert_array_equal(blas.rotm(x, y, [-2, 7, 7, 7, 7])[0], x)
    d1, d2, x1, param = blas.rotmg(2.0, 3.0, 1.5, -0.5)
    first, second = blas.rotm(np.float32([1.5]), np.float32([-0.5]), param)
    assert_close(second, [0.0], 1e-6, "rotmg makes the second component zero")
    assert_close(first, [x1], 1e-6, "rotmg")


def test_dsdot_is_as_good_as_float64():
    for x, y in pairs("float32"):
        exact = np.sum(x.astype(np.longdouble) * y.astype(np.longdouble))
        bound = 2.0 ** -44 * np.sum(np.abs(wide(x) * wide(y))) + 1e-300
        assert abs(blas.dsdot(x, y) - float(exact)) <= bound
        assert blas.sdsdot(1.5, x, y) == np.float32(1.5 + float(exact))


def test_norms_do_not_overflow():
    for values in ([3e37, 4e37], [3e-40, 4e-40], [1e-45, 0], [0, 0]):
        x = np.float32(values)
        assert_close(blas.nrm2(x), np.linalg.norm(wide(x)), 4e-7 * np.linalg.norm(wide(x)) + 1e-45, values)


def test_nan_and_infinity_travel():
    nan, inf = np.nan, np.inf
    with np.errstate(all="ignore"):
        for values in ([1, nan, 2], [inf, 1, -inf], [nan, inf, 0]):
            x, y = np.float32(values), np.float32([0, 1, 2])
            np.testing.assert_array_equal(blas.axpy(2.0, x, y), 2 * x + y)
            np.testing.assert_array_equal(blas.scal(0.0, x), 0 * x)
            np.testing.assert_array_equal(blas.asum(x), np.abs(x).sum())
            np.testing.assert_array_equal(blas.nrm2(x), np.linalg.norm(x))
            np.testing.assert_array_equal(blas.dot(x, y), np.dot(x, y))
            assert blas.iamax(x) == np.argmax(np.abs(x))


def test_long_vectors_have_one_rolled_loop():
    r = rng()
    x = normal(r, 300_001)
    x[[200_003, 250_000]] = 9, -9
    assert blas.iamax(x) == 200_003
    assert blas.last_call().program.instruction_count < 100
    assert_close(blas.asum(x), np.abs(wide(x)).sum(), 1e-5 * np.abs(wide(x)).sum(), "asum")


def test_empty_vectors():
    x = np.zeros(0, np.float32)
    assert blas.dot(x, x) == 0 and blas.nrm2(x) == 0 and blas.axpy(1.0, x, x).shape == (0,)
    with pytest.raises(ValueError, match="^x:"):
        blas.iamax(x)
