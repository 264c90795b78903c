"""What the environment and kiln.nki.api_version decide."""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import kiln
from kiln import nki
from kiln._trace.version import KNOWN
from kiln.nki import isa as nisa
from kiln.nki import language as nl


@nki.jit
def copy_kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.copy(nl.load(x)))
    return out


@pytest.fixture
def version():
    yield nki.api_version
    nki.api_version(KNOWN[-1])


@pytest.mark.parametrize("word, generation", [("trn1", 2), ("inf2", 2), ("gen3", 3), ("TRN2", 3), ("gen4", 4),
                                              ("trn3pre", 4), ("", 4)])
@pytest.mark.parametrize("variable", ["NEURON_PLATFORM_TARGET_OVERRIDE", "NKI_NC_VERSION"])
def test_target(monkeypatch, variable, word, generation):
    monkeypatch.setenv(variable, word)
    assert nisa.get_nc_version() == generation


def test_the_first_of_the_two_target_variables_wins(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    monkeypatch.setenv("NKI_NC_VERSION", "gen3")
    assert nisa.get_nc_version() == nisa.nc_version.gen2
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn7")
    with pytest.raises(kiln.NkiValidationError, match="trn7"):
        nisa.get_nc_version()


def test_logical_core_size(monkeypatch):
    x = np.ones((2, 2), np.float32)
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "2")
    with pytest.raises(kiln.NkiValidationError, match="NEURON_LOGICAL_NC_CONFIG=2"):
        copy_kernel(x)
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "1")
    np.testing.assert_array_equal(copy_kernel(x), x)
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "two")
    with pytest.raises(kiln.NkiConfigError, match="is 1 or 2"):
        copy_kernel(x)
    monkeypatch.delenv("NEURON_LOGICAL_NC_CONFIG")
    np.testing.assert_array_equal(copy_kernel(x), x)


@pytest.mark.parametrize("word, target, banks", [("true", "trn2", 7), ("1", "trn3", 7), ("true", "trn1", 8),
                                                 ("", "trn2", 8)])
def test_transposes_by_the_tensor_engine_keep_a_bank(monkeypatch, word, target, banks):
    monkeypatch.setenv("NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE", word)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    assert nl.tile_size.psum_num_banks == banks

    def last_bank(x):
        tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum, address=(0, 7 * 2048))
        nisa.memset(tile, 1.0)
        row = nl.ndarray((1, 2), dtype=nl.float32)
        nisa.tensor_copy(row, tile[0:1, 0:2])
        nisa.dma_copy(x, row)

    x = np.zeros((1, 2), np.float32)
    if banks == 8:
        nki.simulate(last_bank)(x)
        assert x.tolist() == [[1, 1]]
    else:
        with pytest.raises(kiln.NkiValidationError) as caught:
            nki.simulate(last_bank)(x)
        assert caught.value.code == "memory.R3" and "7 banks of 2048" in str(caught.value)


def test_simulator_variable_changes_nothing(monkeypatch):
    monkeypatch.setenv("NKI_SIMULATOR", "1")
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(copy_kernel(x), x)


@nki.jit
def three_steps(x):
    """((x + 1) * 3) - 1 with a tile of x's dtype between the steps."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    for op, operand in ((nl.add, 1.0), (nl.multiply, 3.0), (nl.subtract, 1.0)):
        nisa.tensor_scalar(t, t, op, operand)
    nisa.dma_copy(out, t)
    nisa.dma_copy(x, t)
    return out


def test_low_precision_as_float32(monkeypatch):
    bfloat16 = ml_dtypes.bfloat16
    x = np.random.default_rng(11).standard_normal((4, 64)).astype(bfloat16)
    rounded, exact = x.copy(), ((x.astype(np.float32) + 1) * 3 - 1).astype(bfloat16)
    for step in (lambda v: v + np.float32(1), lambda v: v * np.float32(3), lambda v: v - np.float32(1)):
        rounded = step(rounded.astype(np.float32)).astype(bfloat16)
    assert (rounded != exact).any()
    for word, want in (("0", exact), ("1", rounded), ("", rounded)):
        monkeypatch.setenv("NKI_PRECISE_FP", word)
        given = x.copy()
        got = three_steps(given)
        assert got.dtype == bfloat16 == given.dtype
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))
        np.testing.assert_array_equal(given.astype(np.float32), want.astype(np.float32))
    monkeypatch.setenv("NKI_PRECISE_FP", "yes")
    with pytest.raises(kiln.NkiValidationError, match="NKI_PRECISE_FP=yes"):
        three_steps(x.copy())


def test_bits_stay_bits_without_precision(monkeypatch):
    """A tensor that is seen through another dtype keeps its format, and so does what meets it."""
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=nl.uint16, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)
        nisa.dma_copy(out, t.view(nl.uint16))
        return out

    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    x = np.random.default_rng(12).standard_normal((2, 8)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(nki.simulate(kernel)(x), x.view(np.uint16))


@pytest.mark.parametrize("second", [4, 0], ids=["apart", "over each other"])
def test_placed_tensors_without_precision(monkeypatch, second):
    """What lies apart is stored as float32; what lies over another tensor means its bytes."""
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype, address=(0, 0))
        u = nl.ndarray(x.shape, dtype=x.dtype, address=(0, second))
        nisa.dma_copy(t, x)
        nisa.tensor_scalar(u, t, nl.multiply, 1 / 3)
        nisa.tensor_scalar(u, u, nl.multiply, 3.0)
        nl.store(out, nl.add(u, 0.0, dtype=nl.float32))
        return out

    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    x = np.array([[1.0, 7.0]], ml_dtypes.bfloat16)
    third = (x.astype(np.float32) * np.float32(1 / 3)).astype(ml_dtypes.bfloat16).astype(np.float32)
    rounded = (third * 3).astype(ml_dtypes.bfloat16).astype(np.float32)
    got = nki.simulate(kernel)(x)
    if second == 4:
        np.testing.assert_allclose(got, [[1.0, 7.0]], rtol=1e-6)
        assert not np.array_equal(got, rounded)
    else:
        np.testing.assert_array_equal(got, rounded)


@pytest.mark.parametrize("lnc", [1, 2])
def test_matmul_without_precision(monkeypatch, lnc):
    @nki.jit
    def kernel(a, b):
        out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
        x, y = nl.load(a), nl.load(b)
        p = nl.ndarray(out.shape, dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(p, x, y)
        t = nl.ndarray(out.shape, dtype=a.dtype)
        nisa.tensor_copy(t, p)
        half = out.shape[0] // nl.num_programs()
        rows = nl.ds(nl.program_id() * half, half)
        nisa.dma_copy(out[rows], t[rows])
        return out

    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    rng = np.random.default_rng(13)
    a, b = (rng.standard_normal((64, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
    want = a.astype(np.float64).T @ b.astype(np.float64)
    np.testing.assert_allclose(kernel[lnc](a, b).astype(np.float64), want, rtol=2**-8, atol=1e-4)


def test_unknown_versions_are_refused(version):
    with pytest.raises(kiln.NkiValidationError, match="0.3.0, 0.4.0, 0.5.0, 0.6.0"):
        version("0.1.0")
    assert version() == "0.6.0"


def test_the_environment_chooses_a_version():
    def run(word):
        return subprocess.run([sys.executable, "-c", "from kiln import nki; print(nki.api_version())"],
                              env={**os.environ, "KILN_NKI_VERSION": word}, capture_output=True, text=True)

    assert run("0.4.0").stdout == "0.4.0\n" and run("").stdout == "0.6.0\n"
    refused = run("1.0")
    assert refused.returncode == 1 and "KILN_NKI_VERSION" in refused.stderr
    assert "--> <string>:1" in refused.stderr  # not a line of importlib
