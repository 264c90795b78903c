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


def well_conditioned(r, n):
    """A lower triangle whose inverse is moderate, float32."""
    return (np.tril(r.standard_normal((n, n)), -1) / n + np.diag(1 + r.random(n))).astype(np.float32)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("target", ["trn1", "trn2"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_bounds_of_other_products(precision, target, side):
    before = blas.get_target()
    blas.set_target(target)
    r = rng()
    n, m = 290, 70  # three panels, of which one is no whole one
    A = r.standard_normal((n, n)).astype(np.float32)
    L, B = well_conditioned(r, n), r.standard_normal((n, m) if side == "left" else (m, n)).astype(np.float32)
    multiply = (lambda x, y: x @ y) if side == "left" else (lambda x, y: y @ x)
    options = {"side": side, "uplo": "lower", "precision": precision, "backend": "simulator"}

    def check(error, size):
        last = blas.last_call()
        assert (last.precision, last.error_bound) == (precision, blas.error_bound(precision, n))
        assert_close(error, 0 * error, last.error_bound * size, last.operation)

    S, T = wide(np.tril(A) + np.tril(A, -1).T), wide(L)
    check(wide(blas.symm(1.0, A, B, **options)) - multiply(S, wide(B)), multiply(np.abs(S), np.abs(wide(B))))
    check(wide(blas.trmm(1.0, L, B, **options)) - multiply(T, wide(B)), multiply(np.abs(T), np.abs(wide(B))))
    X = wide(blas.trsm(1.0, L, B, **options))
    check(multiply(T, X) - wide(B), 2 * multiply(np.abs(T), np.abs(X)))  # float32 solves the blocks of the diagonal
    P = L @ L.T
    F = wide(blas.cholesky(P, precision=precision, backend="simulator"))
    check(F @ F.T - wide(P), 2 * np.abs(F) @ np.abs(F.T))
    blas.set_target(before)


def test_precisions_of_other_products_are_for_single_numbers():
    with pytest.raises(TypeError, match="^A: elements are float64"):
        blas.symm(1.0, np.eye(3), np.eye(3), precision="bf16")
    with pytest.raises(ValueError, match="^precision:"):
        blas.cholesky(np.eye(3, dtype=np.float32), precision="fp64")
