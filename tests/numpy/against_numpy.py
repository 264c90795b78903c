"""A function, run by NumPy and by kiln.jit on copies of the same arguments: the same results, dtypes, shapes, and the
same arguments afterwards. 64 bits of NumPy are 32 here."""

import copy
import os

import ml_dtypes
import numpy as np

import kiln

SEED = int(os.environ["KILN_SEED"])
_NARROW = {np.dtype(a): np.dtype(b) for a, b in
           ((np.float64, np.float32), (np.int64, np.int32), (np.uint64, np.uint32))}
_TOLERANCE = {np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}
FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int32, np.int8, np.uint8, np.int16, np.uint16, np.uint32]
DTYPES = [*FLOATS, *INTEGERS, np.bool_]


def narrow(x):
    x = np.asarray(x)
    return x.astype(_NARROW.get(x.dtype, x.dtype))


def same(got, want, loose=1):
    """Whether a result is NumPy's."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w, loose)
        return
    if want is None:
        assert got is None
        return
    want, got = narrow(want), np.asarray(got) if hasattr(got, "dtype") else narrow(got)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    exact, ours = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(exact)
    scale = float(np.max(np.abs(exact[finite]), initial=0))
    rtol = _TOLERANCE[want.dtype] * loose
    np.testing.assert_allclose(ours, exact, rtol=rtol, atol=rtol * max(min(scale, 10), 1e-3), equal_nan=True)


def check(function, *args, loose=1, **options):
    """kiln.jit(function) gives what the function gives; where NumPy raises, so does it."""
    plain, ours = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        try:
            want = function(*plain)
        except (TypeError, ValueError, IndexError, OverflowError, np.linalg.LinAlgError) as error:
            try:
                kiln.jit(function, **options)(*ours)
            except (TypeError, ValueError, IndexError, OverflowError, AssertionError, np.linalg.LinAlgError):
                return
            raise AssertionError(f"NumPy raises {error!r}, kiln.jit does not") from error
        got = kiln.jit(function, **options)(*ours)
    same(got, want, loose)
    for g, w in zip(ours, plain):
        if isinstance(w, np.ndarray):
            same(g, w, loose)


def sample(dtype, shape, seed=0, special=True):
    """Elements of both signs, with NaN, infinities and zeros of both signs among floats."""
    random = np.random.default_rng([SEED, seed])
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "u":
        return random.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "i":
        return random.integers(-100, 100, shape).astype(dtype)
    x = (random.normal(size=shape) * 3).astype(dtype)
    if special and x.size > 10:
        x.reshape(-1)[:7] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1]
    return x
