"""sin, cos, tan of any argument; floor, ceil, trunc; divide, mod, fmod."""

import ml_dtypes
import numpy as np
import pytest

from kernels import close, lowering, refused, run, same
from kiln import nki
from kiln.nki import language as nl


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("span", [3, 9, 1000, 100000])
def test_sin_and_cos_of_any_argument(target, rng, name, span):
    x = rng.uniform(-span, span, (33, 100)).astype(np.float32)
    close(run(getattr(nl, name), x), getattr(np, name)(x.astype(np.float64)), rtol=0, atol=2e-6)


@pytest.mark.filterwarnings("ignore:.*activation.R11")
def test_sin_of_low_precision_and_of_special_values(target, rng):
    x = rng.uniform(-50, 50, (5, 40)).astype(ml_dtypes.bfloat16)
    close(run(nl.sin, x), np.sin(x.astype(np.float64)), atol=2e-3)
    special = np.array([[np.nan, np.inf, -np.inf, -0.0, 0.0, 9.0]], np.float32)
    got = run(nl.sin, special)
    assert np.isnan(got[0, :3]).all() and got[0, 3] == got[0, 4] == 0
    close(got[:, 5:], np.sin(special[:, 5:].astype(np.float64)))
    assert lowering(nl.sin, special)[-1] == "activation"


def test_tan(target, rng):
    x = rng.uniform(-1.4, 1.4, (20, 30)).astype(np.float32) + (np.pi * rng.integers(-5, 6, (20, 30))).astype(np.float32)
    close(run(nl.tan, x), np.tan(x.astype(np.float64)), rtol=3e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_rounding_keeps_the_sign_of_zeros(target, float_dtype, name):
    x = np.array([[0.0, -0.0, -0.5, 0.5, -1e-6, -0.75, np.inf, -np.inf, np.nan, -2.5]]).astype(float_dtype)
    want = getattr(np, name)(x.astype(np.float32))
    for got in (run(getattr(nl, name), x), run(lambda t: getattr(nl, name)(t, dtype=nl.float32), x)):
        np.testing.assert_array_equal(got.astype(np.float32), want)
        np.testing.assert_array_equal(np.signbit(got.astype(np.float32))[:, :8], np.signbit(want)[:, :8])


@pytest.mark.filterwarnings("error")  # large values are none of the integers that run.R13 is about
@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_rounding(target, rng, float_dtype, name):
    f = getattr(nl, name)
    x = np.concatenate([(rng.standard_normal((9, 60)) * scale).astype(float_dtype) for scale in (1, 100, 10000)]
                       + [rng.integers(-9, 9, (9, 20)).astype(float_dtype) / float_dtype.type(2)], axis=1)
    want = getattr(np, name)(x.astype(np.float32)).astype(float_dtype)
    np.testing.assert_array_equal(run(f, x).astype(np.float32), want.astype(np.float32))
    special = np.array([[np.nan, np.inf, -np.inf, 8388607.5, 8388609.0, -3e9, 1e30]], np.float32)
    np.testing.assert_array_equal(run(f, special), getattr(np, name)(special))
    same(run(lambda t: f(t, dtype=nl.int32), (x[:, :60] * 7).astype(float_dtype)),
         getattr(np, name)((x[:, :60] * 7).astype(float_dtype).astype(np.float32)).astype(np.int32))
    same(run(f, np.arange(12, dtype=np.int32).reshape(3, 4)), np.arange(12, dtype=np.int32).reshape(3, 4))


def warns(function, *arrays):
    with pytest.warns(nki.NkiWarning, match="nl.reciprocal"):
        return run(function, *arrays)


def test_divide_runs_and_warns(target, rng, float_dtype):
    x, y = (rng.uniform(0.5, 4, (9, 30)).astype(float_dtype) for _ in range(2))
    column = y[:, :1].copy()
    double = [v.astype(np.float64) for v in (x, y)]
    close(warns(nl.divide, x, y), double[0] / double[1])
    close(warns(nl.divide, x, column), double[0] / double[1][:, :1])
    close(warns(nl.divide, column, x), double[1][:, :1] / double[0])
    close(warns(lambda t: nl.divide(t, 3), x), double[0] / 3)
    close(warns(lambda t: nl.divide(3.0, t), x), 3 / double[0])
    close(warns(lambda t: nl.divide(t, 3, dtype=nl.float32), x), double[0] / 3)


@pytest.mark.filterwarnings("ignore::kiln.nki.NkiWarning")
def test_divide_by_zero_and_its_errors():
    x = np.array([[1.0, -2.0, 0.0]], np.float32)
    with np.errstate(all="ignore"):
        same(np.abs(run(lambda t: nl.divide(t, 0.0), x)), np.abs(x / np.float32(0)))
        same(np.abs(run(lambda a, b: nl.divide(a, b), x, 0 * x)), np.abs(x / np.float32(0)))
    refused("nki.R29", lambda a, b: nl.divide(a, b), x, x.astype(np.int32))
    refused("nki.R28", lambda a, b: nl.divide(a, b), x, np.ones((3, 3), np.float32))
    refused("nki.R27", lambda a: nl.divide(1, 2), x)
    refused("nki.R10", lambda a: nki.isa.tensor_scalar(a, a, nl.divide, 2.0), x)


@pytest.mark.parametrize("name", ["mod", "fmod"])
def test_remainders_of_integers_are_exact(target, rng, name):
    x = rng.integers(-5000, 5000, (8, 50)).astype(np.float32)
    y = rng.integers(1, 40, (8, 50)).astype(np.float32) * rng.choice([-1, 1], (8, 50)).astype(np.float32)
    f, want = getattr(nl, name), getattr(np, name)
    np.testing.assert_array_equal(warns(f, x, y), want(x, y))
    np.testing.assert_array_equal(warns(f, x, y[:, :1].copy()), want(x, y[:, :1]))
    np.testing.assert_array_equal(warns(lambda t: f(t, 7), x), want(x, np.float32(7)))
    np.testing.assert_array_equal(warns(lambda t: f(100, t), y), want(np.float32(100), y))
    same(warns(f, x.astype(np.int32), y.astype(np.int32)), want(x, y).astype(np.int32))


def any_floats(rng, exponents):
    """Normal float32 of both signs with exponents of a range, from their bits."""
    parts = [(0, 2, 31), (*exponents, 23), (0, 2**23, 0)]
    bits = sum(rng.integers(low, high, (16, 200)).astype(np.uint32) << shift for low, high, shift in parts)
    return bits.view(np.float32)


@pytest.mark.parametrize("name", ["mod", "fmod"])
@pytest.mark.parametrize("exponents", [(1, 255), (120, 135)], ids=["any", "usual"])
def test_remainders_are_those_of_numpy(target, rng, name, exponents):
    x, y = any_floats(rng, exponents), any_floats(rng, exponents)
    with np.errstate(all="ignore"):
        x[:, :50] = y[:, :50] * rng.integers(1, 2**23, (16, 50)).astype(np.float32)  # next to a multiple
        np.testing.assert_array_equal(warns(getattr(nl, name), x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("name", ["mod", "fmod"])
def test_remainders_of_infinities_zeros_and_nan(name):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -1e30, 1e-30], np.float32)
    x, y = (np.ascontiguousarray(a) for a in np.meshgrid(values, values, indexing="ij"))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(warns(getattr(nl, name), x, y), getattr(np, name)(x, y))
