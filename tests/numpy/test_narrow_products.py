"""Products of many short rows with small matrices, rows that lie as columns or in windows, against NumPy."""
import ml_dtypes
import numpy as np
import pytest

import kiln
from against_numpy import SEED


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


FORMS = {
    "product": lambda x, w, v, b: x @ w,
    "dense": lambda x, w, v, b: relu(x @ w + b),
    "two layers": lambda x, w, v, b: relu(x @ w + b) @ v,
    "scaled rows": lambda x, w, v, b: (x / (1 + np.abs(x).max(axis=-1, keepdims=True))) @ w,
    "softmax": lambda x, w, v, b: softmax(x @ w),
    "batches": lambda x, w, v, b: x.reshape(2, -1, x.shape[1]) @ w,
    "columns": lambda x, w, v, b: np.ascontiguousarray(x.T).T @ w + x @ w,
}


def close(got, want, dtype):
    wide = np.asarray(got).astype(np.float64)
    assert wide.shape == want.shape
    np.testing.assert_allclose(wide, want, rtol=0, atol=(4e-2 if dtype == ml_dtypes.bfloat16 else 2e-5) *
                               max(1, np.abs(want).max(initial=0)))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("form", FORMS)
def test_many_short_rows(form, dtype):
    rng = np.random.default_rng([SEED, sum(form.encode())])
    for _ in range(3):
        rows = int(rng.choice([1024, 1500, 2002, 4096, 6000]))
        k, n = (int(a) for a in rng.integers(1, 300, 2))
        x, w, v, b = (rng.standard_normal(s).astype(dtype) for s in ((rows, k), (k, n), (n, 40), (n,)))
        w, v = w / np.asarray(np.sqrt(k), dtype), v / np.asarray(np.sqrt(n), dtype)
        target = rng.choice(["trn1", "trn2", "trn3"])
        got = kiln.jit(FORMS[form], target=target)(x, w, v, b)
        close(got, FORMS[form](*(a.astype(np.float64) for a in (x, w, v, b))), dtype)


def test_what_is_no_number_stays_in_its_row():
    x, w = np.ones((2048, 24), np.float32), np.ones((24, 16), np.float32)
    x[5, 3], x[700, 0], x[2047, 23] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(kiln.jit(lambda x, w: x @ w)(x, w), x @ w)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_rows_as_columns(dtype):
    rng = np.random.default_rng(SEED)
    for batches, k, m, n in ((3, 196, 512, 40), (2, 100, 700, 129), (1, 260, 300, 600), (4, 17, 1030, 33)):
        x, w = rng.standard_normal((batches, k, m)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        got = kiln.jit(lambda x, w: relu(x.transpose(0, 2, 1) @ w))(x, w)
        close(got, relu(x.astype(np.float64).transpose(0, 2, 1) @ w.astype(np.float64)), dtype)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_windows(dtype):
    rng = np.random.default_rng(SEED)
    x, w = rng.standard_normal((28, 21, 24)).astype(dtype), rng.standard_normal((24, 50)).astype(dtype)

    def windows(x, w):
        cut = x.reshape(4, 7, 3, 7, 24).transpose(0, 2, 1, 3, 4).reshape(12, 49, 24)
        return cut @ w

    close(kiln.jit(windows)(x, w), windows(x.astype(np.float64), w.astype(np.float64)), dtype)
    low = kiln.jit(windows).lower(x, w)
    assert low.report()["instructions_executed"] < 200  # and not some for each 7 rows
