#!/usr/bin/env python3
"""The correlation energy of second-order Møller-Plesset theory with density fitting, every step on kiln.blas.

    examples/df_mp2.py --shape small --backend simulator
    examples/df_mp2.py --npz integrals.npz
    examples/df_mp2.py --pyscf "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587" --basis cc-pvdz

Synthetic inputs come from a generator of our own, so that their energies are the same everywhere; those of the shapes
below were computed with NumPy in float64 (--reference computes them again).
"""

import argparse
import time

import numpy as np

from kiln import blas

# name: (basis functions, occupied orbitals, auxiliary functions, energy)
SHAPES = {
    "tiny": (24, 4, 40, -2.941108136245e-09),
    "small": (128, 16, 384, -1.865115584898e-04),
    "medium": (512, 64, 1536, -2.589636793191e+00),
    "large": (768, 96, 2304, -4.360346686640e+01),
}


# Inputs.

def uniform(seed, stream, count, first=0):
    """`count` numbers of [0, 1), from number `first` of a stream on: the counter through splitmix64, 53 bits of it."""
    start = (int(seed) << 40) + (int(stream) << 35)
    z = (np.arange(first, first + count, dtype=np.uint64) + np.uint64(start)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) / 2.0 ** 53


def normal(seed, stream, *shape):
    """Normally distributed numbers (Box and Muller), float32; made in pieces, as there may be many."""
    out = np.empty(int(np.prod(shape)), np.float32)
    for first in range(0, out.size, 1 << 22):
        count = min(1 << 22, out.size - first)
        u = uniform(seed, stream, 2 * count, 2 * first).reshape(count, 2)
        out[first:first + count] = np.sqrt(-2 * np.log1p(-u[:, 0])) * np.cos(2 * np.pi * u[:, 1])
    return out.reshape(shape)


def synthetic(n, o, x, seed=42):
    """Integrals that look like those of a molecule: coefficients, (mu nu|P), (P|Q), orbital energies; float32."""
    C = np.float32(0.1) * normal(seed, 0, n, n)
    eri = normal(seed, 1, n, n, x)
    eri *= np.float32(0.01)
    R = 0.01 * normal(seed, 2, x, x).astype(np.float64)
    J = R @ R.T + x * np.eye(x)
    eps_occ = -np.sort(uniform(seed, 3, o)) - 0.5
    eps_vir = np.sort(uniform(seed, 4, n - o)) + 0.1
    return {"C_occ": C[:, :o], "C_vir": C[:, o:], "int3c2e": eri, "int2c2e": J, "eps_occ": eps_occ, "eps_vir": eps_vir}


def from_npz(path):
    """Integrals of a file: int3c2e (n, n, x), or (n (n + 1) / 2, x) by rows of the lower triangle; int2c2e (x, x);
    and either C_occ, C_vir, eps_occ, eps_vir or mo_coeff, mo_energy and mo_occ (or nocc), as packages write them."""
    with np.load(path) as file:
        found = {name: file[name] for name in file.files}
    missing = [name for name in ("int3c2e", "int2c2e") if name not in found]
    if "C_occ" not in found:
        missing += [name for name in ("mo_coeff", "mo_energy") if name not in found]
    if missing:
        raise SystemExit(f"{path}: it has no {', '.join(missing)}; it has {', '.join(sorted(found))}")
    if "C_occ" in found:
        orbitals = {name: found[name] for name in ("C_occ", "C_vir", "eps_occ", "eps_vir")}
    else:
        o = int(found["nocc"]) if "nocc" in found else int((found["mo_occ"] > 0).sum())
        C, e = found["mo_coeff"], found["mo_energy"]
        orbitals = {"C_occ": C[:, :o], "C_vir": C[:, o:], "eps_occ": e[:o], "eps_vir": e[o:]}
    eri = found["int3c2e"]
    if eri.ndim == 2:
        n = len(orbitals["C_occ"])
        full = np.empty((n, n, eri.shape[1]), eri.dtype)
        rows, columns = np.tril_indices(n)
        full[rows, columns] = full[columns, rows] = eri
        eri = full
    return {**orbitals, "int3c2e": eri, "int2c2e": found["int2c2e"]}


def from_pyscf(atoms, basis, auxiliary):
    """Integrals and orbitals of a molecule, and the energy that PySCF finds."""
    try:
        from pyscf import df, gto, scf
        from pyscf.mp.dfmp2 import DFMP2
    except ImportError:
        raise SystemExit("--pyscf: the package pyscf is not installed; --npz takes integrals from a file") from None
    molecule = gto.M(atom=atoms, basis=basis, verbose=0)
    field = scf.RHF(molecule).density_fit(auxbasis=auxiliary).run()
    aux = df.addons.make_auxmol(molecule, auxiliary)
    o = molecule.nelectron // 2
    solver = DFMP2(field)
    solver.with_df = df.DF(molecule, auxbasis=auxiliary)
    return {"C_occ": field.mo_coeff[:, :o], "C_vir": field.mo_coeff[:, o:], "eps_occ": field.mo_energy[:o],
            "eps_vir": field.mo_energy[o:], "int3c2e": df.incore.aux_e2(molecule, aux, "int3c2e", aosym="s1"),
            "int2c2e": aux.intor("int2c2e")}, solver.kernel()[0]


# The steps.

class Steps:
    """Times of steps: as they took here, and as predicted for a device."""

    def __init__(self, quiet=False):
        self.rows, self.quiet = [], quiet

    def __call__(self, name, routine, *args, **kwargs):
        begin = time.perf_counter()
        result = routine(*args, **kwargs)
        took = time.perf_counter() - begin
        if not self.quiet:
            last = blas.last_call()
            self.rows.append((name, took, last.predicted_ns, last))
        return result

    def show(self):
        for name, took, predicted, last in self.rows:
            device = "no kernel" if predicted is None else f"{predicted / 1e6:10.3f} ms predicted on {last.target}"
            print(f"  {name:24} {took:8.3f} s by {last.backend:10} {device}")


def fitted(inputs, step):
    """B (occupied, virtual, auxiliary): the integrals in molecular orbitals, times the inverse factor of the metric."""
    single = {name: np.ascontiguousarray(value, np.float32) for name, value in inputs.items()}
    n, o = single["C_occ"].shape
    v, x = single["C_vir"].shape[1], len(single["int2c2e"])
    L = step("factor of the metric", blas.cholesky, single["int2c2e"])
    half = step("first half transform", blas.gemm, 1.0, single["C_occ"], single["int3c2e"].reshape(n, n * x),
                transA=True).reshape(o, n, x)
    C_vir = np.broadcast_to(single["C_vir"], (o, n, v))
    whole = step("second half transform", blas.batched_gemm, 1.0, C_vir[0], half, transA=True).reshape(o * v, x)
    # B L^T = (ia|P): the solve that other programs do with an inverse.
    B = step("metric", blas.trsm, 1.0, L, whole, side="right", uplo="lower", trans=True)
    return B.reshape(o, v, x)


def energy(inputs, step=None):
    """The energy, with every step on kiln.blas."""
    step = step or Steps(quiet=True)
    B = fitted(inputs, step)
    eps = [np.ascontiguousarray(inputs[name], np.float32) for name in ("eps_occ", "eps_vir")]
    return float(step("energy of all pairs", blas.mp2_energy, B, *eps))


def reference(inputs):
    """The same by NumPy in float64, from inputs rounded to float32 as above."""
    eri = np.asarray(inputs["int3c2e"], np.float32)
    f = {name: np.asarray(np.asarray(value, np.float32), np.float64) for name, value in inputs.items()
         if name != "int3c2e"}
    (n, o), (v, x) = f["C_occ"].shape, (f["C_vir"].shape[1], len(f["int2c2e"]))
    half = np.zeros((o, n, x))
    for first in range(0, n, 32):  # in pieces: in float64 it would be twice as large
        piece = slice(first, first + 32)
        half += np.tensordot(f["C_occ"][piece].T, eri[piece].astype(np.float64), 1)
    whole = np.matmul(f["C_vir"].T, half).reshape(o * v, x)
    B = np.linalg.solve(np.linalg.cholesky(f["int2c2e"]), whole.T).T.reshape(o, v, x)
    total = 0.0
    for i in range(o):
        for j in range(i + 1):
            T = B[i] @ B[j].T
            D = f["eps_occ"][i] + f["eps_occ"][j] - f["eps_vir"][:, None] - f["eps_vir"][None, :]
            total += (1 if i == j else 2) * (T * (2 * T - T.T) / D).sum()
    return total


def parsed(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--shape", choices=SHAPES, default="tiny", help="synthetic inputs")
    source.add_argument("--npz", metavar="FILE", help="integrals of a file")
    source.add_argument("--pyscf", metavar="ATOMS", help="a molecule, with PySCF")
    parser.add_argument("--basis", default="sto-3g")
    parser.add_argument("--auxiliary", default="weigend")
    parser.add_argument("--backend", default="auto", help=", ".join(blas.available()) + " or auto")
    parser.add_argument("--target", default=None, help="the chip that times are predicted for")
    parser.add_argument("--reference", action="store_true", help="compute the reference of synthetic inputs again")
    return parser.parse_args(words)


def main():
    options = parsed()
    blas.set_backend(options.backend)
    if options.target:
        blas.set_target(options.target)
    known = None
    if options.npz:
        inputs = from_npz(options.npz)
    elif options.pyscf:
        inputs, known = from_pyscf(options.pyscf, options.basis, options.auxiliary)
    else:
        *sizes, known = SHAPES[options.shape]
        inputs = synthetic(*sizes)
        if options.reference:
            print(f"reference {reference(inputs):.12e}")
            return
    step = Steps()
    found = energy(inputs, step)
    step.show()
    print(f"energy {found:.9e}")
    if known is not None:
        print(f"reference {known:.9e}, relative difference {abs(found - known) / abs(known):.1e}")


if __name__ == "__main__":
    main()
