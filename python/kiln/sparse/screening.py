"""Screening of integrals by the Schwarz inequality: |(ij|kl)| <= Q_ij Q_kl."""

import math

import numpy as np

from kiln.blas._arrays import torch_of

__all__ = ["density_screen", "schwarz_bounds", "screen_quartets", "sparsity_stats"]


def _math(value):
    """The module that computes with these arrays, element by element."""
    return torch_of(value) or np


def root_of_threshold(threshold):
    threshold = float(threshold)
    if not threshold >= 0:
        raise ValueError(f"threshold: {threshold}, expected a number that is not negative")
    return math.sqrt(threshold)


def schwarz_bounds(diagonal_integrals):
    """Q = sqrt(|(ij|ij)|), element by element."""
    m = _math(diagonal_integrals)
    return m.sqrt(m.abs(diagonal_integrals))


def screen_quartets(Q, threshold=1e-10):
    """Pairs that can be part of an integral above the threshold: Q > sqrt(threshold)."""
    return Q > root_of_threshold(threshold)


def density_screen(Q, P, threshold=1e-10):
    """Pairs that count for a density: Q max(|P| Q) > threshold; the maximum is over all pairs."""
    return Q * (_math(P).abs(P) * Q).max() > threshold


def sparsity_stats(Q, threshold=1e-10):
    """How many pairs and quartets count, and the shares that do not."""
    n = Q.shape[0]
    pairs = int(screen_quartets(Q, threshold).sum())
    total = n * n
    return {
        "n_shells": n,
        "total_pairs": total,
        "significant_pairs": pairs,
        "pair_sparsity": 1.0 - pairs / max(1, total),
        "total_quartets": total * total,
        "significant_quartets_upper": pairs * pairs,
        "quartet_sparsity_lower": 1.0 - pairs * pairs / max(1, total * total),
    }
