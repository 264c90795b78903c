"""Every activation function against NumPy in extended precision and SciPy, rounded once to float32."""

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from scipy import special

DUMP = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "tests/num/activation_dump"
TABLE = pathlib.Path(os.environ["KILN_SOURCE_DIR"]) / "kiln/num/activations.def"
SEED = int(os.environ["KILN_SEED"])
NAMES = re.findall(r"^KILN_ACTIVATION\((\w+),", TABLE.read_text(), re.M)
PARAM = 0.3

LD = np.longdouble
PI = LD(np.pi) + LD("1.2246467991473531772e-16")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sigmoid_product_dx(x):
    # 1 - sigmoid(x) is sigmoid(-x), which does not cancel.
    s = sigmoid(x)
    return s * (1 + x * sigmoid(-x))


def scaled_tail(a):
    """erfc(a / sqrt 2) / 2 without its factor e^(-a^2/2)."""
    return LD(0.5) * special.erfcx((a / np.sqrt(LD(2))).astype(np.float64))


def normal_cdf(x):
    tail = np.exp(-x * x / 2) * scaled_tail(abs(x))
    return np.where(x < 0, tail, 1 - tail)


def gelu_dx(x):
    tail = np.exp(-x * x / 2) * (scaled_tail(abs(x)) - abs(x) / np.sqrt(2 * PI))
    return np.where(x < 0, tail, 1 - tail)


def sin(x):
    d = abs(x) - LD(np.pi)
    return np.where(d > 0, np.sign(x) * (d**3 / 6 - d), np.sin(x))


ORACLE = {
    "copy": lambda x: x,
    "square": lambda x: x * x,
    "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0),
    "prelu": lambda x: np.where(x > 0, x, LD(np.float32(PARAM)) * x),
    "gelu": lambda x: x * normal_cdf(x),
    "gelu_dx": gelu_dx,
    "gelu_apprx_tanh": lambda x: x * sigmoid(2 * np.sqrt(2 / PI) * (x + LD("0.044715") * x**3)),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(LD("1.702") * x),
    "gelu_apprx_sigmoid_dx": lambda x: sigmoid_product_dx(LD("1.702") * x),
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": sigmoid_product_dx,
    "tanh": np.tanh,
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-abs(x))),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "erf": lambda x: special.erf(x.astype(np.float64)),
    "erf_dx": lambda x: 2 / np.sqrt(PI) * np.exp(-x * x),
    "exp": np.exp,
    "log": np.log,
    "sin": sin,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "sign": np.sign,
    "abs": abs,
}
# These pass through 0, where an error relative to the terms of the sum is a large one relative to the sum.
CROSSING = {"gelu_dx", "gelu_apprx_sigmoid_dx", "silu_dx"}


def patterns():
    """Every 997th bit pattern that is a finite number."""
    first = np.random.default_rng(SEED).integers(997)
    x = np.arange(first, 2**32, 997, dtype=np.uint32).view(np.float32)
    return x[np.isfinite(x)]


def bends():
    """Where the functions bend, their tails into the subnormal numbers, and around 1 and pi."""
    rng = np.random.default_rng(SEED)
    spread = [rng.uniform(-w, w, 300_000) for w in (0.5, 5, 20, 110)]
    near = [c + rng.normal(0, 1e-3, 50_000) for c in (1, -1, np.pi, -np.pi)]
    return np.concatenate(spread + near).astype(np.float32)


def dump(tmp_path, name, x):
    source, target = tmp_path / "in.bin", tmp_path / "out.bin"
    x.tofile(source)
    subprocess.run([DUMP, name, str(PARAM), source, target], check=True)
    return np.fromfile(target, np.float32)


def ordered(x):
    """Integers in the order of the float32 values, one apart for neighbours, equal for both zeros."""
    bits = x.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def test_every_function_has_an_oracle():
    assert list(ORACLE) == NAMES


@pytest.mark.parametrize("sample", [patterns, bends])
@pytest.mark.parametrize("name", NAMES)
def test_is_the_rounded_value(name, sample, tmp_path):
    x = sample()
    with np.errstate(all="ignore"):
        want = np.asarray(ORACLE[name](x.astype(LD))).astype(np.float32)
    got = dump(tmp_path, name, x)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    number = ~np.isnan(want)
    x, got, want = x[number], got[number], want[number]
    apart = abs(ordered(got) - ordered(want))
    if name in CROSSING:
        apart[abs(got.astype(np.float64) - want) < 2.0**-48 * (abs(want) < 2.0**-20)] = 0
    worst = np.argmax(apart)
    assert apart[worst] <= 1, f"seed {SEED}: {name}({x[worst]!r}) is {got[worst]!r}, not {want[worst]!r}"
    unequal = np.count_nonzero(apart)
    print(f"{name} {sample.__name__}: {unequal} of {len(x)} differ by one place")
    assert unequal <= 1e-4 * len(x), f"seed {SEED}: {unequal} of {len(x)}"


@pytest.mark.parametrize("name", ["gelu", "gelu_apprx_sigmoid", "gelu_apprx_tanh", "mish", "silu", "sin", "tanh", "erf",
                                  "arctan", "prelu"])
def test_sign_of_results(name, tmp_path):
    """The sign of the value survives where the value itself vanishes."""
    x = np.array([-1e38, -1e-45, -0.0, 0.0, 1e-45, 3.0], np.float32)
    assert np.array_equal(np.signbit(dump(tmp_path, name, x)), np.signbit(x))
