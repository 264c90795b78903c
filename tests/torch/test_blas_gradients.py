"""Gradients of every routine of kiln.blas: float64 against differences (torch.autograd.gradcheck), and the same in
float32 by the kernels, on the simulator, against those in float64."""

import inspect
import itertools
import os

import pytest
import torch

from kiln import blas
from kiln.blas import _backend, _gradients

SEED = int(os.environ["KILN_SEED"])
N = 5
WITHOUT = {"iamax"}  # an index


def _band(*shape):
    return ("band", *shape)


def _triangular(*shape):
    return ("triangular", *shape)


def cases():
    """(routine, arguments that are shapes or factors, other arguments, which kinds of numbers it takes)"""
    n, triangle = N, N * (N + 1) // 2
    for name in ("copy", "nrm2", "asum"):
        yield name, {"x": (n,)}, {}, "both"
    for name in ("dot", "dotu", "dotc", "swap"):
        yield name, {"x": (n,), "y": (n,)}, {}, "both"
    yield "scal", {"alpha": 1.5, "x": (n,)}, {}, "both"
    yield "axpy", {"alpha": 1.5, "x": (n,), "y": (n,)}, {}, "both"
    yield "rot", {"x": (n,), "y": (n,), "c": 0.6, "s": 0.8}, {}, "real factors"
    yield "rotg", {"a": 0.3, "b": -0.7}, {}, "both"
    yield "rotg", {"a": 0.8, "b": -0.7}, {}, "both"
    for d1, d2, x1, y1 in ((1.2, 0.7, 0.9, 0.4), (0.7, 1.2, 0.4, -0.9), (3e7, 7e7, 0.9, 0.4)):
        yield "rotmg", {"d1": d1, "d2": d2, "x1": x1, "y1": y1}, {}, "real"
    for flag in (-2.0, -1.0, 0.0, 1.0):
        yield "rotm", {"x": (n,), "y": (n,)}, {"param": [flag, 0.5, -0.3, 0.7, 1.2]}, "real"
    for name in ("ger", "geru", "gerc"):
        yield name, {"alpha": 1.5, "x": (n,), "y": (4,), "A": (n, 4)}, {}, "both"
    for t in ("N", "T", "C"):
        x, y = ((4,), (n,)) if t == "N" else ((n,), (4,))
        yield "gemv", {"alpha": 1.5, "A": (n, 4), "x": x, "beta": 0.5, "y": y}, {"trans": t}, "both"
        yield ("gbmv", {"alpha": 1.5, "AB": (n, 5), "x": x, "beta": 0.5, "y": y},
               {"trans": t, "n": 4, "kl": 1, "ku": 2}, "both")
    for u in ("upper", "lower"):
        yield from _of_triangles(n, triangle, u)
    for ta, tb in itertools.product("NTC", repeat=2):
        shapes = {"A": (3, 4) if ta == "N" else (4, 3), "B": (4, 2) if tb == "N" else (2, 4)}
        yield "gemm", {"alpha": 1.5, **shapes, "beta": 0.5, "C": (3, 2)}, {"transA": ta, "transB": tb}, "both"
        stacks = {name: (2, *shape) for name, shape in shapes.items()}
        yield ("batched_gemm", {"alpha": 1.5, **stacks, "beta": 0.5, "C": (2, 3, 2)}, {"transA": ta, "transB": tb},
               "both")
        if "N" in (ta, tb):
            square = {"A": (3, 4) if ta == "N" else (4, 3), "B": (4, 3) if tb == "N" else (3, 4)}
            yield ("gemmt", {"alpha": 1.5, **square, "beta": 0.5, "C": (3, 3)},
                   {"transA": ta, "transB": tb, "uplo": "lower" if ta == "N" else "upper"}, "both")
    yield "batched_gemm", {"alpha": 1.5, "A": (2, 3, 4), "B": (4, 2)}, {}, "both"
    yield "mp2_energy", {"B": (2, 3, 4), "eps_occ": ("occupied", 2), "eps_vir": ("virtual", 3)}, {}, "real"


def _of_triangles(n, triangle, u):
    word, square = {"uplo": u}, {"A": (n, n)}
    vectors = {"x": (n,), "y": (n,)}
    product = {"alpha": 1.5, "x": (n,), "beta": 0.5, "y": (n,)}
    for name, kind in (("symv", "real"), ("hemv", "complex")):
        yield name, {**product, **square}, word, kind
        yield {"symv": "sbmv", "hemv": "hbmv"}[name], {**product, "AB": (n, 4)}, {**word, "k": 2}, kind
        yield {"symv": "spmv", "hemv": "hpmv"}[name], {**product, "AP": (triangle,)}, word, kind
    for name, kind in (("syr", "real"), ("her", "real factors only")):
        yield name, {"alpha": 1.5, "x": (n,), **square}, word, kind
        yield {"syr": "spr", "her": "hpr"}[name], {"alpha": 1.5, "x": (n,), "AP": (triangle,)}, word, kind
    for name, kind in (("syr2", "real"), ("her2", "complex")):
        yield name, {"alpha": 1.5, **vectors, **square}, word, kind
        yield {"syr2": "spr2", "her2": "hpr2"}[name], {"alpha": 1.5, **vectors, "AP": (triangle,)}, word, kind
    for t, d in itertools.product("NTC", ("nonunit", "unit")):
        options = {**word, "trans": t, "diag": d}
        for kind, values in (("tr", {"A": _triangular(n, n)}), ("tb", {"AB": _band(n, 3, u)}),
                             ("tp", {"AP": ("packed", n, u)})):
            yield kind + "mv", {**values, "x": (n,)}, options, "both"
            yield kind + "sv", {**values, "x": (n,)}, options, "both"
        for name, side in itertools.product(("trmm", "trsm"), ("left", "right")):
            shape = (n, 3) if side == "left" else (3, n)
            yield name, {"alpha": 1.5, "A": _triangular(n, n), "B": shape}, {**options, "side": side}, "both"
    for side in ("left", "right"):
        for name in ("symm", "hemm"):
            shape = (n, 3) if side == "left" else (3, n)
            yield (name, {"alpha": 1.5, **square, "B": shape, "beta": 0.5, "C": shape}, {**word, "side": side}, "both")
    for t, full in itertools.product((False, True), repeat=2):
        options, shapes = {**word, "trans": t, "full": full}, {"beta": 0.5, "C": (n, n)}
        yield "syrk", {"alpha": 1.5, "A": (n, n), **shapes}, options, "both"
        yield "syr2k", {"alpha": 1.5, "A": (n, n), "B": (n, n), **shapes}, options, "both"
        yield "herk", {"alpha": 1.5, "A": (n, n), **shapes}, options, "real factors"
        yield "her2k", {"alpha": 1.5, "A": (n, n), "B": (n, n), **shapes}, options, "real beta"
    yield "cholesky", {"A": ("definite", n)}, word, "real"


CASES = [(name, values, others, dtype) for name, values, others, kind in cases()
         for dtype in {"real": ("real",), "complex": ("complex",), "real factors only": ("complex",)}.get(
             kind, ("real", "complex"))]
REAL_FACTORS = {name: kind for name, _, _, kind in cases() if kind.startswith("real ")}


def _tensor(shape, dtype, is_factor):
    if isinstance(shape, float):
        return torch.tensor(shape, dtype=dtype if is_factor else dtype.to_real())
    if not isinstance(shape[0], str):
        return torch.randn(*shape, dtype=dtype)
    kind, *sizes = shape
    if kind == "triangular":
        return torch.randn(*sizes, dtype=dtype) / 9 + 2 * torch.eye(sizes[0], dtype=dtype)
    if kind == "band":
        n, width, uplo = sizes
        band = torch.randn(n, width, dtype=dtype) / 9
        band[:, 0 if uplo == "upper" else width - 1] += 2
        return band
    if kind == "packed":
        n, uplo = sizes
        rows, columns = torch.triu_indices(n, n) if uplo == "upper" else torch.tril_indices(n, n)
        return torch.randn(len(rows), dtype=dtype) / 9 + 2 * (rows == columns)
    if kind == "definite":
        return torch.randn(sizes[0], sizes[0], dtype=dtype) / 9 + 4 * torch.eye(sizes[0], dtype=dtype)
    return {"occupied": -1 - torch.rand(sizes[0], dtype=dtype), "virtual": 1 + torch.rand(sizes[0], dtype=dtype)}[kind]


def _arguments(name, values, dtype):
    torch.manual_seed(SEED)
    real = REAL_FACTORS.get(name, "")
    kept = {"": set(), "real factors": {"alpha", "beta", "c", "s"}, "real factors only": {"alpha"},
            "real beta": {"beta"}}[real]
    return {key: _tensor(shape, dtype, key not in kept).requires_grad_() for key, shape in values.items()}


@pytest.mark.parametrize("name, values, others, kind", CASES, ids=[
    " ".join([c[0], c[3], *map(str, c[2].values())]) for c in CASES])
def test_gradients(name, values, others, kind):
    routine = getattr(blas, name)
    wide = _arguments(name, values, torch.float64 if kind == "real" else torch.complex128)
    assert torch.autograd.gradcheck(lambda *tensors: routine(**dict(zip(wide, tensors)), **others),
                                    tuple(wide.values()))
    narrow = {key: v.detach().to(torch.complex64 if v.is_complex() else torch.float32).requires_grad_()
              for key, v in wide.items()}
    exact, found = _all(routine, wide, others, "native"), _all(routine, narrow, others, "simulator")
    for key, want, got in zip(wide, exact, found):
        size = want.abs().max().item() + 1
        assert (got.to(want.dtype) - want).abs().max() < 2e-5 * size, key


def _all(routine, arguments, others, backend):
    """Gradients of a weighed sum of the results by all arguments."""
    results = routine(**arguments, **others, backend=backend)
    results = results if isinstance(results, tuple) else (results,)
    total = sum((r * w).real.sum() for r, w in zip(results, (0.5, -1.5, 0.7, 0.2)))
    return torch.autograd.grad(total, list(arguments.values()))


def test_every_routine_is_here():
    routines = {name for module in (blas.level1, blas.level2, blas.band, blas.level3, blas.mp2)
                for name, value in vars(module).items()
                if inspect.isfunction(value) and value is vars(blas).get(name)
                and "backend" in inspect.signature(value).parameters}
    tested = {name for name, *_ in CASES} | {"dsdot", "sdsdot", "gemm_batched", "gemmtr", "mp2_pair_energy",
                                             "mp2_reduce"}
    assert routines - tested == WITHOUT
    assert all(_gradients.gradient_of(name) for name in tested - {"gemmtr", "gemm_batched"})


def test_sums_in_double():
    torch.manual_seed(SEED)
    x, y = (torch.randn(N, requires_grad=True) for _ in range(2))
    alpha = torch.tensor(0.5, requires_grad=True)
    for result in (blas.dsdot(x, y), blas.sdsdot(alpha, x, y)):
        found = torch.autograd.grad(result * 2, (x, y))
        torch.testing.assert_close(found, (2 * y, 2 * x))
    assert torch.autograd.grad(blas.sdsdot(alpha, x, y), alpha)[0] == 1


def test_lists_of_matrices():
    torch.manual_seed(SEED)
    matrices = [torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(6)]
    assert torch.autograd.gradcheck(
        lambda *m: torch.stack(blas.gemm_batched(1.5, m[:2], m[2:4], 0.5, m[4:], transA=True)), matrices)


@pytest.mark.parametrize("name", ["mp2_pair_energy", "mp2_reduce"])
def test_energies(name):
    torch.manual_seed(SEED)
    occ, vir = -1 - torch.rand(2, dtype=torch.float64), 1 + torch.rand(3, dtype=torch.float64)
    if name == "mp2_reduce":
        inputs = (torch.randn(6, 6, dtype=torch.float64), occ, occ.clone(), vir)
    else:
        inputs = (*torch.randn(2, 3, 4, dtype=torch.float64), *occ, vir)
    assert torch.autograd.gradcheck(getattr(blas, name), [v.clone().requires_grad_() for v in inputs])


@pytest.mark.parametrize("name, values, others, kind", [c for c in CASES if c[0] in (
    "gemm", "her2k", "trsm", "hpmv", "hbmv", "syr2", "scal") and "T" not in c[2].values()][::3])
def test_second_gradients(name, values, others, kind):
    wide = _arguments(name, values, torch.float64 if kind == "real" else torch.complex128)
    routine = getattr(blas, name)
    assert torch.autograd.gradgradcheck(lambda *tensors: routine(**dict(zip(wide, tensors)), **others),
                                        tuple(wide.values()))


def test_a_gradient_of_a_norm_of_zero_is_zero():
    x = torch.zeros(3, requires_grad=True)
    assert torch.autograd.grad(blas.nrm2(x), x)[0].tolist() == [0, 0, 0]


def made_up(x):
    return x


def test_a_routine_without_a_gradient_is_refused():
    a = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(NotImplementedError, match="^made_up:"):
        _backend.routine(made_up)(a)
    assert blas.iamax(torch.ones(3, requires_grad=True)) == 0
    with torch.no_grad():
        assert not blas.scal(2.0, a).requires_grad
