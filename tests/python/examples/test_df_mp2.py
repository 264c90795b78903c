"""The example of MP2 with density fitting: synthetic inputs, files of integrals, and PySCF where it is."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from kiln import blas

SCRIPT = pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "examples" / "df_mp2.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("df_mp2", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], text=True, capture_output=True)


@pytest.mark.parametrize("backend", ["native", "simulator"])
@pytest.mark.parametrize("shape", ["tiny", "small"])
def test_stored_energies(example, shape, backend):
    *sizes, known = example.SHAPES[shape]
    with blas._backend.scope(backend):
        assert example.energy(example.synthetic(*sizes)) == pytest.approx(known, rel=1e-6)
        assert blas.last_call().backend == backend


def test_stored_energies_are_those_of_float64(example):
    *sizes, known = example.SHAPES["tiny"]
    assert example.reference(example.synthetic(*sizes)) == pytest.approx(known, rel=1e-11)


def test_files_of_integrals(example, tmp_path):
    inputs = example.synthetic(20, 3, 30)
    inputs["int3c2e"] = inputs["int3c2e"] + inputs["int3c2e"].transpose(1, 0, 2)  # symmetric, as integrals are
    want = example.reference(inputs)
    np.savez(tmp_path / "own.npz", **inputs)
    packed = inputs["int3c2e"][np.tril_indices(20)]
    np.savez(tmp_path / "package.npz", mo_coeff=np.hstack([inputs["C_occ"], inputs["C_vir"]]), int3c2e=packed,
             mo_energy=np.hstack([inputs["eps_occ"], inputs["eps_vir"]]), int2c2e=inputs["int2c2e"],
             mo_occ=np.array([2] * 3 + [0] * 17))
    for name in ("own", "package"):
        assert example.energy(example.from_npz(tmp_path / f"{name}.npz")) == pytest.approx(want, rel=1e-5)
    done = run("--npz", tmp_path / "package.npz", "--backend", "simulator")
    assert done.returncode == 0 and "energy of all pairs" in done.stdout, done.stderr
    np.savez(tmp_path / "poor.npz", int3c2e=packed)
    assert "it has no int2c2e, mo_coeff, mo_energy" in run("--npz", tmp_path / "poor.npz").stderr


def test_molecules(example):
    if importlib.util.find_spec("pyscf") is None:
        assert "pyscf is not installed" in run("--pyscf", "H 0 0 0; H 0 0 0.74").stderr
        return
    inputs, known = example.from_pyscf("O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", "sto-3g", "weigend")
    assert example.energy(inputs) == pytest.approx(known, abs=1e-6)
