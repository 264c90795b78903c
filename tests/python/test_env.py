"""What the environment and kiln.nki.api_version decide."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import _version
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
    nki.api_version(_version.KNOWN[-1])


@pytest.mark.parametrize("word, generation", [("trn1", 2), ("inf2", 2), ("gen3", 3), ("TRN2", 3), ("gen4", 4), ("", 4)])
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
    monkeypatch.delenv("NEURON_LOGICAL_NC_CONFIG")
    np.testing.assert_array_equal(copy_kernel(x), x)


@pytest.mark.parametrize("word, target, banks", [("true", "trn2", 7), ("1", "trn3", 7), ("true", "trn1", 8), ("", "trn2", 8)])
def test_transposes_by_the_tensor_engine_keep_a_bank(monkeypatch, word, target, banks):
    monkeypatch.setenv("NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE", word)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    assert nl.tile_size.psum_num_banks == banks


def test_simulator_variable_changes_nothing(monkeypatch):
    monkeypatch.setenv("NKI_SIMULATOR", "1")
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(copy_kernel(x), x)


def test_imprecise_arithmetic_is_not_given_silently(monkeypatch):
    x = np.ones((2, 2), np.float32)
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    with pytest.warns(nki.NkiWarning, match="NKI_PRECISE_FP=0 has no effect"):
        copy_kernel(x)
    monkeypatch.setenv("NKI_PRECISE_FP", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy_kernel(x)


def test_names_come_with_their_version(version):
    for chosen in _version.KNOWN:
        version(chosen)
        for since, module, name in _version._NEW:
            assert hasattr(getattr(nki, module), name) == (since <= chosen), (chosen, name)


def test_copy_was_rounded_before_0_6(version):
    x = np.array([[2**24 + 1, 5]], np.int32)
    np.testing.assert_array_equal(copy_kernel(x), x)
    version("0.5.0")
    np.testing.assert_array_equal(copy_kernel(x), [[2**24, 5]])


def test_rsqrt_took_psum_before_0_5(version):
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        p = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.psum)
        nisa.tensor_copy(p, nl.load(x))
        nl.store(out, nl.rsqrt(p))
        return out

    x = np.full((2, 4), 4.0, np.float32)
    with pytest.raises(kiln.NkiValidationError):
        nki.simulate(kernel)(x)
    version("0.4.0")
    np.testing.assert_allclose(nki.simulate(kernel)(x), 0.5, rtol=1e-3)


def test_unknown_versions_are_refused(version):
    with pytest.raises(kiln.NkiValidationError, match="0.3.0, 0.4.0, 0.5.0, 0.6.0"):
        version("0.1.0")
    assert version() == "0.6.0"


def test_the_environment_chooses_a_version():
    def run(word):
        return subprocess.run([sys.executable, "-c", "from kiln import nki; print(nki.api_version())"],
                              env={**os.environ, "KILN_NKI_VERSION": word}, capture_output=True, text=True)

    assert run("0.4.0").stdout == "0.4.0\n" and run("").stdout == "0.6.0\n"
    assert run("1.0").returncode == 1 and "KILN_NKI_VERSION" in run("1.0").stderr
