"""Who computes, plans that are kept, and that a broken kernel fails."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kiln
from cases import normal, rng
from kiln import _kiln, fft

VARIABLES = ("KILN_BACKEND", "KILN_TARGET", "TRNFFT_REQUIRE_NKI", "TRNFFT_USE_SIMULATOR", "TRNFFT_MULTICORE")


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    fft.set_backend("auto")
    yield
    fft.set_backend("auto")
    fft.set_target("trn2")


def who():
    fft.fft(np.ones((2, 8), np.complex64))
    return fft.last_call().backend


def test_words(monkeypatch):
    assert who() == "native"
    for word, backend in (("simulator", "simulator"), ("pytorch", "native"), ("nki", "simulator")):
        fft.set_backend(word)
        assert fft.get_backend() == word and who() == backend == fft.current_backend()
    fft.set_backend("auto")
    monkeypatch.setenv("TRNFFT_USE_SIMULATOR", "1")
    assert who() == "simulator"
    with pytest.raises(AssertionError, match="native, simulator"):
        fft.set_backend("cuda")


@pytest.mark.parametrize("chip", ["trn1", "trn2", "trn3"])
def test_every_program_is_legal_on_every_chip(chip):
    fft.set_target(chip)
    r = rng()
    for n in (7, 100, 480, 1000, 1009, 2048):
        x = normal(r, (3, n))
        fft.fft(x, backend="simulator")
        assert fft.last_call().target == chip and fft.last_call().predicted_ns > 0
        fft.rfft(x.real, backend="simulator")
    fft.stft(normal(r, 700, "float32"), 64, backend="simulator")


def test_a_kernel_that_fails_raises(monkeypatch):
    def broken(*_):
        raise RuntimeError("no kernel today")
    for module in ("_plain", "_rows"):
        monkeypatch.setattr(f"kiln.fft.{module}._native", type("Broken", (), {"transform": staticmethod(broken)}))
    monkeypatch.setenv("TRNFFT_REQUIRE_NKI", "1")
    with pytest.raises(RuntimeError, match="no kernel today"):
        fft.fft(np.ones((2, 8), np.complex64))


def test_plans_are_kept():
    fft.clear_plan_cache()
    assert fft.create_plan(64) is fft.create_plan(64) and fft.create_plan(64) is not fft.create_plan(64, True)
    assert fft.create_plan(64).algorithm is fft.FFTAlgorithm.COOLEY_TUKEY
    plan = fft.create_plan(100)
    assert (plan.n, plan.algorithm, plan.inverse, plan.padded_n) == (100, fft.FFTAlgorithm.BLUESTEIN, False, 256)
    before = _kiln.blas.cached_program_count()
    x = normal(rng(), (2, 1500))
    for _ in range(3):
        fft.fft(x, backend="simulator")
    assert _kiln.fft.plan_count() == 1 and _kiln.blas.cached_program_count() <= before + 1
    assert fft.create_plan(1500).device(2)["way"].startswith("two_factor")
    fft.clear_plan_cache()
    assert _kiln.fft.plan_count() == 0
    with pytest.raises(ValueError, match="^n: "):
        fft.create_plan(0)


def test_a_pair_of_cores_is_told():
    x = normal(rng(), (4, 480))
    y = np.empty_like(x)
    with kiln.blas._backend.scope("simulator"):
        _kiln.fft.transform_pair(480, 4, 0, False, 1.0, x.ctypes.data, y.ctypes.data)
    last = fft.last_call()
    assert (last.operation, last.backend, len(last.programs)) == ("fft", "simulator", 2)
    assert last.program is last.programs[0] and last.predicted_ns > 0
    assert np.array_equal(y, fft.fft(x, backend="simulator"))
    assert len(fft.last_call().programs) == 1


def test_real_transforms_take_less_time():
    r = rng()
    whole = normal(r, (128, 4096))
    fft.fft(whole)
    complex_ns = fft.last_call().predicted_ns
    fft.rfft(whole.real)
    assert fft.last_call().predicted_ns < 0.7 * complex_ns


NEURON = """
    import numpy as np

    from kiln import fft

    import nki
    fft.set_backend("neuron")
    rng = np.random.default_rng(0)
    for n in (30, 480, 1009):
        x = (rng.standard_normal((3, n)) + 1j * rng.standard_normal((3, n))).astype(np.complex64)
        want = np.fft.fft(x.astype(np.complex128))
        assert np.abs(fft.fft(x) - want).max() < 1e-6 * np.abs(want).max(), n
        assert fft.last_call().backend == "neuron"
        real = x.real.copy()
        assert np.abs(fft.irfft(fft.rfft(real), n) - real).max() < 1e-5, n
    pair = np.ascontiguousarray(x[:, :480])
    out = np.empty_like(pair)
    from kiln._kiln import fft as native
    native.transform_pair(480, 3, 0, False, 1.0, pair.ctypes.data, out.ctypes.data)
    want = np.fft.fft(pair.astype(np.complex128))
    assert np.abs(out - want).max() < 1e-6 * np.abs(want).max()
    assert fft.last_call().backend == "neuron" and len(fft.last_call().programs) == 2
    y = fft.stft(real[0], 64)
    assert np.abs(y - fft.stft(real[0], 64, backend="native")).max() < 1e-5 * np.abs(y).max()
    nki.isa.nc_matmul = None  # the package breaks: so does the call, and nothing computes instead
    try:
        fft.fft(x[:, :200])
    except TypeError as error:
        print("broken:", error)
"""


def test_the_backend_neuron_runs_emitted_source(tmp_path):
    """In an environment of its own, where Kiln's package stands in for the vendor's under the name nki."""
    (tmp_path / "sitecustomize.py").write_text("import kiln\nkiln.activate()\n")
    package = os.path.dirname(os.path.dirname(kiln.__file__))
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{package}", "TRNFFT_REQUIRE_NKI": "1"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(NEURON)], env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "broken: 'NoneType' object is not callable" in done.stdout
