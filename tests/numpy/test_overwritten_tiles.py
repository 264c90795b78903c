"""Values that are made of parts of themselves, and long columns: against NumPy, on every chip and level."""
import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

EVERYWHERE = pytest.mark.parametrize("target, opt", [(t, o) for t in ("trn1", "trn2", "trn3") for o in (1, 2)])


def same(f, *arrays, **options):
    got, want = kiln.jit(f, **options)(*(a.copy() for a in arrays)), f(*arrays)
    for mine, numpys in zip(got, want, strict=True):
        assert mine.dtype == numpys.dtype
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(numpys))


def integers(*shape):
    return np.random.default_rng([SEED, *shape]).integers(-3, 4, shape)


@EVERYWHERE
def test_a_column_of_itself_is_added_and_all_is_rounded(target, opt):
    same(lambda x: ((x + x[:, 26, None]).astype(np.int32),), integers(256, 130).astype(np.float32), target=target,
         opt=opt)
    same(lambda x: (np.abs(x + x[:, :1]), np.sign(x + x[:, :1]), np.exp(0 * (x + x[:, :1]))),
         integers(200, 33).astype(np.float32), target=target, opt=opt)
    same(lambda x: (np.abs(x * 2 + x.max(1, keepdims=True)), np.tanh(0 * x) + (x * 2 + x.max(1, keepdims=True))),
         integers(200, 33).astype(np.float32), target=target, opt=opt)


@EVERYWHERE
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_an_element_of_the_sum_is_added_to_it(target, opt, dtype):
    def twice(x):
        first = x + x[3, None]
        second = first + first[2, None]
        return second, np.where(first > 0, first, 0), second * second[1]

    same(twice, integers(5).astype(dtype), target=target, opt=opt)
    same(lambda x: twice(x.T), integers(40, 7).astype(dtype), target=target, opt=opt)


@pytest.mark.parametrize("function", [np.sum, np.max, np.mean, np.any, np.prod])
@pytest.mark.parametrize("shape, axes", [((100000, 1), 0), ((512, 255, 1), (0, 1)), ((2, 512, 255, 1, 1), (1, 2)),
                                         ((3000, 1), (0,)), ((1, 600, 300, 1), (1, 2))])
def test_long_columns(function, shape, axes):
    x = np.ones(shape, np.float32) if function is np.prod else np.abs(integers(*shape)).astype(np.float32)
    for keepdims in (False, True):
        got = kiln.jit(lambda x: function(x, axis=axes, keepdims=keepdims))(x)  # noqa: B023
        want = function(x, axis=axes, keepdims=keepdims)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-6)
