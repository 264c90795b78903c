"""Products of many matrices with a vector each, and of a turned matrix with few columns, against NumPy."""
import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED

FORMS = {
    "bij,bj->bi": lambda a, x, y: np.einsum("bij,bj->bi", a, y),
    "bij,bi->bj": lambda a, x, y: np.einsum("bij,bi->bj", a, x),
    "a @ y": lambda a, x, y: a @ y[..., None],
    "x @ a": lambda a, x, y: x[:, None, :] @ a,
    "turned a @ x": lambda a, x, y: a.swapaxes(1, 2) @ x[..., None],
    "y @ turned a": lambda a, x, y: y[:, None, :] @ a.swapaxes(1, 2),
}


def within(got, want, dtype):
    wide = np.asarray(got).astype(np.float64)
    assert wide.shape == want.shape
    np.testing.assert_allclose(wide, want, rtol=0, atol=(2e-2 if dtype == ml_dtypes.bfloat16 else 1e-5) *
                               max(1, np.abs(want).max(initial=0)))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("form", FORMS)
def test_batches(form, dtype):
    rng = np.random.default_rng([SEED, sum(form.encode())])
    for _ in range(3):
        batches, m, k = (int(rng.integers(1, n)) for n in (200, 140, 140))
        a, x, y = (rng.standard_normal(s).astype(dtype) for s in ((batches, m, k), (batches, m), (batches, k)))
        target = rng.choice(["trn1", "trn2", "trn3"])
        got = kiln.jit(FORMS[form], target=target)(a, x, y)
        within(got, FORMS[form](*(v.astype(np.float64) for v in (a, x, y))), dtype)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("k, m, n", [(1000, 500, 0), (300, 129, 1), (129, 1000, 8), (9216, 600, 3), (200, 200, 9)])
def test_turned_matrix(dtype, k, m, n):
    rng = np.random.default_rng([SEED, k])
    a, x = (rng.standard_normal(s).astype(dtype) for s in ((k, m), (k, n) if n else (k,)))
    within(kiln.jit(lambda a, x: a.T @ x)(a, x), a.astype(np.float64).T @ x.astype(np.float64), dtype)


def test_a_vector_at_a_time_is_no_product():
    low = kiln.jit(FORMS["bij,bj->bi"]).lower("float32[512,64,256]", "float32[512,64]", "float32[512,256]")
    assert "nc_matmul" not in low.nki and low.report()["instructions_executed"] < 1000


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def decoded(q, k, v):
    """One query for each head, beside caches (batch, place, head, element)."""
    scores = np.einsum("bhd,bshd->bhs", q, k) / np.sqrt(np.float32(q.shape[-1]))
    return np.einsum("bhs,bshd->bhd", softmax(scores), v)


@pytest.mark.parametrize("dtype, most", [(np.float32, 6), (ml_dtypes.bfloat16, 12)])
def test_heads_of_a_cache_are_read_as_they_lie(dtype, most):
    rng = np.random.default_rng(SEED)
    q, k, v = (rng.standard_normal(s).astype(dtype) for s in ((4, 4, 64), (4, 512, 4, 64), (4, 512, 4, 64)))
    within(kiln.jit(decoded)(q, k, v), decoded(*(x.astype(np.float64) for x in (q, k, v))), dtype)
    report = kiln.jit(decoded).lower(*(f"{np.dtype(dtype).name}[8,{n}4,64]" for n in ("", "1024,", "1024,"))).report()
    assert report["time_ns"] < most * report["roofline_ns"]
