"""nki.language. Made by `python -m kiln._stubs` from the package."""

from builtins import range as range

from kiln._kiln import NkiTensor, Op
from kiln._trace.dtypes import DType
from kiln._trace.memory import MemoryRegion as MemoryRegion
from kiln._trace.nki_object import NKIObject as NKIObject
from kiln.nki._tile_size import tile_size as tile_size

class ndarray(NkiTensor):
    def __new__(cls, shape, dtype, buffer=..., name=..., address=..., **kwargs) -> NkiTensor: ...

tensor = ndarray

class _abs(Op):
    """|x|, elementwise."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

abs: _abs

class _abs_max(Op):
    """the one with the larger magnitude, y when they tie, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

abs_max: _abs_max

class _abs_min(Op):
    """the one with the smaller magnitude, y when they tie, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

abs_min: _abs_min

class _add(Op):
    """x + y, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

add: _add

def affine_range(start, stop=..., step=...):
    """range, for loops whose passes do not depend on each other."""

def all(x, axis, dtype=...) -> NkiTensor:
    """1 where every element over the last dimensions of x is true, else 0."""

class _arctan(Op):
    """The activation nl.arctan of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

arctan: _arctan

average: Op

bfloat16: DType

class _bitwise_and(Op):
    """x & y on raw bits, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

bitwise_and: _bitwise_and

class _bitwise_or(Op):
    """x | y on raw bits, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

bitwise_or: _bitwise_or

class _bitwise_xor(Op):
    """x ^ y on raw bits, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

bitwise_xor: _bitwise_xor

bool: DType

bool_: DType

def broadcast_to(x, shape, dtype=...) -> NkiTensor:
    """x with its dimensions of size 1 expanded, as a new SBUF tile; x itself when nothing changes."""

bypass: Op

class _ceil(Op):
    """ceil(x), elementwise."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

ceil: _ceil

class _copy(Op):
    """A new SBUF tile with x's elements: bit for bit unless dtype differs. Before NKI 0.6.0 through float32."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

copy: _copy

class _cos(Op):
    """cos(x), elementwise."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

cos: _cos

def device_print(print_prefix, tensor):
    """Prints the tensor with a prefix, as the device would at this point of the program."""

class _divide(Op):
    """x / y, elementwise, as x * (1 / y). The device has no division: this warns."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

divide: _divide

def dropout(x, rate, dtype=...) -> NkiTensor:
    """x with elements zeroed with probability rate, a number or a (P, 1) tile; the others stay as they are."""

def ds(start, size):
    """The slice start : start + size."""

def dynamic_range(start, stop=..., step=...):
    """A loop on the device: for i in nl.dynamic_range(n). The body is traced once; i is a register."""

def empty_like(x, dtype=..., buffer=..., name=...) -> NkiTensor:
    """An uninitialised tensor in x's shape, dtype and buffer."""

class _equal(Op):
    """1 where x == y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

equal: _equal

class _erf(Op):
    """The activation nl.erf of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

erf: _erf

class _erf_dx(Op):
    """The activation nl.erf_dx of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

erf_dx: _erf_dx

class _exp(Op):
    """The activation nl.exp of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

exp: _exp

def expand_dims(x, axis) -> NkiTensor:
    """A view of x with a dimension of size 1 at axis."""

float16: DType

float32: DType

float4_e2m1fn_x4: DType

float8_e3m4: DType

float8_e4m3: DType

float8_e4m3fn: DType

float8_e4m3fn_x4: DType

float8_e5m2: DType

float8_e5m2_x4: DType

float8_e8m0fnu: DType

class _floor(Op):
    """floor(x), elementwise."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

floor: _floor

class _fmod(Op):
    """The remainder of x / y with the sign of x. The device has none: this warns."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

fmod: _fmod

def fori_loop(lower, upper, body_fun, step=...):
    """A loop on the device: body_fun(i) is traced once, with i a register. Writing i does not change the loop."""

def full(shape, fill_value, dtype, buffer=..., name=...) -> NkiTensor:
    """A tensor filled with one number; tensors in HBM are filled by DMA from a tile in SBUF."""

def gather_flattened(data, indices, axis=..., dtype=...) -> NkiTensor:
    """Per partition, the elements of data's flattened free dimensions that indices name."""

class _gelu(Op):
    """The activation nl.gelu of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

gelu: _gelu

class _gelu_apprx_sigmoid(Op):
    """The activation nl.gelu_apprx_sigmoid of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

gelu_apprx_sigmoid: _gelu_apprx_sigmoid

class _gelu_apprx_sigmoid_dx(Op):
    """The activation nl.gelu_apprx_sigmoid_dx of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

gelu_apprx_sigmoid_dx: _gelu_apprx_sigmoid_dx

class _gelu_apprx_tanh(Op):
    """The activation nl.gelu_apprx_tanh of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

gelu_apprx_tanh: _gelu_apprx_tanh

class _gelu_dx(Op):
    """The activation nl.gelu_dx of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

gelu_dx: _gelu_dx

class _greater(Op):
    """1 where x > y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

greater: _greater

class _greater_equal(Op):
    """1 where x >= y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

greater_equal: _greater_equal

hbm: MemoryRegion

int16: DType

int32: DType

int8: DType

class _invert(Op):
    """~x of integers: every bit flipped."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

invert: _invert

def is_hbm(buffer):
    """Whether a buffer lies in HBM, private or shared."""

def is_on_chip(buffer):
    """Whether a buffer is SBUF or PSUM."""

def is_psum(buffer):
    """Whether a buffer is nl.psum."""

def is_sbuf(buffer):
    """Whether a buffer is nl.sbuf."""

class _left_shift(Op):
    """x << y, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

left_shift: _left_shift

class _less(Op):
    """1 where x < y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

less: _less

class _less_equal(Op):
    """1 where x <= y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

less_equal: _less_equal

def load(src, dtype=...) -> NkiTensor:
    """A new SBUF tile with the elements of a tensor in HBM."""

def load_transpose2d(src, dtype=...) -> NkiTensor:
    """The transpose of a 2-D tensor in HBM as a new SBUF tile; dimensions of size 1 after these two do not count."""

class _log(Op):
    """The activation nl.log of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

log: _log

class _logical_and(Op):
    """1 where x and y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

logical_and: _logical_and

class _logical_not(Op):
    """x XOR 1: for 0 and 1 only; of other values take nl.equal(x, 0)."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

logical_not: _logical_not

class _logical_or(Op):
    """1 where x or y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

logical_or: _logical_or

class _logical_xor(Op):
    """1 where exactly one of x and y is true, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

logical_xor: _logical_xor

def matmul(x, y, transpose_x=...) -> NkiTensor:
    """x @ y, or x.T @ y with transpose_x, as a float32 tile in PSUM."""

class _max(Op):
    """Reduces the last dimensions of x, which axis names, with maximum."""

    def __call__(self, x, axis, dtype=..., keepdims=...) -> NkiTensor: ...

max: _max

class _maximum(Op):
    """the larger of x and y, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

maximum: _maximum

def mean(x, axis, dtype=..., keepdims=...) -> NkiTensor:
    """The mean over the last dimensions of x; sums in float32."""

class _min(Op):
    """Reduces the last dimensions of x, which axis names, with minimum."""

    def __call__(self, x, axis, dtype=..., keepdims=...) -> NkiTensor: ...

min: _min

class _minimum(Op):
    """the smaller of x and y, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

minimum: _minimum

class _mish(Op):
    """The activation nl.mish of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

mish: _mish

class _mod(Op):
    """The remainder of x / y with the sign of y. The device has none: this warns."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

mod: _mod

class _multiply(Op):
    """x * y, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

multiply: _multiply

class _negative(Op):
    """-x, elementwise."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

negative: _negative

def no_reorder():
    """Instructions issued inside keep their order."""

class _not_equal(Op):
    """1 where x != y, else 0, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

not_equal: _not_equal

def num_programs(axes=...):
    """The number of cores that run the kernel."""

def ones(shape, dtype, buffer=..., name=...) -> NkiTensor:
    """A tensor filled with 1."""

class _power(Op):
    """x to the power y, on gpsimd; both are tiles in SBUF, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

power: _power

prelu: Op

private_hbm: MemoryRegion

def prod(x, axis, dtype=..., keepdims=...) -> NkiTensor:
    """Reduces the last dimensions of x, which axis names, with multiply."""

def program_id(axis=...):
    """The number of this core in its logical core; 0 without a grid."""

def program_ndim():
    """1 with a launch grid, also one of one core, else 0."""

psum: MemoryRegion

def rand(shape, dtype, buffer=..., name=...):
    """Uniform random numbers from 0 to below 1."""

def random_seed(seed):
    """Seeds the random numbers of the vector engine from a (1, 1) tile of 32 bits."""

class _reciprocal(Op):
    """1 / x, elementwise, on the vector engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

reciprocal: _reciprocal

class _relu(Op):
    """The activation nl.relu of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

relu: _relu

class _right_shift(Op):
    """x >> y with zero fill, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

right_shift: _right_shift

def rms_norm(x, w, axis, n, epsilon=..., dtype=..., compute_dtype=...) -> NkiTensor:
    """x / sqrt(sum(x^2) / n + epsilon) * w, the sum over the last dimensions of x."""

class _rsqrt(Op):
    """1 / sqrt(x), elementwise, on gpsimd; x is in SBUF. Before NKI 0.5.0 an activation."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

rsqrt: _rsqrt

sbuf: MemoryRegion

def sequential_range(start, stop=..., step=...):
    """range, under its old name."""

def shared_constant(constant) -> NkiTensor:
    """A NumPy array, or the .npy file at a path, as a tensor in shared HBM. Kernels read it, never write it."""

shared_hbm: MemoryRegion

def shared_identity_matrix(n, dtype=..., dst=...) -> NkiTensor:
    """The n x n identity in SBUF, loaded from a constant into dst or a new tile."""

class _sigmoid(Op):
    """The activation nl.sigmoid of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

sigmoid: _sigmoid

class _sign(Op):
    """The activation nl.sign of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

sign: _sign

class _silu(Op):
    """The activation nl.silu of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

silu: _silu

class _silu_dx(Op):
    """The activation nl.silu_dx of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

silu_dx: _silu_dx

class _sin(Op):
    """sin(x), elementwise, for every x: the argument is reduced to -pi ... pi first."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

sin: _sin

def softmax(x, axis=..., dtype=...) -> NkiTensor:
    """exp(x - max) / sum(exp(x - max)) over the last dimensions of x."""

class _softplus(Op):
    """The activation nl.softplus of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

softplus: _softplus

class _sqrt(Op):
    """The activation nl.sqrt of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

sqrt: _sqrt

class _square(Op):
    """The activation nl.square of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

square: _square

def static_range(start, stop=..., step=...):
    """range, under its old name."""

def store(dst, value):
    """Writes a tile in SBUF to a tensor in HBM, converting to its dtype."""

class _subtract(Op):
    """x - y, elementwise. x or y may be a number or a (P, 1) tile."""

    def __call__(self, x, y, dtype=...) -> NkiTensor: ...

subtract: _subtract

def sum(x, axis, dtype=..., keepdims=...) -> NkiTensor:
    """Reduces the last dimensions of x, which axis names, with add."""

class _tan(Op):
    """tan(x), elementwise: sin over cos."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

tan: _tan

class _tanh(Op):
    """The activation nl.tanh of x, elementwise, on the scalar engine."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

tanh: _tanh

tfloat32: DType

def transpose(x, dtype=...) -> NkiTensor:
    """The transpose of a 2-D tile, in PSUM."""

class _trunc(Op):
    """trunc(x), elementwise."""

    def __call__(self, x, dtype=...) -> NkiTensor: ...

trunc: _trunc

uint16: DType

uint32: DType

uint8: DType

def var(x, axis, dtype=..., keepdims=...) -> NkiTensor:
    """The population variance over the last dimensions of x, which stay as 1 whatever keepdims says."""

def where(condition, x, y, dtype=...) -> NkiTensor:
    """x where condition is 1, y where it is 0. x and y are tiles or numbers."""

def while_loop(init, body_fun):
    """A loop on the device that goes on while a register is not 0; body_fun returns the next condition."""

def zeros(shape, dtype, buffer=..., name=...) -> NkiTensor:
    """A tensor filled with 0."""

def zeros_like(x, dtype=..., buffer=..., name=...) -> NkiTensor:
    """Zeros in x's shape and dtype, in SBUF unless another buffer is named."""
