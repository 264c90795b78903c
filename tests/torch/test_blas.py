"""kiln.blas on torch tensors: the names and results of trnblas, gradients by routines."""

import importlib
import itertools
import sys

import ml_dtypes
import numpy as np
import pytest
import torch

from kiln import blas
from kiln.blas import nki
from kiln.blas.nki import dispatch

SEED = 20261116
BACKENDS = ("pytorch", "nki", "auto")


@pytest.fixture(params=BACKENDS)
def word(request, tmp_path, monkeypatch):
    monkeypatch.setenv("KILN_TUNE_CACHE", str(tmp_path / "tune.json"))
    torch.manual_seed(SEED)
    before = blas.get_backend()
    blas.set_backend(request.param)
    yield request.param
    blas.set_backend(before)


def close(got, want, atol=1e-3, rtol=1e-4):
    torch.testing.assert_close(got, want, atol=atol, rtol=rtol)


def test_trnblas_is_another_name_for_it(monkeypatch):
    for name in [n for n in sys.modules if n == "kiln.blas" or n.startswith("kiln.blas.")]:
        monkeypatch.setitem(sys.modules, "trnblas" + name[len("kiln.blas"):], sys.modules[name])
    trnblas = importlib.import_module("trnblas")
    assert importlib.import_module("trnblas.nki.dispatch") is dispatch and trnblas.HAS_NKI
    for name in ("axpy", "dot", "nrm2", "scal", "asum", "iamax", "gemv", "symv", "trmv", "ger", "gemm", "batched_gemm",
                 "symm", "syrk", "trsm", "trmm", "set_backend", "get_backend"):
        assert callable(getattr(trnblas, name))


@pytest.mark.parametrize("m, k, n", [(128, 128, 128), (256, 128, 512), (200, 137, 400), (137, 128, 256),
                                     (300, 250, 175)])
def test_kernels_of_products(word, m, k, n):
    A, B = torch.randn(m, k), torch.randn(k, n)
    close(nki.nki_gemm(A, B), A @ B)
    assert blas.last_call().backend == ("simulator" if word == "nki" else "native")
    close(nki.nki_syrk(A), A @ A.T)
    L = torch.linalg.cholesky(A @ A.T + m * torch.eye(m))
    close(L @ nki.nki_trsm(L, torch.ones(m, 3), uplo="lower"), torch.ones(m, 3), rtol=1e-3)
    stack = torch.randn(4, m, k)
    close(nki.nki_batched_gemm(stack, B.expand(4, k, n)), stack @ B)
    assert torch.equal(nki.nki_gemm(torch.zeros(m, k), B), torch.zeros(m, n))


@pytest.mark.parametrize("o, v, x", [(3, 8, 16), (2, 200, 137), (2, 144, 128)])
def test_kernels_of_energies(word, o, v, x):
    B = 0.1 * torch.randn(o, v, x)
    occ, vir = torch.linspace(-1.0, -0.2, o), torch.linspace(0.2, 1.0, v)
    flat = B.reshape(o * v, x)
    T = flat @ flat.T
    close(nki.nki_mp2_energy(T[:v], occ[:1], occ, vir), dispatch._torch_mp2_energy(T[:v], occ[:1], occ, vir), rtol=1e-3)
    close(nki.nki_batched_pair_energy(B, occ, vir), dispatch._torch_batched_pair_energy(B, occ, vir), rtol=1e-3)
    pair = nki.nki_fused_gemm_energy(B[0], B[1], float(occ[0]), float(occ[1]), vir)
    close(pair, dispatch._torch_fused_pair_energy(B[0], B[1], occ[0], occ[1], vir), rtol=1e-3)
    assert nki.nki_fused_gemm_energy(0 * B[0], B[1], 1.0, 1.0, 0.4 * vir).item() == 0


def test_the_autotuner(monkeypatch, tmp_path):
    monkeypatch.setattr(dispatch, "_AUTOTUNE_CACHE_FILE", tmp_path / "cache.json")
    monkeypatch.setattr(dispatch, "_autotune_mem", {})
    monkeypatch.setattr(dispatch, "_autotune_loaded", False)
    sweeps, sweep = [], dispatch._sweep_on_default_pad
    monkeypatch.setattr(dispatch, "_sweep_on_default_pad", lambda *args: sweeps.append(args) or sweep(*args))
    A, B = torch.randn(250, 128), torch.randn(128, 256)
    with blas._backend.scope("nki"):
        for _ in range(2):
            close(nki.nki_gemm(A, B), A @ B)
        bucket = dispatch._autotune_bucket(250, 128, 256)
        winner = dispatch._autotune_mem[bucket]
        assert len(sweeps) == 1 and winner in dispatch._TILE_CANDIDATES
        dispatch._autotune_mem.clear()
        dispatch._load_autotune_cache()
        assert dispatch._autotune_mem[bucket] == winner
        monkeypatch.setenv("TRNBLAS_AUTOTUNE", "0")
        close(nki.nki_gemm(torch.randn(30, 20), torch.randn(20, 10)).shape, (30, 10))
        assert len(sweeps) == 1
        for tile in dispatch._TILE_CANDIDATES:
            (a, b), device = dispatch._to_xla(A, B)
            close(dispatch._get_gemm_kernel(*tile)(a, b).to(device), A @ B)
        blas.tuning.set_gemm_block(250, 128, 256, None)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
def test_dtypes_are_kept(dtype):
    A, B = torch.randn(20, 30).to(dtype), torch.randn(30, 10).to(dtype)
    got = blas.gemm(1.0, A, B)
    assert isinstance(got, torch.Tensor) and got.dtype == dtype
    tolerance = 0.1 if dtype in (torch.float16, torch.bfloat16) else 1e-4
    close(got, A @ B, atol=tolerance, rtol=tolerance)
    assert blas.nrm2(A).dtype == (torch.float32 if dtype == torch.complex64 else dtype)
    close(blas.gemm(1.0, A.T, A), A.T @ A, atol=tolerance, rtol=tolerance)
    if dtype == torch.bfloat16:
        assert blas.gemm(1.0, np.ones((2, 2), ml_dtypes.bfloat16), np.ones((2, 2), ml_dtypes.bfloat16)).dtype == (
            ml_dtypes.bfloat16)


# name, routine, the same in torch, shapes
def _sym(a, uplo):
    return a.triu() + a.triu(1).T if uplo == "upper" else a.tril() + a.tril(-1).T


def _tri(a, uplo, trans, diag):
    strict = 1 if diag == "unit" else 0
    out = a.triu(strict) if uplo == "upper" else a.tril(-strict)
    out = out + strict * torch.eye(len(a), dtype=a.dtype)
    return out.T if trans else out


def cases():
    n = 9
    yield "axpy", lambda x, y: blas.axpy(2.0, x, y), lambda x, y: 2 * x + y, [(n,), (n,)]
    yield "scal", lambda x: blas.scal(2.0, x), lambda x: 2 * x, [(n,)]
    yield "dot", blas.dot, lambda x, y: x @ y, [(n,), (n,)]
    yield "nrm2", blas.nrm2, lambda x: x.norm(), [(n,)]
    yield "asum", blas.asum, lambda x: x.abs().sum(), [(n,)]
    yield "ger", lambda x, y, a: blas.ger(2.0, x, y, a), lambda x, y, a: 2 * torch.outer(x, y) + a, [(n,), (4,), (n, 4)]
    for ta, tb in itertools.product((False, True), repeat=2):
        shapes = [(6, 7) if ta else (7, 6), (4, 6) if tb else (6, 4), (7, 4)]
        yield (f"gemm {ta} {tb}", lambda a, b, c, ta=ta, tb=tb: blas.gemm(2.0, a, b, 0.5, c, transA=ta, transB=tb),
               lambda a, b, c, ta=ta, tb=tb: 2 * (a.T if ta else a) @ (b.T if tb else b) + 0.5 * c, shapes)
        yield (f"batched {ta} {tb}", lambda a, b, ta=ta, tb=tb: blas.batched_gemm(2.0, a, b, transA=ta, transB=tb),
               lambda a, b, ta=ta, tb=tb: 2 * (a.mT if ta else a) @ (b.mT if tb else b),
               [(3, *shapes[0]), (3, *shapes[1])])
    for t in (False, True):
        yield f"gemv {t}", lambda a, x, t=t: blas.gemv(2.0, a, x, trans=t), lambda a, x, t=t: 2 * (
            a.T if t else a) @ x, [(n, n), (n,)]
        yield (f"syrk {t}", lambda a, c, t=t: blas.syrk(2.0, a, 0.5, c, trans=t),
               lambda a, c, t=t: 2 * (a.T @ a if t else a @ a.T) + 0.25 * (c + c.T), [(n, n), (n, n)])
    for u, side in itertools.product(("upper", "lower"), ("left", "right")):
        b = (n, 5) if side == "left" else (5, n)
        yield (f"symm {u} {side}", lambda a, b, u=u, s=side: blas.symm(2.0, a, b, side=s, uplo=u),
               lambda a, b, u=u, s=side: 2 * (_sym(a, u) @ b if s == "left" else b @ _sym(a, u)), [(n, n), b])
        for t, d in itertools.product((False, True), ("nonunit", "unit")):
            yield (f"trmm {u} {side} {t} {d}",
                   lambda a, b, u=u, s=side, t=t, d=d: blas.trmm(1.5, a, b, side=s, uplo=u, trans=t, diag=d),
                   lambda a, b, u=u, s=side, t=t, d=d: 1.5 * (
                       _tri(a, u, t, d) @ b if s == "left" else b @ _tri(a, u, t, d)), [(n, n), b])
            yield (f"trsm {u} {side} {t} {d}",
                   lambda a, b, u=u, s=side, t=t, d=d: blas.trsm(1.5, a, b, side=s, uplo=u, trans=t, diag=d),
                   lambda a, b, u=u, s=side, t=t, d=d: 1.5 * (
                       torch.linalg.solve(_tri(a, u, t, d), b) if s == "left"
                       else torch.linalg.solve(_tri(a, u, t, d).T, b.T).T), [(n, n), b])
    for u in ("upper", "lower"):
        yield f"symv {u}", lambda a, x, u=u: blas.symv(2.0, a, x, uplo=u), lambda a, x, u=u: 2 * _sym(a, u) @ x, [
            (n, n), (n,)]
        yield f"cholesky {u}", lambda a, u=u: blas.cholesky(a, uplo=u), lambda a, u=u: (
            torch.linalg.cholesky(_sym(a, u)) if u == "lower" else torch.linalg.cholesky(_sym(a, u)).T), [(n, n)]


CASES = list(cases())


@pytest.mark.parametrize("backend", ["native", "simulator"])
@pytest.mark.parametrize("name, routine, reference, shapes", CASES, ids=[c[0] for c in CASES])
def test_gradients(name, routine, reference, shapes, backend):
    torch.manual_seed(SEED)
    values = [torch.randn(s) for s in shapes]
    if name.split()[0] in ("trsm", "trmm", "cholesky"):
        values[0] = values[0] / 9 + 2 * torch.eye(9)
    if name.startswith("cholesky"):
        values[0] = values[0] + values[0].T + 4 * torch.eye(9)
    mine = [v.clone().requires_grad_() for v in values]
    theirs = [v.double().requires_grad_() for v in values]
    with blas._backend.scope(backend):
        got = routine(*mine)
    want = reference(*theirs)
    close(got.double(), want, rtol=1e-4)
    weights = torch.randn_like(got)
    found = torch.autograd.grad(got, mine, weights)  # outside of the with statement: on the backend of the call
    assert blas.last_call().backend == backend
    for one, other in zip(found, torch.autograd.grad(want, theirs, weights.double())):
        close(one.double(), other, rtol=1e-3)
