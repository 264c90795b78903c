"""sum, max, min, prod, mean, var, all; softmax, rms_norm, dropout; rand."""

import ml_dtypes
import numpy as np
import pytest
from scipy import special

from kernels import close, lowering, refused, run, run_kernel, same
from kiln import nki
from kiln.nki import language as nl

# On trn3 the effect of a seed is not documented, and the simulator says so.
pytestmark = pytest.mark.filterwarnings("ignore:.*set_rng_seed.R2")

SHAPES = [((7, 33), 1, (1,)), ((128, 5), -1, (1,)), ((9, 4, 6), 2, (2,)), ((9, 4, 6), [1, 2], (1, 2)),
          ((3, 2, 3, 4, 5), (3, 4), (3, 4)), ((5, 1), [1], (1,)), ((4, 2, 3), (-1, -2), (1, 2))]


def kept(want, axes, keepdims, rank):
    """Tiles keep two dimensions."""
    if keepdims or rank - len(axes) > 1:
        return want
    return want.reshape(want.shape[0], 1)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape, axis, axes", SHAPES)
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean"])
def test_values(target, rng, float_dtype, name, shape, axis, axes, keepdims):
    x = rng.uniform(0.5, 1.5, shape).astype(float_dtype)
    want = getattr(np, name)(x.astype(np.float64), axis=axes, keepdims=keepdims)
    got = run(lambda t: getattr(nl, name)(t, axis=axis, keepdims=keepdims), x)
    assert got.dtype == float_dtype
    close(got, kept(want, axes, keepdims, len(shape)), rtol=1e-5)
    wide = run(lambda t: getattr(nl, name)(t, axis, dtype=nl.float32), x)
    assert wide.dtype == np.float32
    close(wide, kept(getattr(np, name)(x.astype(np.float64), axis=axes), axes, False, len(shape)), rtol=1e-5)


@pytest.mark.parametrize("shape, axis, axes", SHAPES)
def test_var_keeps_its_dimensions(target, rng, shape, axis, axes):
    x = (rng.standard_normal(shape) + 10).astype(np.float32)
    for keepdims in (False, True):
        got = run(lambda t: nl.var(t, axis, keepdims=keepdims), x)
        close(got, np.var(x.astype(np.float64), axis=axes, keepdims=True), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize("shape, axis, axes", SHAPES)
def test_all(rng, shape, axis, axes, dtype):
    x = (rng.random(shape) < 0.9).astype(dtype)
    got = run(lambda t: nl.all(t, axis), 3 * x if shape[-1] == 1 else x)
    same(got, kept(np.all(x, axis=axes).astype(dtype), axes, False, len(shape)))


def test_integers(rng):
    x = rng.integers(-1000, 1000, (9, 40)).astype(np.int32)
    same(run(lambda t: nl.sum(t, axis=1), x), x.sum(1, keepdims=True, dtype=np.int32))
    same(run(lambda t: nl.max(t, axis=1), x), x.max(1, keepdims=True))


def test_nan_wins_a_maximum(target):
    x = np.array([[1, np.nan, 3], [-np.inf, 2, -0.0]], np.float32)
    same(run(lambda t: nl.max(t, axis=1), x), x.max(1, keepdims=True))
    same(run(lambda t: nl.min(t, axis=1), x), x.min(1, keepdims=True))


def test_one_instruction_each():
    x = np.ones((3, 4), np.float32)
    for name in ("sum", "max", "min", "prod", "all"):
        assert lowering(lambda t: getattr(nl, name)(t, 1), x) == ["tensor_reduce"]


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean", "var", "all", "softmax"])
@pytest.mark.parametrize("axis", [0, (0, 1), 1, [2, 2], 3, -4, ()])
def test_axes_that_are_no_suffix(name, axis):
    refused("nki.R30", lambda t: getattr(nl, name)(t, axis), np.ones((3, 4, 5), np.float32), help="suffix")
    refused("nki.R27", lambda t: getattr(nl, name)(1.0, 1), np.ones((3, 4, 5), np.float32))


@pytest.mark.parametrize("shape, axis, axes", SHAPES)
def test_softmax(target, rng, float_dtype, shape, axis, axes):
    x = (3 * rng.standard_normal(shape)).astype(float_dtype)
    want = special.softmax(x.astype(np.float64), axis=axes)
    close(run(lambda t: nl.softmax(t, axis), x), want, rtol=1e-5, atol=1e-6)
    close(run(lambda t: nl.softmax(t, axis, dtype=nl.float32), x), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("compute_dtype", [None, "float32"])
def test_rms_norm(target, rng, float_dtype, compute_dtype):
    x, w = (rng.standard_normal((30, 64)).astype(float_dtype) for _ in range(2))
    double = x.astype(np.float64)
    want = double / np.sqrt((double**2).sum(1, keepdims=True) / 64 + 1e-6) * w.astype(np.float64)
    close(run(lambda a, b: nl.rms_norm(a, b, axis=[1], n=64, compute_dtype=compute_dtype), x, w), want, 1e-5, 2e-3)
    close(run(lambda a, b: nl.rms_norm(a, b, 1, 64, 0.5, dtype=nl.float32), x, w),
          double / np.sqrt((double**2).mean(1, keepdims=True) + 0.5) * w.astype(np.float64), 1e-5, 1e-5)
    refused("nki.R28", lambda a, b: nl.rms_norm(a, b[0:1], 1, 64), x, w, help="nl.broadcast_to")


def test_dropout(target, rng):
    x = rng.uniform(1, 2, (128, 400)).astype(np.float32)
    got = run(lambda t: nl.dropout(t, 0.3), x)
    assert ((got == 0) | (got == x)).all() and abs((got == 0).mean() - 0.3) < 0.02
    same(run(lambda t: nl.dropout(t, 0.0), x), x)
    rate = np.linspace(0, 1, 128, dtype=np.float32).reshape(128, 1)
    got = run(nl.dropout, x, rate)
    assert (got[0] == x[0]).all() and (got[-1] == 0).all() and abs((got == 0).mean() - 0.5) < 0.02
    assert run(lambda t: nl.dropout(t, 0.5, dtype=nl.bfloat16), x).dtype == ml_dtypes.bfloat16
    refused("nki.R27", lambda t: nl.dropout(t, "0.5"), x)


def seeded(shape, dtype, buffer=nl.sbuf, seed=42):
    def kernel():
        nl.random_seed(nl.full((1, 1), seed, nl.int32))
        numbers = nl.rand(shape, dtype, buffer=buffer)
        if buffer == nl.shared_hbm:
            return numbers
        out = nl.ndarray(shape, dtype, buffer=nl.shared_hbm)
        nl.store(out, numbers)
        return out

    return nki.simulate(kernel)()


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.shared_hbm])
def test_rand(target, float_dtype, buffer):
    x = seeded((100, 500), float_dtype.name, buffer).astype(np.float64)
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.mean() - 0.5) < 0.01 and abs(x.var() - 1 / 12) < 0.005
    # Neighbours, rows and columns are independent.
    flat = x.reshape(-1)
    for a, b in ((flat[1:], flat[:-1]), (x[1:].ravel(), x[:-1].ravel())):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.03


def test_large_random_tensors_in_hbm_do_not_repeat(target):
    x = seeded((3, 128 * 4096), "float32", nl.shared_hbm)
    assert len(np.unique(x)) > 0.9 * x.size


def test_a_seed_repeats_the_numbers(target):
    same(seeded((5, 9), "float32"), seeded((5, 9), "float32"))
    assert (seeded((5, 9), "float32") != seeded((5, 9), "float32", seed=7)).any()


@pytest.mark.parametrize("axis", [None, "1", 1.0, [None]])
def test_an_axis_is_an_int(axis):
    refused("nki.R30", lambda t: nl.sum(t, axis=axis), np.ones((3, 4), np.float32), help="ints")


def test_an_axis_of_numpy():
    x = np.ones((3, 4), np.float32)
    same(run(lambda t: nl.sum(t, axis=np.int64(1)), x), x.sum(1, keepdims=True))


def test_rand_and_random_seed_refuse():
    x = np.ones((3, 4), np.float32)
    refused("nki.R33", lambda t: nl.rand((3, 4), nl.int32), x)
    refused("nki.R33", lambda t: nl.random_seed(42), x, help="nl.full((1, 1), 42, nl.int32)")
    refused("nki.R32", lambda t: nl.random_seed(t), x)


def test_a_seed_of_the_caller(target):
    def kernel(seed):
        nl.random_seed(nl.load(seed))
        out = nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.rand((4, 4), nl.float32))
        return out

    same(run_kernel(kernel, np.array([[42]], np.int32)), seeded((4, 4), "float32"))
