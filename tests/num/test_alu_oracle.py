"""The plain ALU operators against NumPy."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

SEED = int(os.environ["KILN_SEED"])
PROGRAM = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "tests" / "num" / "alu_dump"


def truth(mask):
    return mask.astype(np.float32)


def maximum(x, y):
    # NumPy leaves the sign of zero open.
    return np.where((x == 0) & (y == 0), np.copysign(np.float32(0), np.where(np.signbit(x), y, x)), np.maximum(x, y))


def minimum(x, y):
    return np.where((x == 0) & (y == 0), np.copysign(np.float32(0), np.where(np.signbit(x), x, y)), np.minimum(x, y))


def in_double(fn):
    return lambda x, y: fn(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)


FLOAT = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": maximum,
    "minimum": minimum,
    "equal": lambda x, y: truth(np.equal(x, y)),
    "not_equal": lambda x, y: truth(np.not_equal(x, y)),
    "greater": lambda x, y: truth(np.greater(x, y)),
    "greater_equal": lambda x, y: truth(np.greater_equal(x, y)),
    "less": lambda x, y: truth(np.less(x, y)),
    "less_equal": lambda x, y: truth(np.less_equal(x, y)),
    "logical_and": lambda x, y: truth(np.logical_and(x, y)),
    "logical_or": lambda x, y: truth(np.logical_or(x, y)),
    "logical_xor": lambda x, y: truth(np.logical_xor(x, y)),
    "power": in_double(np.power),
    "abs_max": lambda x, y: np.where(np.abs(x) > np.abs(y), x, y),
    "abs_min": lambda x, y: np.where(np.abs(x) < np.abs(y), x, y),
    "abs": lambda x, y: np.abs(x),
    "square": lambda x, y: np.square(x),
    "relu": lambda x, y: maximum(np.zeros_like(x), x),
    "rsqrt": in_double(lambda x, y: 1 / np.sqrt(x)),
    "reciprocal": lambda x, y: np.reciprocal(x),
    "bypass": lambda x, y: x,
}

BITS = {
    "invert": lambda x, y: np.invert(x),
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "bypass": lambda x, y: x,
}

INT = ["add", "subtract", "multiply", "maximum", "minimum"]
INT += ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"]

FOLD = ["add", "subtract", "multiply", "maximum", "minimum"]


@pytest.fixture(scope="module")
def rng():
    print(f"seed: KILN_SEED={SEED}")
    return np.random.default_rng(SEED)


@pytest.fixture(autouse=True)
def quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def dump(folder, kind, op, param, a, b):
    a.tofile(folder / "a")
    b.tofile(folder / "b")
    subprocess.run([PROGRAM, kind, op, str(param), folder / "a", folder / "b", folder / "out"], check=True)
    return np.fromfile(folder / "out", dtype=b.dtype)


def float_rows(rng):
    special = np.array(
        [0.0, 1.0, 0.5, 2.0, 3.0, np.inf, np.nan, 2.0**-149, 2.0**-126, 3.4028235e38, 1e20, 1e-20, 7.0, 0.1], np.float32
    )
    special = np.concatenate([special, -special])
    x, y = (grid.ravel() for grid in np.meshgrid(special, special))
    any_bits = rng.integers(0, 2**32, (2, 20000), dtype=np.uint32).view(np.float32)
    tame = rng.normal(0, 4, (2, 20000)).astype(np.float32)
    return [np.concatenate([grid, bits, near]) for grid, bits, near in zip((x, y), any_bits, tame)]


def assert_same(result, expected):
    expected = np.asarray(expected, np.float32)
    same = (result.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(result) & np.isnan(expected))
    assert same.all(), f"seed {SEED}: {np.flatnonzero(~same)[:5]} {result[~same][:5]} {expected[~same][:5]}"


def test_every_operator_has_an_oracle():
    names = {line.split()[0] for line in subprocess.check_output([PROGRAM, "list"], text=True).splitlines()}
    assert names - {"average"} == set(FLOAT) | set(BITS)


@pytest.mark.parametrize("op", FLOAT)
def test_float(op, rng, tmp_path):
    x, y = float_rows(rng)
    result, expected = dump(tmp_path, "float", op, 0, x, y), FLOAT[op](x, y)
    if op == "power":  # both evaluate in double, by different libraries: the last place of float32 may differ
        close = np.abs(result.astype(np.float64) - expected) <= np.spacing(np.abs(expected))
        result = np.where(close, expected, result)
    assert_same(result, expected)


@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("op", BITS)
def test_bits(op, width, rng, tmp_path):
    dtype = np.dtype(f"uint{width}")
    x = rng.integers(0, 2**width, 5000, dtype=np.uint64).astype(dtype)
    y = rng.integers(0, 2**width, 5000, dtype=np.uint64).astype(dtype)
    if op.endswith("shift"):
        y[:4000] = rng.integers(0, 2 * width, 4000)
    result = dump(tmp_path, "bits", op, width, x.astype(np.uint32), y.astype(np.uint32))
    np.testing.assert_array_equal(result, BITS[op](x, y).astype(np.uint32), err_msg=f"seed {SEED}")


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("op", INT)
def test_int(op, dtype, rng, tmp_path):
    x, y = rng.integers(0, 2**32, (2, 5000), dtype=np.uint32).view(dtype)
    y[::7] = x[::7]
    result = dump(tmp_path, "int", op, int(dtype is np.int32), x, y)
    np.testing.assert_array_equal(result, getattr(np, op)(x, y).astype(dtype), err_msg=f"seed {SEED}")


@pytest.mark.parametrize("op", FOLD)
def test_fold_runs_in_ascending_order(op, rng, tmp_path):
    rows = rng.uniform(-1.5, 1.5, (9, 333)).astype(np.float32)
    start = rng.uniform(-1.5, 1.5, 9).astype(np.float32)
    result = dump(tmp_path, "fold", op, rows.shape[1], rows, start)
    steps = np.concatenate([start[:, None], rows], axis=1)
    assert_same(result, getattr(np, op).accumulate(steps, axis=1)[:, -1].copy())
