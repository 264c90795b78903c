"""Quantised numbers and their products against ml_dtypes: odd shapes, every target, also as emitted source."""

import importlib.util

import ml_dtypes
import numpy as np
import pytest

import kiln
import kiln.numpy as kn
from against_numpy import SEED
from kiln.commands.target import chosen

TARGETS = ("trn1", "trn2", "trn3")
MX = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
E4M3, BF16 = ml_dtypes.float8_e4m3, ml_dtypes.bfloat16


def sample(shape, dtype=np.float32, spread=8):
    """Magnitudes over several powers of two."""
    random = np.random.default_rng(SEED)
    return (random.normal(size=shape) * 2.0 ** random.integers(-spread, spread, shape)).astype(dtype)


def quantised(x, axis, dtype):
    """(elements, scales) of 32 along an axis, as the format says."""
    x = np.moveaxis(x.astype(np.float32), axis, -1)
    n = x.shape[-1]
    groups = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -n % 32)]).reshape(*x.shape[:-1], -1, 32)
    largest = np.abs(groups).max(axis=-1, keepdims=True)
    exponent = np.frexp(largest)[1] - 1 - (7 if dtype == ml_dtypes.float8_e4m3fn else 14)
    scale = np.where(largest > 0, np.maximum(exponent, -127), -127)
    elements = np.ldexp(groups.astype(np.float64), -scale).astype(np.float32).astype(dtype)
    elements = elements.reshape(*x.shape[:-1], -1)[..., :n]
    return np.moveaxis(elements, -1, axis), np.moveaxis((scale[..., 0] + 127).astype(np.uint8), -1, axis)


def dequantised(elements, scales, axis):
    factor = np.ldexp(1.0, np.repeat(scales, 32, axis=axis).astype(np.int32) - 127)
    factor = np.take(factor, np.arange(elements.shape[axis]), axis=axis)
    return elements.astype(np.float64) * factor


def lacks(target, *dtypes):
    """float8_e4m3fn came with trn3."""
    return target != "trn3" and ml_dtypes.float8_e4m3fn in dtypes


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", MX)
@pytest.mark.parametrize("shape, axis", [((5, 70), -1), ((64, 3), 0), ((2, 33, 7), 1), ((1, 1), 0)])
def test_mx_quantise(target, dtype, shape, axis):
    print("KILN_SEED", SEED)
    x = sample(shape, BF16 if axis == 0 else np.float32)
    x.flat[0] = 0
    jitted = kiln.jit(lambda x: kn.mx_quantize(x, axis, dtype), target=target)
    if lacks(target, dtype):
        with pytest.raises(Exception, match=r"operand.R10"):
            jitted(x)
        return
    elements, scales = jitted(x)
    want, wanted_scales = quantised(x, axis, dtype)
    oracle = kiln.jit(lambda x: kn.mx_quantize(x, axis, dtype), backend="native")(x)
    np.testing.assert_array_equal(oracle[0].astype(np.float32), want.astype(np.float32))
    np.testing.assert_array_equal(oracle[1], wanted_scales)
    np.testing.assert_array_equal(scales, wanted_scales)
    np.testing.assert_array_equal(elements.astype(np.float32), want.astype(np.float32))
    back = kiln.jit(lambda e, s: kn.mx_dequantize(e, s, axis), target=target)(elements, scales)
    np.testing.assert_array_equal(back, dequantised(want, wanted_scales, axis).astype(np.float32))


def test_mx_of_numbers_that_have_no_scale():
    x = sample((4, 64))
    x[0, 5], x[1, 40], x[2, :32] = np.inf, np.nan, 0
    elements, scales = kiln.jit(kn.mx_quantize, target="trn3")(x)
    assert scales[0, 0] == 255 and scales[1, 1] == 255 and scales[2, 0] == 0
    assert np.isnan(elements[0, :32].astype(np.float32)).all() and np.isnan(elements[1, 32:].astype(np.float32)).all()
    assert (elements[2, :32] == 0).all() and np.isfinite(elements[3].astype(np.float32)).all()


def to_integers(x, scale, low, high, dtype):
    return np.clip(np.rint(x.astype(np.float32) / scale), low, high).astype(dtype)


def near_halves(rows, columns, rng):
    """Numbers and a scale for each row: quotients lie on halves and integers, or a few bits beside them."""
    scale = rng.uniform(1e-3, 30, (rows, 1)).astype(np.float32) * np.float32(2.0) ** rng.integers(-40, 40, (rows, 1))
    scale[::7] = 2.0 ** rng.integers(-20, 20, scale[::7].shape)
    quotient = rng.integers(-600, 601, (rows, columns)) / 2
    x = (quotient * scale.astype(np.float64)).astype(np.float32)
    steps = rng.integers(-3, 4, x.shape).astype(np.int32)
    return (x.view(np.int32) + np.where(x == 0, 0, steps)).view(np.float32), scale.astype(np.float32)


BOUNDS = [(-127, 127, np.int8), (0, 255, np.uint8), (-8, 7, np.int8), (-1000, 1000, np.int16), (-1000, 1000, np.int32),
          (-500, 500, np.float32), (-30000, 30000, np.int16), (-127, 127, BF16)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("low, high, dtype", BOUNDS)
@pytest.mark.parametrize("per_row", [True, False])
def test_quotients_near_halves(low, high, dtype, per_row, target):
    """Rounded as NumPy rounds what it divides, also where the last bit of the quotient decides."""
    print("KILN_SEED", SEED)
    rng = np.random.default_rng(SEED)
    x, scale = near_halves(137, 301, rng)
    if not per_row:
        scale = np.ascontiguousarray(np.broadcast_to(scale, x.shape))
    got = kiln.jit(lambda x, s: to_integers(x, s, low, high, dtype), target=target)(x, scale)
    np.testing.assert_array_equal(got, to_integers(x, scale, low, high, dtype))
    swapped = kiln.jit(lambda x, s: np.maximum(np.minimum(np.rint(x / s), high), low).astype(dtype), target=target)
    np.testing.assert_array_equal(swapped(x, scale), got)
    if np.dtype(dtype).itemsize == 1:  # without limits, where there is no need of them
        inside = np.where(np.abs(x / scale) < 127, x, 0)
        unlimited = kiln.jit(lambda x, s: np.rint(x / s).astype(dtype), target=target)
        inside = np.abs(inside) if dtype == np.uint8 else inside
        np.testing.assert_array_equal(unlimited(inside, scale), np.rint(inside / scale).astype(dtype))
        one_limit = kiln.jit(lambda x, s: np.minimum(np.rint(x / s), 3).astype(dtype), target=target)
        np.testing.assert_array_equal(one_limit(inside, scale), np.minimum(np.rint(inside / scale), 3).astype(dtype))


@pytest.mark.parametrize("target", TARGETS)
def test_quotients_that_are_no_numbers(target):
    """Where the divisor or what is divided is zero or infinite: limits, and what is no number, as NumPy has them."""
    numbers = np.float32([np.inf, -np.inf, 0, -0.0, 1, -1, 3e38, -3e38, 1e-30, np.nan])
    x, scale = np.tile(np.repeat(numbers, 20), (len(numbers), 1)), numbers[:, None]

    def limited(x, scale):
        return np.clip(np.rint(x / scale), -127, 127)

    with np.errstate(all="ignore"):
        want = limited(x, scale)
    np.testing.assert_array_equal(kiln.jit(limited, target=target)(x, scale), want)


@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_quantising_takes_few_passes(dtype):
    """The quotient is made right in seven, and nothing goes through HBM."""
    def by_rows(x):
        x = x.astype(np.float32)
        scale = np.abs(x).max(-1, keepdims=True) / 127
        return to_integers(x, scale, -127, 127, np.int8), scale

    def by_number(x):
        return np.clip(np.rint(x * 12.5), -128, 127).astype(np.int8)

    name = np.dtype(dtype).name
    assert kiln.jit(by_rows).lower(f"{name}[1024,2048]").report()["instructions_static"] <= 22
    wide = kiln.jit(by_rows).lower(f"{name}[300,16384]").report()
    assert wide["bytes_moved"] <= 1.1 * wide["bytes_compulsory"]
    assert kiln.jit(by_number).lower(f"{name}[1024,2048]").report()["instructions_static"] <= 5


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, k, n", [(1, 32, 1), (5, 70, 33), (130, 257, 600), (129, 1100, 31)])
def test_mx_products(target, m, k, n, tmp_path):
    print("KILN_SEED", SEED)
    x, y = sample((m, k), BF16, 3), sample((k, n), BF16, 3)
    dtype = MX[(m + n) % 2]

    def product(x, y):
        return kn.mx_matmul(x, y, dtype)

    low = kiln.jit(product).lower(x, y, target=target)
    assert ("nc_matmul_mx" in str(low.program)) == (target == "trn3")
    got = low(x, y)
    exact = dequantised(*quantised(x, 1, dtype), 1) @ dequantised(*quantised(y, 0, dtype), 0)
    magnitude = np.abs(dequantised(*quantised(x, 1, dtype), 1)) @ np.abs(dequantised(*quantised(y, 0, dtype), 0))
    assert (np.abs(got - exact) <= 2.0**-22 * k * magnitude + 1e-30).all()
    oracle = kiln.jit(product, backend="native")(x, y)
    assert (np.abs(oracle - exact) <= 2.0**-22 * k * magnitude + 1e-30).all()
    np.testing.assert_array_equal(emitted(low, tmp_path, x, y), got)


def emitted(low, folder, *arrays):
    """What the emitted source makes of the same arrays."""
    path = folder / "emitted.py"
    path.write_text(low.nki)
    spec = importlib.util.spec_from_file_location("emitted", path)
    module = importlib.util.module_from_spec(spec)
    kiln.activate()
    try:
        with chosen(low.target):
            spec.loader.exec_module(module)
            return kiln.nki.simulate(module.product)(*arrays)
    finally:
        kiln.deactivate()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", [(E4M3, E4M3), (BF16, E4M3), (ml_dtypes.float8_e5m2, np.float16),
                                   (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fn)])
def test_products_of_narrow_floats(target, types):
    print("KILN_SEED", SEED)
    x, y = sample((70, 130), types[0], 2), sample((130, 515), types[1], 2)
    if lacks(target, *types):
        with pytest.raises(Exception, match=r"operand.R10"):
            kiln.jit(lambda x, y: kn.matmul_f32(x, y), target=target)(x, y)
        return
    for turned in (False, True):
        b = np.ascontiguousarray(y.T) if turned else y
        got = kiln.jit(lambda x, y: kn.matmul_f32(x, y.T if turned else y), target=target)(x, b)
        exact = x.astype(np.float64) @ y.astype(np.float64)
        magnitude = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
        assert got.dtype == np.float32
        assert (np.abs(got - exact) <= 2.0**-22 * 130 * magnitude + 1e-30).all()


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_one_scale_for_many(axis):
    x = sample((40, 30))
    elements, scale = kn.quantize(x, E4M3, axis)
    want = np.abs(x).max(axis=axis, keepdims=axis is not None) / np.float32(240)
    np.testing.assert_allclose(scale, want, rtol=1e-6)
    back = kn.dequantize(elements, scale)
    assert (np.abs(back - x) <= np.abs(x) * 2.0**-4 + want * 2.0**-9).all()


def test_what_is_refused():
    x = sample((4, 64))
    for wrong in (lambda: kn.mx_quantize(x, dtype=E4M3), lambda: kn.matmul_f32(x, x.T.copy()),
                  lambda: kn.mx_matmul(x, sample((63, 4)))):
        with pytest.raises(Exception, match=r"numpy.R5|tensor.R"):
            wrong()
