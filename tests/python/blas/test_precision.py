"""Precisions of gemm: each keeps its bound, and a wanted error picks the cheapest one that does."""

import numpy as np
import pytest

from cases import assert_close, normal, rng, wide
from kiln import blas
from kiln.blas._native import NO_TRANS
from kiln.blas._precision import PRECISIONS, _cheapest, _predicted_ns

K = 300


def operands(dtype="float32"):
    r = rng()
    return normal(r, (70, K), dtype), normal(r, (K, 90), dtype)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bounds(precision):
    A, B = operands()
    got = blas.gemm(1.0, A, B, precision=precision, backend="simulator")
    last = blas.last_call()
    assert (last.precision, last.backend) == (precision, "simulator")
    assert last.error_bound == blas.error_bound(precision, K)
    exact = wide(A) @ wide(B)
    assert_close(got, exact, last.error_bound * (np.abs(wide(A)) @ np.abs(wide(B))), precision)
    if precision == "bf16":  # it is what it says: fp32 would be far better
        assert np.abs(got - exact).max() > 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize("dtype, wanted, enough", [
    ("float32", 1e-1, PRECISIONS), ("float32", 1e-4, ("fp32", "bf16x3", "bf16x6")),
    ("float32", 2e-5, ("fp32", "bf16x6")), ("float64", 1e-1, PRECISIONS), ("float64", 1e-9, ("fp64",))])
def test_a_wanted_error_is_kept(dtype, wanted, enough):
    A, B = operands(dtype)
    got = blas.gemm(1.0, A, B, target_forward_error=wanted, backend="simulator")
    last = blas.last_call()
    assert last.precision in enough and last.error_bound <= wanted
    scale = np.abs(wide(A)) @ np.abs(wide(B)) if last.precision != "fp64" else K * 16.0
    assert_close(got, wide(A) @ wide(B), wanted * scale, last.precision)
    assert got.dtype == dtype


def test_the_cheapest_is_the_one_predicted_to_be_fastest():
    for n in (100, 2048):
        times = {p: _predicted_ns(n, n, n, False, False, p, "trn2") for p in PRECISIONS}
        assert _cheapest(n, n, n, NO_TRANS, NO_TRANS, 1.0, 0.0) == min(times, key=times.get)
    assert _cheapest(2048, 2048, 2048, NO_TRANS, NO_TRANS, 1.0, 0.0) == "bf16"  # where products count, it is that


def test_what_cannot_be_promised_is_refused():
    A, B = operands()
    with pytest.raises(ValueError, match="^target_forward_error: 1e-09 is less than"):
        blas.gemm(1.0, A, B, target_forward_error=1e-9)
    for wrong in (0, -1, "small"):
        with pytest.raises(ValueError, match="^target_forward_error:"):
            blas.gemm(1.0, A, B, target_forward_error=wrong)
    with pytest.raises(ValueError, match="^precision:"):
        blas.gemm(1.0, A, B, precision="fp64")
    with pytest.raises(ValueError, match="^target_forward_error:"):
        blas.gemm(1.0, A, B, precision="fp32", target_forward_error=1e-3)
    blas.gemm(1.0, A, B)
    assert blas.last_call().precision is None
