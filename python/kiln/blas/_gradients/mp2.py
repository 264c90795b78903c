"""Gradients of MP2 energies."""

from .. import level3
from .tools import only


def _pair(g, b_i, b_j, e_ij, eps_vir):
    """(gradients of b_i and b_j, terms T (2 T - T^T) / D^2) of one pair."""
    t = level3.gemm(1.0, b_i, b_j, transB=True)
    d = e_ij - eps_vir[:, None] - eps_vir[None, :]
    by_t = g * (4 * t - 2 * t.T) / d
    return level3.gemm(1.0, by_t, b_j), level3.gemm(1.0, by_t, b_i, transA=True), -g * t * (2 * t - t.T) / (d * d)


def mp2_pair_energy(g, _, wanted, b_i, b_j, eps_occ_i, eps_occ_j, eps_vir):
    of_i, of_j, by_d = _pair(g, b_i, b_j, eps_occ_i + eps_occ_j, eps_vir)
    return only(wanted, b_i=lambda: of_i, b_j=lambda: of_j, eps_vir=lambda: -(by_d.sum(0) + by_d.sum(1)),
                 eps_occ_i=lambda: by_d.sum(), eps_occ_j=lambda: by_d.sum())


def mp2_energy(g, _, wanted, B, eps_occ, eps_vir):
    of_b, of_occ, of_vir = B * 0, eps_occ * 0, eps_vir * 0
    for i in range(len(B)):
        for j in range(i + 1):
            weight = g if i == j else 2 * g
            of_i, of_j, by_d = _pair(weight, B[i], B[j], eps_occ[i] + eps_occ[j], eps_vir)
            of_b[i] += of_i
            of_b[j] += of_j
            of_occ[i] += by_d.sum()
            of_occ[j] += by_d.sum()
            of_vir -= by_d.sum(0) + by_d.sum(1)
    return {"B": of_b, "eps_occ": of_occ, "eps_vir": of_vir}


def mp2_reduce(g, _, wanted, T_flat, eps_occ_chunk, eps_occ_full, eps_vir):
    ic, o, v = len(eps_occ_chunk), len(eps_occ_full), len(eps_vir)
    t = T_flat.reshape(ic, v, o, v).permute(0, 2, 1, 3)
    swapped = t.transpose(-2, -1)
    d = (eps_occ_chunk[:, None, None, None] + eps_occ_full[None, :, None, None] - eps_vir[None, None, :, None]
         - eps_vir[None, None, None, :])
    by_t = g * (4 * t - 2 * swapped) / d
    by_d = -g * t * (2 * t - swapped) / (d * d)
    return only(wanted, T_flat=lambda: by_t.permute(0, 2, 1, 3).reshape(T_flat.shape),
                 eps_occ_chunk=lambda: by_d.sum((1, 2, 3)), eps_occ_full=lambda: by_d.sum((0, 2, 3)),
                 eps_vir=lambda: -(by_d.sum((0, 1, 3)) + by_d.sum((0, 1, 2))))
