"""Precision modes: how transforms are computed."""

import warnings

MODES = ("fast", "kahan", "double", "bf16", "bf16_refined", "ozaki", "ozaki_hq")
# Products of which bfloat16 slices make a mode; kiln.blas.error_bound has their bounds. None: float32 plans.
PRODUCTS = {"fast": None, "kahan": "fp64", "double": "fp64", "bf16": "bf16", "bf16_refined": "bf16x6",
            "ozaki": "bf16x3", "ozaki_hq": "bf16x6",
            "product": "fp32"}  # no mode: float32 as products of kiln.blas, for fft_core._fft_via_gemm

_mode = "fast"
_verified = False


def set_precision(mode):
    """Chooses the mode of all calls that name none."""
    global _mode
    _mode = known(mode)


def get_precision():
    return _mode


def known(mode):
    if mode not in MODES:
        raise ValueError(f"precision: {mode!r}, expected one of {', '.join(repr(m) for m in MODES)}")
    return mode


def set_ozaki_product_precision_verified(verified=True):
    """Opens the modes ozaki and ozaki_hq, which need products of bfloat16 numbers that are not rounded. The vendor's
    documents and Kiln's simulator have them; trnfft reports a chip that has not."""
    global _verified
    _verified = bool(verified)


def get_ozaki_product_precision_verified():
    return _verified


def chosen(mode=None):
    """The mode of a call. An ozaki mode that was not opened warns, and is bf16."""
    mode = _mode if mode is None else known(mode)
    if mode.startswith("ozaki") and not _verified:
        warnings.warn(f"precision {mode!r} needs exact products, which set_ozaki_product_precision_verified(True) "
                      "confirms; computing with 'bf16'", RuntimeWarning, stacklevel=4)
        return "bf16"
    return mode
