"""What the expressions of .test files may use: dtypes, conversions, inputs. NumPy, ml_dtypes and SciPy only."""

import ml_dtypes
import numpy as np
import scipy
import scipy.special

import xorwow

PACKED = {"float8_e5m2_x4": (np.uint32, "float8_e5m2"), "float8_e4m3fn_x4": (np.uint32, "float8_e4m3fn"),
          "float4_e2m1fn_x4": (np.uint16, "float4_e2m1fn")}
SPECIAL_FLOATS = [
    0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, np.inf, np.nan, 2.0**-149, 2.0**-133, 2.0**-126, 2.0**-24, 3.4028235e38,
    1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-4, 1 + 3 * 2.0**-4,  # ties of 16 and 8 bits
    65504.0, 65520.0, 240.0, 248.0, 448.0, 464.0, 57344.0, 61440.0,  # where 16- and 8-bit floats end
    127.5, 128.5, 255.5, 32767.5, 65535.5, 2.0**24 + 2, 2.0**31, 2.0**32,  # where integers end
]  # fmt: skip
SPECIAL_INTS = [0, 1, -1, 2, 3, 7, 31, 32, 127, 128, 255, 256, 2**24 - 1, 2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31]


def host_dtype(name):
    """The NumPy dtype that carries a dtype of the program; packed ones are raw unsigned integers."""
    if name in PACKED:
        return np.dtype(PACKED[name][0])
    if name == "tfloat32":
        return np.dtype(np.float32)
    return np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))


def is_float(dtype):
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def f32(x):
    """The value as the engines see it: rounded once to float32."""
    return np.asarray(x).astype(np.float32)


def f64(x):
    return f32(x).astype(np.float64) if is_float(np.asarray(x).dtype) else np.asarray(x).astype(np.float64)


def to_integer(x, dtype):
    """Nearest, ties to even, saturating; NaN is 0. Integers convert exactly before they saturate."""
    info = np.iinfo(dtype)
    if not is_float(x.dtype):
        return np.clip(x.astype(object if x.dtype == np.uint64 else np.int64), info.min, info.max).astype(dtype)
    rounded = np.nan_to_num(np.rint(f64(x)), nan=0.0, posinf=info.max, neginf=info.min)
    return np.clip(rounded, info.min, info.max).astype(dtype)


def to_tfloat32(x):
    bits = f32(x).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000
    keep = np.isnan(f32(x))
    return np.where(keep, bits & 0xFFFFE000 | 0x400000, rounded).astype(np.uint32).view(np.float32)


def cast(x, dtype):
    """Converts as a store does: through float32 to floats; integers to integers exactly."""
    x = np.asarray(x)
    host = host_dtype(dtype)
    if x.dtype == bool:
        x = x.astype(np.int32)
    if dtype in PACKED:
        if x.dtype != host:
            raise TypeError(f"{dtype} takes {host} elements; pack(x, '{dtype}') makes them")
        return x
    if dtype == "tfloat32":
        return to_tfloat32(x)
    if x.dtype == host:
        return x
    if dtype == "bool_":
        return x != 0
    return to_integer(x, host) if host.kind in "iu" else f32(x).astype(host)


def bf16(x):
    return cast(x, "bfloat16")


def fp16(x):
    return cast(x, "float16")


def view(x, dtype):
    """The same bytes as another dtype."""
    return np.ascontiguousarray(x).view(host_dtype(dtype))


def unpack(x, dtype):
    """Packed elements as float32, four to one, in the last dimension."""
    element = host_dtype(PACKED[dtype][1])
    if dtype == "float4_e2m1fn_x4":
        codes = np.stack([x >> 4 * q & 15 for q in range(4)], -1).astype(np.uint8).view(element)
    else:
        codes = np.ascontiguousarray(x)[..., None].view(element)
    return codes.astype(np.float32).reshape(*x.shape[:-1], -1)


def pack(x, dtype):
    """Groups of four values of the last dimension as one packed element each."""
    host, element = host_dtype(dtype), host_dtype(PACKED[dtype][1])
    codes = f32(x).astype(element).view(np.uint8).reshape(*x.shape[:-1], -1, 4)
    if dtype == "float4_e2m1fn_x4":
        return sum((codes[..., q].astype(host) & 15) << 4 * q for q in range(4)).astype(host)
    return np.ascontiguousarray(codes).view(host)[..., 0]


class Inputs:
    """Makers of input arrays. The tensor that is being filled gives shape and dtype unless a shape is given."""

    def __init__(self, rng):
        self.rng, self.tensor = rng, None

    def shape(self, given):
        return given or self.tensor.shape

    def normal(self, *shape, scale=1.0):
        return f32(self.rng.normal(0, scale, self.shape(shape)))

    def uniform(self, low=-1.0, high=1.0, shape=()):
        return f32(self.rng.uniform(low, high, self.shape(shape)))

    def ints(self, low, high, shape=()):
        """low … high - 1"""
        return self.rng.integers(low, high, self.shape(shape))

    def arange(self, start=0, step=1, shape=()):
        shape = self.shape(shape)
        return start + step * np.arange(np.prod(shape, dtype=int)).reshape(shape)

    def full(self, value, shape=()):
        return np.full(self.shape(shape), value)

    def const(self, values):
        return np.array(values)

    def bits(self, *shape):
        """Any bit pattern of the dtype."""
        host, shape = host_dtype(self.tensor.dtype), self.shape(shape)
        if host == np.bool_:
            return self.rng.integers(0, 2, shape).astype(bool)
        raw = self.rng.integers(0, 256, (*shape, host.itemsize), np.uint8)
        return raw.view(host)[..., 0]

    def specials(self, *shape):
        """Half special values of the dtype (NaN, infinities, zeros, subnormals, ties, ends), half random ones."""
        host, shape = host_dtype(self.tensor.dtype), self.shape(shape)
        if self.tensor.dtype in PACKED or host == np.bool_ or self.tensor.dtype == "float8_e8m0fnu":
            return self.bits(*shape)
        if is_float(host):
            values = np.array(SPECIAL_FLOATS + [-x for x in SPECIAL_FLOATS], np.float32).astype(host)
            info = ml_dtypes.finfo(host)
            ends = np.array([info.max, info.smallest_normal, info.smallest_subnormal], np.float32)
            values = np.concatenate([values, ends.astype(host), (-ends).astype(host)])
            spread = self.rng.normal(0, 1, shape) * 2.0 ** self.rng.integers(-8, 9, shape)
            tame = cast(spread, self.tensor.dtype)
        else:
            info = np.iinfo(host)
            values = np.array([v for v in [*SPECIAL_INTS, -128, -(2**24) - 1, info.min, info.max]
                               if info.min <= v <= info.max], host)  # fmt: skip
            tame = cast(self.rng.integers(-100, 101, shape), self.tensor.dtype)
        pick = self.rng.integers(0, 4, shape)
        special = values[self.rng.integers(0, len(values), shape)]
        return np.where(pick < 2, special, np.where(pick == 2, tame, self.bits(*shape)))

    def names(self):
        makers = ("normal", "uniform", "ints", "arange", "full", "const", "bits", "specials")
        return {name: getattr(self, name) for name in makers}


def maximum(x, y):
    """The larger; NaN wins, +0 over -0 (NumPy leaves the sign of zero open)."""
    zeros = np.copysign(np.float32(0), np.where(np.signbit(x), y, x))
    return np.where((x == 0) & (y == 0), zeros, np.maximum(x, y))


def minimum(x, y):
    """The smaller; NaN wins, -0 over +0."""
    zeros = np.copysign(np.float32(0), np.where(np.signbit(x), x, y))
    return np.where((x == 0) & (y == 0), zeros, np.minimum(x, y))


NAMES = {"np": np, "ml_dtypes": ml_dtypes, "scipy": scipy, "f32": f32, "f64": f64, "bf16": bf16, "fp16": fp16,
         "cast": cast, "view": view, "pack": pack, "unpack": unpack, "maximum": maximum, "minimum": minimum,
         "xorwow": xorwow}
