"""kiln.sparse on torch tensors: the names and results of trnsparse, gradients by operations against float64."""

import importlib
import sys

import numpy as np
import pytest
import torch

from kiln import sparse

SEED = 20261116


@pytest.fixture(params=["pytorch", "nki"])
def word(request):
    torch.manual_seed(SEED)
    before = sparse.get_backend()
    sparse.set_backend(request.param)
    yield request.param
    sparse.set_backend(before)


def random_sparse(rows, columns, density=0.2, dtype=torch.float32):
    return (torch.rand(rows, columns) < density) * torch.randn(rows, columns, dtype=dtype)


def test_trnsparse_is_another_name_for_it(monkeypatch):
    for name in [n for n in sys.modules if n == "kiln.sparse" or n.startswith("kiln.sparse.")]:
        monkeypatch.setitem(sys.modules, "trnsparse" + name[len("kiln.sparse"):], sys.modules[name])
    trnsparse = importlib.import_module("trnsparse")
    assert importlib.import_module("trnsparse.nki.dispatch") and trnsparse.HAS_NKI
    for name in ("CSRMatrix", "COOMatrix", "BSRMatrix", "from_dense", "from_scipy", "eye_sparse", "spmv", "spmm",
                 "spmv_symmetric", "bsr_spmm", "screened_spmm", "block_sparse_attention_tiled", "sparse_add",
                 "sparse_scale", "sparse_transpose", "nnz_per_row", "schwarz_bounds", "screen_quartets",
                 "density_screen", "sparsity_stats", "cg_bsr", "chebyshev_bsr", "chebyshev_coeffs", "richardson_bsr",
                 "power_iteration_bsr", "jacobi_preconditioner_bsr", "bsr_diagonal", "set_backend", "get_backend"):
        assert callable(getattr(trnsparse, name))


def test_tensors_in_tensors_out(word):
    D, B = random_sparse(200, 137), torch.randn(137, 64)
    A = sparse.from_dense(D)
    assert A.values.dtype == torch.float32 and A.col_indices.dtype == A.row_ptrs.dtype == torch.int64
    torch.testing.assert_close(A.to_dense(), D)
    for got in (sparse.spmm(A, B), sparse.bsr_spmm(sparse.BSRMatrix.from_dense(D), B)):
        torch.testing.assert_close(got, D @ B, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(sparse.spmv(A, B[:, 0], 2.0, D[:, 0], 0.5), 2 * D @ B[:, 0] + 0.5 * D[:, 0], atol=1e-3,
                               rtol=1e-4)
    torch.testing.assert_close(sparse.sparse_add(A, A, 1.0, 2.0).to_dense(), 3 * D)
    torch.testing.assert_close(sparse.sparse_transpose(A).to_dense(), D.T)
    assert sparse.nnz_per_row(A).sum() == A.nnz and sparse.eye_sparse(3).values.dtype == torch.float32
    S = D @ D.T + 200 * torch.eye(200)
    b = torch.randn(200)
    x, passes, residual = sparse.cg_bsr(sparse.BSRMatrix.from_dense(S), b)
    torch.testing.assert_close(x, torch.linalg.solve(S, b), atol=1e-4, rtol=1e-4)
    assert 0 < passes < 100 and residual < 1e-6


def test_nodes_by_their_names(word):
    """Of trnsparse.nki.dispatch, in float64 too, which kernels do not take."""
    from kiln.sparse.nki import dispatch
    A, B, d = random_sparse(40, 40), torch.randn(40, 3), torch.rand(40)
    blocks = sparse.BSRMatrix.from_dense(A, 16)
    functions = (lambda A, B: dispatch._SpMMFunction.apply(A, B),
                 lambda A, B: dispatch._ScreenedSpMMFunction.apply(A, d.to(A.dtype), 0.1, B))
    for function in functions:
        wide, single = double_and_single(A, B)
        assert torch.autograd.gradcheck(function, wide)
        compare(function(*wide), function(*single), wide, single)
        assert sparse.last_call().backend == ("native" if word == "pytorch" else "simulator")
    wide, single = double_and_single(blocks.blocks, B)
    of_blocks = lambda x, B: dispatch._BSRSpMMFunction.apply(  # noqa: E731
        x, blocks.block_col_indices, blocks.block_row_ptrs, blocks.shape, 16, B)
    assert torch.autograd.gradcheck(of_blocks, wide)
    compare(of_blocks(*wide), of_blocks(*single), wide, single)


def double_and_single(*tensors):
    """The same leaves in float64 and in float32."""
    return ([t.detach().double().requires_grad_() for t in tensors],
            [t.detach().clone().requires_grad_() for t in tensors])


def compare(want, got, wide, single, bound=1e-5):
    gradient = torch.randn(got.shape)
    want.backward(gradient.double())
    got.backward(gradient)
    for w, g in zip(wide, single):
        assert (g.grad.double() - w.grad).abs().max() <= bound * w.grad.abs().max()


def test_gradients_of_products(word):
    D, B = random_sparse(150, 137), torch.randn(137, 9)
    A = sparse.from_dense(D)
    (v64, b64), (v, b) = double_and_single(A.values, B)
    dense = torch.zeros(150 * 137, dtype=torch.float64).index_put((torch.nonzero(D.reshape(-1))[:, 0],), v64)
    compare(1.5 * dense.reshape(150, 137) @ b64,
            sparse.spmm(sparse.CSRMatrix(v, A.col_indices, A.row_ptrs, A.shape), b, 1.5), (v64, b64), (v, b))
    assert sparse.last_call().backend == {"pytorch": "native", "nki": "simulator"}[word]
    (d64, b64), (d, b) = double_and_single(D, B)
    compare(d64 @ b64, sparse.bsr_spmm(sparse.BSRMatrix.from_dense(d, threshold=-1.0), b), (d64, b64), (d, b))
    W, q = torch.randn(140, 140), torch.rand(140)
    mask = torch.sqrt(q)[:, None] * torch.sqrt(q)[None] > 0.3 ** 0.5
    (w64, b64), (w, b) = double_and_single(W, torch.randn(140, 5))
    compare((w64 * mask) @ b64, sparse.screened_spmm(w, q, b, 0.3), (w64, b64), (w, b))
    (x64, y64), (x, y) = double_and_single(torch.randn(150, 9), torch.randn(137, 9))
    compare((x64 @ y64.T).reshape(-1)[torch.nonzero(D.reshape(-1))[:, 0]], sparse.sddmm(A, x, y).values, (x64, y64),
            (x, y))


@pytest.mark.parametrize("name", ["spmm", "bsr_spmm", "screened_spmm", "spgemm", "sparse_add", "sparse_multiply",
                                  "sddmm", "spmv_symmetric", "attention", "masked attention"])
def test_gradients_against_finite_differences(name):
    torch.manual_seed(SEED)
    D, E = (random_sparse(12, 9, 0.4, torch.float64) for _ in range(2))
    A, C = sparse.from_dense(D), sparse.from_dense(E)
    with_values = lambda M, v: sparse.CSRMatrix(v, M.col_indices, M.row_ptrs, M.shape)  # noqa: E731
    leaf = lambda t: t.detach().clone().requires_grad_()  # noqa: E731
    B, W, q = (torch.randn(s, dtype=torch.float64) for s in ((9, 4), (9, 9), (9,)))
    X = torch.randn(12, 4, dtype=torch.float64)
    T, tri = sparse.from_dense(E.T.contiguous()), sparse.from_dense(torch.triu(W))
    blocks = sparse.BSRMatrix.from_dense(torch.tril(torch.ones(12, 12)), 4)
    function, leaves = {
        "spmm": (lambda v, b: sparse.spmm(with_values(A, v), b, 2.0), (A.values, B)),
        "bsr_spmm": (lambda d, b: sparse.bsr_spmm(sparse.BSRMatrix.from_dense(d, 4), b), (W, B)),
        "screened_spmm": (lambda w, b: sparse.screened_spmm(w, q, b, 0.2), (W, B)),
        "spgemm": (lambda a, b: sparse.spgemm(with_values(A, a), with_values(T, b)).values, (A.values, T.values)),
        "sparse_add": (lambda a, b: sparse.sparse_add(with_values(A, a), with_values(C, b), 2.0, 3.0).values,
                       (A.values, C.values)),
        "sparse_multiply": (lambda a, b: sparse.sparse_multiply(with_values(A, a), with_values(C, b)).values,
                            (A.values, C.values)),
        "sddmm": (lambda x, y: sparse.sddmm(A, x, y).values, (X, B)),
        "spmv_symmetric": (lambda v, x: sparse.spmv_symmetric(with_values(tri, v), x), (tri.values, q)),
        "masked attention": (lambda a, b: sparse.block_sparse_attention(a, b, b, lambda i, j: (i > j) | (i % 4 == 2)),
                             (X, X.flip(0))),
        "attention": (lambda a, b: sparse.block_sparse_attention_tiled(a, b, a * b, blocks, 0.7), (X, X.flip(0))),
    }[name]
    leaves = tuple(leaf(t) for t in leaves)
    assert torch.autograd.gradcheck(function, leaves)
    if name != "sparse_add":
        assert torch.autograd.gradgradcheck(function, leaves)


def positive(n, block_size):
    """(blocks as a leaf, what makes the matrix of them): symmetric and positive definite, of float64."""
    W = torch.randn(n, n, dtype=torch.float64)
    M = sparse.BSRMatrix.from_dense(W @ W.T / n + 2 * torch.eye(n, dtype=torch.float64), block_size)
    return (M.blocks.detach().clone().requires_grad_(),
            lambda blocks: sparse.BSRMatrix(blocks, M.block_col_indices, M.block_row_ptrs, M.shape, block_size))


@pytest.mark.parametrize("name", ["cg", "cg jacobi", "cg matrix", "cg function", "chebyshev", "richardson", "power"])
def test_gradients_of_solvers_against_finite_differences(name):
    torch.manual_seed(SEED)
    blocks, matrix = positive(6, 3)
    b, x0 = (torch.randn(6, dtype=torch.float64, requires_grad=True) for _ in range(2))
    low, high, omega = (torch.tensor(f, dtype=torch.float64, requires_grad=True) for f in (1.5, 7.0, 0.2))
    inverse = torch.eye(6, dtype=torch.float64) / 4
    jacobi = sparse.jacobi_preconditioner_bsr(matrix(blocks))
    solver = {"cg": {}, "cg jacobi": {"M": jacobi}, "cg matrix": {"M": inverse},
              "cg function": {"M": lambda r: r / 3}}
    function, leaves = {
        **{n: (lambda blocks, b, o=options: sparse.cg_bsr(matrix(blocks), b, tol=1e-14, **o)[0], (blocks, b))
           for n, options in solver.items()},
        "chebyshev": (lambda blocks, b, low, high, x0: sparse.chebyshev_bsr(matrix(blocks), b, low, high, 4, x0)[0],
                      (blocks, b, low, high, x0)),
        "richardson": (lambda blocks, b, omega: sparse.richardson_bsr(matrix(blocks), b, omega, 3)[0],
                       (blocks, b, omega)),
        "power": (lambda blocks, v: sparse.power_iteration_bsr(matrix(blocks), v, 3, 0.0)[:2], (blocks, b)),
    }[name]
    assert torch.autograd.gradcheck(function, leaves)
    assert torch.autograd.gradgradcheck(function, leaves)


def test_gradients_of_solvers_by_kernels(word):
    blocks, matrix = positive(150, 128)
    b = torch.randn(150)
    x = torch.linalg.solve(matrix(blocks).to_dense(), b.double())
    x.backward(torch.ones(150, dtype=torch.float64))
    single = blocks.detach().float().requires_grad_()
    got, _, _ = sparse.cg_bsr(matrix(single), b, tol=1e-7)
    got.backward(torch.ones(150))
    assert sparse.last_call().backend == {"pytorch": "native", "nki": "simulator"}[word]
    assert (single.grad.double() - blocks.grad).abs().max() <= 1e-4 * blocks.grad.abs().max()


def test_gradients_of_factors():
    torch.manual_seed(SEED)
    A, E = (sparse.from_dense(random_sparse(7, 5, 0.5, torch.float64)) for _ in range(2))
    leaf = lambda *shape: torch.randn(shape, dtype=torch.float64, requires_grad=True)  # noqa: E731
    alpha, beta, B, C, x, y = leaf(), leaf(), leaf(5, 3), leaf(7, 3), leaf(5), leaf(7)
    values = A.values.detach().clone().requires_grad_()
    with_values = lambda v: sparse.CSRMatrix(v, A.col_indices, A.row_ptrs, A.shape)  # noqa: E731
    for function, leaves in (
            (lambda v, B, a, C, b: sparse.spmm(with_values(v), B, a, C, b), (values, B, alpha, C, beta)),
            (lambda v, x, a, y, b: sparse.spmv(with_values(v), x, a, y, b), (values, x, alpha, y, beta)),
            (lambda v, a, b: sparse.sparse_add(with_values(v), E, a, b).values, (values, alpha, beta)),
            (lambda v, a: sparse.sparse_scale(with_values(v), a).values, (values, alpha))):
        assert torch.autograd.gradcheck(function, leaves)
    assert torch.autograd.gradgradcheck(lambda v, B, a: sparse.spmm(with_values(v), B, a), (values, B, alpha))


@pytest.mark.parametrize("head", [32, 128, 256])
def test_gradients_of_attention(word, head):
    mask = torch.from_numpy(np.kron(np.tri(3) + np.eye(3, k=1), np.ones((128, 128)))[:300, :300] > 0)
    blocks = sparse.BSRMatrix.from_dense(mask.float())
    wide, single = double_and_single(*(torch.randn(2, 300, head) for _ in range(3)))
    scores = (wide[0] @ wide[1].transpose(-1, -2) * head ** -0.5).masked_fill(~mask, float("-inf"))
    compare(torch.softmax(scores, -1) @ wide[2], sparse.block_sparse_attention_tiled(*single, blocks), wide, single)


def test_statistics_of_rows_from_those_of_blocks():
    from kiln.sparse.nki import dispatch
    torch.manual_seed(SEED)
    scores = torch.randn(3, 4, 128, 128, dtype=torch.float64)
    largest = scores.amax(-1)
    row_max, row_sum = dispatch._attn_host_reduction(largest, (scores - largest[..., None]).exp().sum(-1))
    torch.testing.assert_close(row_max, largest.amax(1))
    torch.testing.assert_close(row_max + row_sum.log(), scores.logsumexp((1, 3)))
