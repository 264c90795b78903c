"""Every dtype conversion against ml_dtypes and NumPy, bit for bit except for the payload of NaNs."""

import os
import pathlib
import re
import subprocess
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

DUMP = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "tests/base/dtype_dump"
TABLE = pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "kiln/base/dtype.def"
SEED = int(os.environ["KILN_SEED"])

ROWS = re.findall(r"^KILN_DTYPE\((\w+), *(\d+), *\d+, *\d+, *\d+, *(\w+),", TABLE.read_text(), re.M)
CLASS = {name: cls for name, _, cls in ROWS}
BYTES = {name: int(size) for name, size, _ in ROWS}
FLOATS = [n for n in CLASS if CLASS[n] in ("floating", "scale")]
INTS = [n for n in CLASS if CLASS[n].endswith("_int")]
PACKED = [n for n in CLASS if CLASS[n] == "packed"]


def oracle_dtype(name):
    name = name.removesuffix("_x4")
    return np.dtype({"bool_": np.bool_}.get(name) or getattr(ml_dtypes, name, None) or name)


def dump(tmp_path, mode, name, data, out_dtype):
    source, target = tmp_path / "in.bin", tmp_path / "out.bin"
    data.tofile(source)
    subprocess.run([DUMP, mode, name, source, target], check=True)
    return np.fromfile(target, out_dtype)


def all_elements(name):
    """All bit patterns of a dtype of one or two bytes; random ones, and the corners, of four."""
    bits = 8 * BYTES[name]
    if bits <= 16:
        return np.arange(1 << bits, dtype=f"u{BYTES[name]}")
    return np.concatenate([f32_samples().view(np.uint32), np.arange(1 << 16, dtype=np.uint32)])


def neighbours(bits):
    return np.concatenate([bits + np.uint32(d) for d in (-2 % 2**32, -1 % 2**32, 0, 1, 2)])


def boundaries():
    """Both signs of the values of every narrow float, the midpoints between them, and integers at a range's end."""
    points = []
    for name in FLOATS + PACKED:
        if name in ("float32", "tfloat32"):
            continue
        dtype = oracle_dtype(name)
        codes = np.arange(1 << (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}")
        with np.errstate(invalid="ignore"):
            values = np.unique(codes.view(dtype).astype(np.float64))
        values = values[np.isfinite(values)]
        step = values[-1] - values[-2]
        points += [values, (values[1:] + values[:-1]) / 2, [values[-1] + step / 2, values[-1] + step]]
    for bits in (7, 8, 15, 16, 31, 32):
        points.append(float(1 << bits) + np.arange(-4, 4, 0.25))
    with np.errstate(over="ignore"):
        bits = np.concatenate(points).astype(np.float32).view(np.uint32) & np.uint32(0x7FFFFFFF)
    bits = neighbours(np.unique(bits))
    return np.concatenate([bits, bits ^ np.uint32(0x80000000)])


def f32_samples():
    """Float32 patterns: every upper half with telling lower halves, all boundaries, and random patterns."""
    upper = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    lower = [0, 1, 0x0FFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF]
    random = np.random.default_rng(SEED).integers(0, 1 << 32, 2_000_000, dtype=np.uint32)
    dense = [upper | np.uint32(low) for low in lower]
    return np.concatenate(dense + [boundaries(), random]).view(np.float32)


@pytest.fixture(scope="module")
def samples():
    print("KILN_SEED =", SEED)
    return f32_samples()


def assert_same(got, want, what, given):
    """Equal bits, or both NaN; `want` and `got` are float arrays or integer arrays."""
    assert got.shape == want.shape
    raw = f"u{want.dtype.itemsize}"
    differs = got.view(raw) != want.view(raw)
    if want.dtype.kind not in "iub":
        differs &= ~(np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))
    where = np.flatnonzero(differs)[:5]
    report = [(given[i], hex(got.view(raw)[i]), hex(want.view(raw)[i])) for i in where]
    assert not report, f"{what}, seed {SEED}: {differs.sum()} differ, (input, got, want): {report}"


def round_to_tfloat32(x):
    """The nearest multiple of the last kept place, computed by float64 arithmetic instead of bits."""
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(x.astype(np.float64))[1] - 1, -126)
        unit = np.ldexp(1.0, exponent - 10)
        return (np.rint(x.astype(np.float64) / unit) * unit).astype(np.float32)


def expected_from_float(name, x):
    if CLASS[name] == "boolean":
        return x != 0
    if name == "tfloat32":
        return round_to_tfloat32(x)
    dtype = oracle_dtype(name)
    with np.errstate(all="ignore"):
        if name in INTS:
            limits = np.iinfo(dtype)
            rounded = np.clip(np.rint(x.astype(np.float64)), limits.min, limits.max)
            return np.where(np.isnan(x), 0, rounded).astype(dtype)
        return x.astype(dtype)


@pytest.mark.parametrize("name", [n for n in CLASS if CLASS[n] != "packed"])
def test_from_float(name, samples, tmp_path):
    want = expected_from_float(name, samples)
    assert_same(dump(tmp_path, "from_float", name, samples, want.dtype), want, name, samples)


def test_tfloat32_clears_low_bits(samples, tmp_path):
    assert not np.any(dump(tmp_path, "from_float", "tfloat32", samples, np.uint32) & np.uint32(0x1FFF))


@pytest.mark.parametrize("name", [n for n in CLASS if CLASS[n] not in ("packed", "boolean")])
def test_to_float(name, tmp_path):
    elements = all_elements(name)
    with np.errstate(all="ignore"):
        want = elements.view("f4" if name == "tfloat32" else oracle_dtype(name)).astype(np.float32)
    assert_same(dump(tmp_path, "to_float", name, elements, np.float32), want, name, elements)


@pytest.mark.parametrize("name", INTS)
def test_to_int(name, tmp_path):
    elements = all_elements(name)
    want = elements.view(oracle_dtype(name)).astype(np.int64)
    assert_same(dump(tmp_path, "to_int", name, elements, np.int64), want, name, elements)


def int_samples():
    rng = np.random.default_rng(SEED)
    powers = [s * ((1 << k) + d) for k in range(63) for d in range(-3, 4) for s in (1, -1)]
    # Just beside the ties of a format with m mantissa bits: rounding first to a wider format would go wrong here.
    ties = [s * (((2 << m) + o) << k) + d for m in (0, 2, 3, 4, 7, 10, 23) for o in (1, 3) for k in range(60 - m)
            for d in (-1, 0, 1) for s in (1, -1)]
    spread = rng.integers(-(2**63), 2**63, 2000, dtype=np.int64) >> rng.integers(0, 63, 2000)
    return np.unique(np.concatenate([np.array(powers + ties + [-(2**63), 2**63 - 1], np.int64), spread]))


@pytest.mark.parametrize("name", INTS)
def test_from_int_saturates(name, tmp_path):
    given = int_samples()
    limits = np.iinfo(oracle_dtype(name))
    want = np.clip(given, limits.min, limits.max).astype(oracle_dtype(name))
    assert_same(dump(tmp_path, "from_int", name, given, want.dtype), want, name, given)


def nearest(name, value):
    """The nearest value to an integer, ties to even, by exact fractions; overflow as for floats."""
    info = ml_dtypes.finfo(np.float32 if name == "tfloat32" else oracle_dtype(name))
    mantissa = 10 if name == "tfloat32" else info.nmant
    if value == 0:
        return 0.0
    unit = Fraction(2) ** max(abs(value).bit_length() - 1 - mantissa, int(info.minexp) - mantissa)
    rounded = round(Fraction(value) / unit) * unit
    if abs(rounded) > Fraction(float(info.max)):
        beyond = np.inf if np.isinf(np.array([np.inf]).astype(info.dtype).astype(np.float64))[0] else np.nan
        return beyond if value > 0 else -beyond
    return float(rounded)


@pytest.mark.parametrize("name", [n for n in FLOATS if CLASS[n] == "floating"])
def test_from_int_rounds_once(name, tmp_path):
    given = int_samples()
    dtype = np.dtype(np.float32) if name == "tfloat32" else oracle_dtype(name)
    with np.errstate(all="ignore"):
        want = np.array([nearest(name, int(v)) for v in given]).astype(dtype)
    assert_same(dump(tmp_path, "from_int", name, given, dtype), want, name, given)


def test_from_int_to_scale(tmp_path):
    """A scale is the nearest power of two, the larger one of two equally near; NaN unless positive."""
    given = int_samples()
    exponents = [int(v).bit_length() - 1 for v in given]
    want = [127 + e + (2 * int(v) >= 3 << e) if v > 0 else 255 for v, e in zip(given, exponents)]
    got = dump(tmp_path, "from_int", "float8_e8m0fnu", given, np.uint8)
    assert_same(got, np.array(want, np.uint8), "float8_e8m0fnu", given)


@pytest.mark.parametrize("name", PACKED)
def test_pack(name, samples, tmp_path):
    values = samples[: len(samples) // 4 * 4]
    with np.errstate(all="ignore"):
        want = values.astype(oracle_dtype(name))
    bits = 2 * BYTES[name]
    elements = dump(tmp_path, "pack", name, values, f"u{BYTES[name]}")
    parts = np.stack([elements >> (bits * q) & ((1 << bits) - 1) for q in range(4)], axis=1)
    got = parts.astype(np.uint8).ravel().view(oracle_dtype(name))
    assert_same(got, want, name, values)


@pytest.mark.parametrize("name", PACKED)
def test_unpack(name, tmp_path):
    bits = 2 * BYTES[name]
    codes = np.arange(1 << bits, dtype=np.uint8)
    parts = np.stack([np.roll(codes, 5 * q) for q in range(4)], axis=1)
    elements = sum(parts[:, q].astype(np.uint32) << np.uint32(bits * q) for q in range(4))
    with np.errstate(all="ignore"):
        want = parts.ravel().view(oracle_dtype(name)).astype(np.float32)
    got = dump(tmp_path, "unpack", name, elements.astype(f"u{BYTES[name]}"), np.float32)
    assert_same(got, want, name, parts.ravel())
