"""Who computes: the words and variables of trnsparse, and that nothing falls back."""

import pathlib
import sys

import numpy as np
import pytest

import kiln
from cases import generator, sparse_dense
from kiln import _kiln, sparse
from kiln.sparse.nki import dispatch

A = sparse.from_dense(np.eye(3, dtype=np.float32))
B = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for variable in ("KILN_BACKEND", "KILN_TARGET", "TRNSPARSE_REQUIRE_NKI", "TRNSPARSE_USE_SIMULATOR"):
        monkeypatch.delenv(variable, raising=False)
    before = sparse.get_backend()
    sparse.set_backend("auto")
    yield
    sparse.set_backend(before)


def who():
    np.testing.assert_array_equal(sparse.spmm(A, B), B)
    return sparse.last_call().backend


def test_words_and_variables(monkeypatch):
    assert who() == "native" and sparse.HAS_NKI
    for word, backend in (("nki", "simulator"), ("pytorch", "native"), ("simulator", "simulator"), ("auto", "native")):
        sparse.set_backend(word)
        assert who() == backend and sparse.get_backend() == word
    for variable in ("TRNSPARSE_USE_SIMULATOR", "TRNSPARSE_REQUIRE_NKI"):
        monkeypatch.setenv(variable, "1")
        assert who() == "simulator" and dispatch._use_nki() and getattr(dispatch, variable[len("TRNSPARSE"):])
        # routines of BLAS inside go there too
        np.testing.assert_array_equal(sparse.sparse_add(A, A).to_dense(), 2 * np.eye(3))
        assert sparse.last_call().backend == "simulator"
        monkeypatch.delenv(variable)
    with pytest.raises(ValueError, match="here are native, simulator"):
        sparse.set_backend("gpu")


def test_a_kernel_that_fails_raises(monkeypatch):
    monkeypatch.setenv("TRNSPARSE_REQUIRE_NKI", "1")
    with pytest.raises(kiln.NkiNotYetError, match="no kernel"):
        sparse.spmm(sparse.from_dense(np.eye(3)), np.ones((3, 2)))


def test_names_of_single_kernels():
    rng = generator()
    dense = sparse_dense(rng, 140, 140, 0.1)
    X = rng.standard_normal((140, 8)).astype(np.float32)
    np.testing.assert_allclose(dispatch.nki_spmm(sparse.from_dense(dense), X), dense @ X, atol=1e-4)
    blocks = sparse.BSRMatrix.from_dense(dense)
    np.testing.assert_allclose(dispatch.nki_bsr_spmm(blocks, X), dense @ X, atol=1e-4)
    out, row_max, row_denom = dispatch.nki_bsr_attn_tiled(X, X, X, blocks, return_stats=True)
    assert row_max.shape == row_denom.shape == (2, 128)
    for got, want in zip(dispatch.nki_bsr_attn_bwd(X, X, X, X, out, blocks, row_max, row_denom),
                         sparse.block_sparse_attention_backward(X, X, X, X, blocks)):
        np.testing.assert_allclose(got, want, atol=1e-5)


def every_program():
    """A program of each kernel."""
    rng = generator()
    dense = sparse_dense(rng, 200, 200, 0.05) + np.eye(200, dtype=np.float32)
    csr, blocks = sparse.from_dense(dense), sparse.BSRMatrix.from_dense(dense @ dense.T)
    X = rng.standard_normal((200, 20)).astype(np.float32)
    for call in (lambda: sparse.spmm(csr, X), lambda: sparse.sddmm(csr, X, X), lambda: sparse.bsr_spmm(blocks, X),
                 lambda: sparse.bsr_sddmm(blocks, X, X), lambda: sparse.spgemm(csr, csr),
                 lambda: sparse.screened_spmm(dense, X[:, 0], X, 0.1), lambda: sparse.cg_bsr(blocks, X[:, 0]),
                 lambda: sparse.richardson_bsr(blocks, X[:, 0], 0.1, 5),
                 lambda: sparse.power_iteration_bsr(blocks, X[:, 0]),
                 lambda: sparse.block_sparse_attention(X, X, X, lambda i, j: i >= j),
                 lambda: sparse.block_sparse_attention_backward(X, X, X, X, lambda i, j: i >= j)):
        call()
        yield sparse.last_call()


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_every_program_is_legal_and_can_be_emitted(target):
    before = sparse.get_target()
    sparse.set_target(target)
    sources = set()
    for last in every_program():
        assert last.target == target and last.predicted_ns > 0
        source = _kiln.emit([last.program])
        assert "def " in source
        sources.add(last.program.name)
    assert len(sources) == 11
    sparse.set_target(before)


def test_emitted_kernels_give_the_same_bits(tmp_path):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "emit"))
    import round_trip
    for last in every_program():
        if "index" in str(last.program) or "while" in str(last.program):
            continue  # random bits are no indices, and say nothing about when to stop
        programs = [last.program]
        _, kernel = round_trip.load(_kiln.emit(programs), tmp_path)
        again = round_trip.trace(kernel, programs)
        ours, theirs = (list(round_trip.run(p, round_trip.random_arrays(p, 7)).values()) for p in (programs, again))
        assert ours == theirs, last.operation
