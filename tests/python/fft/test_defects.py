"""What went wrong in trnfft (F1 to F7), each once: none of it is here. test_precision.py has more of F2 and F3,
test_stft.py of F4 for frames, tests/torch/test_fft.py of F4 for products."""

import numpy as np
import pytest

from cases import SEED, assert_close, error, normal, rng, wide
from kiln import _kiln, fft


@pytest.mark.parametrize("n", [64, 256, 512, 1024, 2048, 100, 500, 997, 4097, 8193])
def test_f1_angles_come_from_reduced_indices(n):
    x = normal(rng(), (1, n))
    assert_close(fft.fft(x, backend="simulator"), np.fft.fft(wide(x)), 1e-6, f"F1 at {n}")


@pytest.mark.parametrize("n", [64, 300])
def test_f2_refining_refines(n):
    x = normal(rng(), (1, n))
    want = np.fft.fft(wide(x))
    found = error(fft.fft(x, precision="bf16_refined", backend="simulator"), want)
    assert found < 1e-6 < 1e-4 < error(fft.fft(x, precision="bf16", backend="simulator"), want), f"seed {SEED}"


def test_f3_six_products_reach_float32():
    fft.set_ozaki_product_precision_verified(True)
    try:
        x = normal(rng(), (1, 256))
        assert error(fft.fft(x, precision="ozaki_hq", backend="simulator"), np.fft.fft(wide(x))) < 5e-7, f"seed {SEED}"
    finally:
        fft.set_ozaki_product_precision_verified(False)


def test_f4_251_frames_are_251_frames():
    x = normal(rng(), 16000, "float32")
    y = fft.stft(x, 128, 64, backend="simulator")
    assert y.shape == (65, 251)
    assert_close(y, fft.stft(x, 128, 64, backend="native").astype("complex128"))


@pytest.mark.parametrize("backend", ["native", "simulator"])
def test_f5_modes_count_everywhere(backend):
    x = normal(rng(), (1, 1024))
    want = np.fft.fft(wide(x))
    assert error(fft.fft(x, precision="bf16", backend=backend), want) > 1e-4, "bf16 beyond 256 numbers"


def test_f6_tables_are_made_once():
    fft.clear_plan_cache()
    x = normal(rng(), (3, 777))
    fft.fft(x, backend="simulator")
    count = _kiln.fft.plan_count()
    fft.fft(x, backend="simulator")
    assert _kiln.fft.plan_count() == count == 1


def test_f7_real_transforms_are_not_complex_ones():
    for n in (512, 4096):
        assert fft.create_plan(n).device(64, real=True)["half_cost"]
