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
