"""Few long rows, of lengths that no number of partitions divides, and rows whose operands move by two strides: values
are those of NumPy on every target, and all partitions work."""

import numpy as np
import pytest

import kiln
from against_numpy import SEED


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5)


def largest_and_sum(x):
    return np.max(x, -1), np.min(x), np.sum(x * 2.0, -1), np.mean(x, -1, keepdims=True)


def elementwise(x):
    return np.tanh(x) * x + 1.0


def whole_is_read(x):
    y = np.exp(x * 0.1)
    return y / y.sum(-1, keepdims=True), y[..., ::2].sum(0)


def per_group(x, gain):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return y * gain + gain


@pytest.fixture
def rng():
    print(f"KILN_SEED={SEED}")
    return np.random.default_rng(SEED)


def close(got, want):
    for g, w in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want)), strict=True):
        assert np.asarray(g).shape == np.asarray(w).shape
        assert np.abs(np.asarray(g, np.float64) - w).max() <= 2e-5 * np.abs(w).max()


@pytest.mark.parametrize("function", [softmax, norm, largest_and_sum, elementwise, whole_is_read])
@pytest.mark.parametrize("shape", [(2, 150001), (1, 50257), (7, 16411), (3, 3, 20011), (32, 16417)])
def test_odd_lengths(function, shape, rng):
    x = rng.standard_normal(shape, dtype=np.float32)
    want = function(x.astype(np.float64))
    for target in ("trn1", "trn2", "trn3"):
        close(kiln.jit(function, target=target)(x), want)


@pytest.mark.parametrize("shape", [(8, 32, 640), (5, 7, 900), (30, 3, 2000), (9, 11, 221), (2, 3, 5, 300)])
@pytest.mark.parametrize("opt", [1, 2])
def test_two_strides(shape, opt, rng):
    x, gain = rng.standard_normal(shape, dtype=np.float32), rng.standard_normal((shape[-2], 1), dtype=np.float32)
    want = per_group(x.astype(np.float64), gain.astype(np.float64))
    for target in ("trn1", "trn2", "trn3"):
        close(kiln.jit(per_group, target=target, opt=opt)(x, gain), want)


def test_numbers_that_are_none(rng):
    x = rng.standard_normal((3, 20011), dtype=np.float32)
    x[0, 7], x[1, -1], x[2, -1] = np.nan, np.nan, np.inf
    for got, want in zip(kiln.jit(largest_and_sum)(x), largest_and_sum(x)):
        assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(np.isinf(got), np.isinf(want))


def predicted(function, *specs):
    return kiln.jit(function).lower(*specs).report()["time_ns"]


@pytest.mark.parametrize("function", [softmax, norm, elementwise])
@pytest.mark.parametrize(("odd", "even"),
                         [("2,150001", "2,150016"), ("1,1000003", "1,1000064"), ("32,50257", "32,50304")])
def test_an_odd_length_costs_little(function, odd, even):
    """Rows of even lengths that are reduced lie on several partitions and are read once, those of odd ones up to three
    times."""
    most = 1.6 if function is elementwise or "1,1000003" == odd else 2.2
    assert predicted(function, f"float32[{odd}]") < most * predicted(function, f"float32[{even}]") + 5000


def test_groups_fill_the_partitions():
    """30 times 4 rows: 120 partitions, not 30."""
    one = predicted(per_group, "float32[1,4,8192]", "float32[4,1]")
    assert predicted(per_group, "float32[30,4,8192]", "float32[4,1]") < 3 * one


def test_rows_in_pieces_are_read_once():
    """A row that does not fit beside its exponentials, of which only a sum is left: one pass, as fast as bytes come."""

    def log_sum(x):
        x = x.astype(np.float32)
        largest = x.max(-1, keepdims=True)
        return np.log(np.exp(x - largest).sum(-1)) + largest[:, 0]

    for function in (log_sum, lambda x: np.log(np.exp(x.astype(np.float32)).sum(-1))):
        report = kiln.jit(function).lower("bfloat16[1000,50257]").report()
        assert len(report["groups"]) == 1
        assert report["time_ns"] < 2 * report["roofline_ns"]


@pytest.mark.parametrize("shape", [(10007, 10), (5003, 3, 2), (3, 2003, 7), (4099, 33), (20011, 1)])
def test_many_short_rows(shape, rng):
    """Of a number that no other divides: whole blocks with several rows on a partition, and a rest."""

    def scaled(x, y, gain):
        return softmax(x + y) * gain, x[..., ::-1].max(-1), x.mean(-1) + y.sum(-1)

    arrays = [rng.standard_normal(s, dtype=np.float32) for s in (shape, shape[:-1] + (1,), shape[-1:])]
    want = scaled(*(a.astype(np.float64) for a in arrays))
    for target in ("trn1", "trn2", "trn3"):
        for opt in (1, 2):
            close(kiln.jit(scaled, target=target, opt=opt)(*arrays), want)


@pytest.mark.parametrize(("odd", "even"),
                         [("150001,3", "150016,3"), ("10007,10", "10112,10"), ("49999,33", "50048,33")])
def test_short_rows_cost_little_more(odd, even):
    assert predicted(softmax, f"float32[{odd}]") < 1.6 * predicted(softmax, f"float32[{even}]") + 5000
