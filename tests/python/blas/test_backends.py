"""Who computes a call: words, environment, what is told of it, and that a broken kernel fails."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kiln
from kiln import blas
from kiln.blas.nki import dispatch

A = np.arange(12, dtype=np.float32).reshape(3, 4)
B = np.ones((4, 5), np.float32)
VARIABLES = ("KILN_BACKEND", "KILN_TARGET", "TRNBLAS_REQUIRE_NKI", "TRNBLAS_USE_SIMULATOR")


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    before = blas.get_backend()
    blas.set_backend("auto")
    yield
    blas.set_backend(before)


def who():
    np.testing.assert_allclose(blas.gemm(1.0, A, B), A @ B)
    return blas.last_call().backend


def test_words():
    assert blas.get_backend() == "auto" and who() == "native"
    for word, backend in (("simulator", "simulator"), ("pytorch", "native"), ("nki", "simulator"),
                          ("native", "native")):
        blas.set_backend(word)
        assert blas.get_backend() == word and who() == backend == blas.current_backend()
    assert blas.gemm(1.0, A, B, backend="simulator").shape == (3, 5)
    assert blas.last_call().backend == "simulator" and who() == "native"


@pytest.mark.parametrize("backend", ["cuda", "", None, 3])
def test_an_unknown_backend_names_what_is_there(backend):
    with pytest.raises(ValueError, match="native, simulator"):
        blas.set_backend(backend)
    if backend is not None:
        with pytest.raises(ValueError, match="^backend:"):
            blas.gemm(1.0, A, B, backend=backend)


def test_a_missing_device_names_what_is_there():
    if "neuron" in blas.available():
        pytest.skip("a package nki is importable here")
    with pytest.raises(RuntimeError, match="here are native, simulator"):
        blas.set_backend("neuron")
    with pytest.raises(RuntimeError, match="^backend: neuron is not there"):
        blas.gemm(1.0, A, B, backend="neuron")


def test_the_environment_is_read_at_the_call(monkeypatch):
    for variable, value, backend in (
            ("KILN_BACKEND", "simulator", "simulator"), ("KILN_BACKEND", "native", "native"),
            ("TRNBLAS_USE_SIMULATOR", "1", "simulator"), ("TRNBLAS_USE_SIMULATOR", "0", "native"),
            ("TRNBLAS_REQUIRE_NKI", "yes", "simulator")):
        monkeypatch.setenv(variable, value)
        assert who() == backend, variable
        monkeypatch.delenv(variable)
    monkeypatch.setenv("KILN_BACKEND", "nobody")
    with pytest.raises(Exception, match="KILN_BACKEND: backend nobody"):
        who()
    blas.set_backend("native")  # a choice counts more than the environment
    assert who() == "native"


def test_flags_by_their_old_names(monkeypatch):
    assert dispatch.HAS_NKI and not dispatch._REQUIRE_NKI and not dispatch._use_nki()
    monkeypatch.setenv("TRNBLAS_REQUIRE_NKI", "1")
    assert dispatch._REQUIRE_NKI and dispatch._use_nki()
    monkeypatch.setenv("TRNBLAS_USE_SIMULATOR", "true")
    assert dispatch._USE_SIMULATOR and dispatch._use_simulator()


@pytest.mark.parametrize("word", ["auto", "nki", "simulator"])
def test_a_broken_kernel_fails(monkeypatch, word):
    """A kernel that is not legal raises; nothing else computes in its place."""
    monkeypatch.setenv("TRNBLAS_REQUIRE_NKI", "1")
    x = np.ones((7, 9), np.float32)
    blas.set_backend(word)
    blas.tuning.set_gemm_block(7, 9, 7, (128 * 64, 128, 512 * 64))  # more sums than there is memory for
    try:
        with pytest.raises(Exception, match="kernels.R|memory|psum"):
            blas.gemm(1.0, x, x, transB=True)
    finally:
        blas.tuning.set_gemm_block(7, 9, 7, None)
    assert blas.gemm(1.0, x, x, transB=True)[0, 0] == 9


def test_last_call():
    blas.gemm(1.0, A, B, backend="simulator")
    last = blas.last_call()
    assert (last.operation, last.backend, last.target) == ("sgemm", "simulator", blas.get_target())
    assert last.program.name == "gemm" and last.predicted_ns > 0
    assert "sgemm by simulator" in repr(last)
    blas.gemm(1.0, A, B, backend="native")
    assert blas.last_call().predicted_ns == last.predicted_ns  # of the kernel that would have computed it
    assert last.backend == "simulator"


def test_targets():
    before = blas.get_target()
    try:
        for chip in ("trn1", "trn2", "trn3"):
            blas.set_target(chip)
            assert blas.gemm(1.0, A, B, backend="simulator").shape == (3, 5)
            assert blas.last_call().program.target == chip
    finally:
        blas.set_target(before)
    with pytest.raises(ValueError, match="^chip:"):
        blas.set_target("trn9")


def test_a_call_finds_its_program_again():
    kiln._kiln.blas.clear_programs()
    for alpha in (2.0, 3.0, -1.5):
        blas.gemm(alpha, A, B, backend="simulator")
    assert kiln._kiln.blas.cached_program_count() == 1


NEURON = """
    import numpy as np

    from kiln import blas

    import nki
    assert "neuron" in blas.available()
    blas.set_backend("neuron")
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal(s).astype(np.float32) for s in ((130, 70), (70, 40)))
    assert np.abs(blas.gemm(2.0, A, B) - 2 * A @ B).max() < 1e-3
    assert blas.last_call().backend == "neuron"
    x = A[:, 0]
    assert abs(blas.nrm2(x) - np.linalg.norm(x)) < 1e-4 and blas.iamax(x) == np.argmax(np.abs(x))
    S = (A.T @ A + 70 * np.eye(70)).astype(np.float32)
    L = blas.cholesky(S)
    assert np.abs(L @ blas.trsm(1.0, L, B, uplo="lower") - B).max() < 1e-3
    assert np.abs(blas.syr(1.0, x[:9]) - np.triu(np.outer(x[:9], x[:9]))).max() < 1e-5
    nki.isa.nc_matmul = None  # the package breaks: so does the call, and nothing computes instead
    try:
        blas.gemm(1.0, A[:50], B)
    except TypeError as error:
        print("broken:", error)
"""


def test_the_backend_neuron_runs_emitted_source(tmp_path):
    """In an environment of its own, where Kiln's package stands in for the vendor's under the name nki."""
    (tmp_path / "sitecustomize.py").write_text("import kiln\nkiln.activate()\n")
    package = os.path.dirname(os.path.dirname(kiln.__file__))
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{package}", "TRNBLAS_REQUIRE_NKI": "1"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(NEURON)], env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "broken: 'NoneType' object is not callable" in done.stdout
