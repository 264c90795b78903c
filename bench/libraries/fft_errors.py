#!/usr/bin/env python3
"""Errors of kiln.fft by precision mode and length, measured against float64 on random numbers; a table in Markdown.
An error is max |e| / max |X|. docs/fft.md has what this prints."""

import argparse

import numpy as np

from kiln import fft

SIZES = (64, 256, 1000, 1024, 4096, 8193, 65536)
MODES = {"fast": "float32 plans", "kahan": "7 to 8 times better than fast", "double": "1e-6 to 1e-14", "bf16": "1e-3",
         "bf16_refined": "1e-6", "ozaki": "1.6e-5", "ozaki_hq": "2e-9"}  # what trnfft claims
SEED = 17


def measured(mode, n, backend):
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((1, n)) + 1j * rng.standard_normal((1, n))
    x = x if mode == "double" else x.astype(np.complex64)
    want = np.fft.fft(x.astype(np.complex128))
    return float(np.abs(fft.fft(x, precision=mode, backend=backend) - want).max() / np.abs(want).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--backend", default="simulator")
    options = parser.parse_args()
    fft.set_ozaki_product_precision_verified(True)
    print("| mode | trnfft claims | " + " | ".join(f"N = {n}" for n in options.sizes) + " |")
    print("|---" * (2 + len(options.sizes)) + "|")
    for mode, claim in MODES.items():
        errors = " | ".join(f"{measured(mode, n, options.backend):.1e}" for n in options.sizes)
        print(f"| `{mode}` | {claim} | {errors} |")


if __name__ == "__main__":
    main()
