"""kiln.numpy.call_kernel: NKI kernels inside of functions that are compiled, against NumPy."""

import numpy as np
import pytest

import kiln
from against_numpy import SEED

kiln.activate()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

call = kiln.numpy.call_kernel


@nki.jit
def scaled(x, by=2.0):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=by)
    nisa.dma_copy(dst=y, src=tile)
    return y


@nki.jit
def added_to(total, parts):
    """total += parts[0] + ...; returns the parts' sum beside it."""
    tile = nl.ndarray(total.shape, dtype=total.dtype, buffer=nl.sbuf)
    part = nl.ndarray(total.shape, dtype=total.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    for p in parts:
        nisa.dma_copy(dst=part, src=p)
        nisa.tensor_tensor(dst=tile, data1=tile, data2=part, op=nl.add)
    sums = nl.ndarray(total.shape, dtype=total.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=sums, src=tile)
    nisa.dma_copy(dst=part, src=total)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=part, op=nl.add)
    nisa.dma_copy(dst=total, src=tile)
    return {"sums": sums, "total": total, "parts": len(parts)}


def _random(*shapes):
    random = np.random.default_rng(SEED)
    print(f"KILN_SEED={SEED}")
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_between_numpy_functions(target):
    x, = _random((100, 33))
    f = kiln.jit(lambda x: np.exp(call(scaled, np.tanh(x), by=0.5)) + 1, target=target)
    np.testing.assert_allclose(f(x), np.exp(0.5 * np.tanh(x)) + 1, rtol=1e-5)
    low = f.lower(x, target=target)
    assert low.check().ok and low.report()["time_ns"] > 0
    assert "operand0=0.5" in low.nki


def test_written_arguments_and_structures():
    @kiln.jit
    def f(total, a, b):
        made = call(added_to, total, (a, b * 2, np.ones_like(a)))
        assert made["parts"] == 3
        return made["sums"], made["total"] - 1

    total, a, b = _random((64, 16), (64, 16), (64, 16))
    before = total.copy()
    sums, less = f(total, a, b)
    want = a + 2 * b + 1
    np.testing.assert_allclose(sums, want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(total, before + want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(less, total - 1, rtol=1e-5, atol=1e-5)


def test_a_view_is_written_through():
    @kiln.jit
    def f(a, b):
        whole = np.zeros((128, 16), np.float32)
        call(added_to, whole[32:96], (a, b))
        return whole

    a, b = _random((64, 16), (64, 16))
    want = np.zeros((128, 16), np.float32)
    want[32:96] = a + b
    np.testing.assert_allclose(f(a, b), want, rtol=1e-5, atol=1e-5)


def test_in_a_loop():
    x, = _random((64, 16))
    f = kiln.jit(lambda x: kiln.fori_loop(0, 5, lambda i, s: call(scaled, s, by=1.5), x))
    np.testing.assert_allclose(f(x), x * 1.5**5, rtol=1e-5)


def test_arrays_of_the_host_are_constants():
    x, table = _random((64, 16), (64, 16))
    f = kiln.jit(lambda x: call(added_to, x * 1, (table, table))["sums"])
    np.testing.assert_allclose(f(x), 2 * table, rtol=1e-5)


def test_outside_of_a_function_it_runs():
    x, = _random((64, 16))
    np.testing.assert_array_equal(call(scaled, x, by=4.0), 4 * x)


def test_what_is_refused():
    x, = _random((64, 16))
    with pytest.raises(kiln.NkiValidationError, match="numpy.R19.*2 cores"):
        kiln.jit(lambda x: call(scaled[2], x))(x)
    with pytest.raises(kiln.NkiValidationError, match="dma_copy.R1"):
        kiln.jit(lambda x: call(added_to, x, (x[:3],)))(x)

    def only_reads(x):
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)

    with pytest.raises(kiln.NkiValidationError, match="numpy.R19.*returns no tensor"):
        kiln.jit(lambda x: call(only_reads, x))(x)
    with pytest.raises(kiln.NkiValidationError, match="not yet: kernels in the oracle"):
        kiln.jit(lambda x: call(scaled, x), backend="native")(x)
