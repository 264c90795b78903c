"""Products of ComplexTensors under the names of trnfft."""

from kiln import blas
from kiln.blas import _backend as shared
from kiln.blas._flags import flags_of

from .. import _products
from .._call import function
from .._refused import Refused
from .._rows import current_backend
from ..complex import ComplexTensor

HAS_NKI = True  # the simulator runs kernels everywhere

get_backend = shared.get_backend
__getattr__ = flags_of("TRNFFT", __name__)


def set_backend(backend):
    """As kiln.blas.set_backend; a word that is none is also an AssertionError, as in trnfft."""
    try:
        shared.set_backend(backend)
    except ValueError as error:
        raise Refused(str(error)) from None


def _matrix(z, name):
    z = z if isinstance(z, ComplexTensor) else ComplexTensor(z)
    if z.ndim != 2:
        raise Refused(f"{name}: {z.ndim} dimensions, expected a matrix")
    return z


def _use_nki():
    return current_backend() != "native"


def _use_simulator():
    return current_backend() == "simulator"


@function
def complex_gemm(a, b, products=4):
    """a b of complex matrices, any sizes. On a device of 4 or of 3 real products: a quarter less work, and errors
    relative to the sum of both parts."""
    if products not in (3, 4):
        raise Refused(f"products: {products!r}, expected 3 or 4")
    a, b = _matrix(a, "a"), _matrix(b, "b")
    if a.shape[1] != b.shape[0]:
        raise Refused(f"b: {b.shape[0]} rows, but a has {a.shape[1]} columns")
    return _products.gemm(a, b, products=products)


@function
def complex_linear(x, weight_real, weight_imag):
    """x Wᵀ for x (..., in) and W (out, in)."""
    x = x if isinstance(x, ComplexTensor) else ComplexTensor(x)
    w = _matrix(ComplexTensor(weight_real, weight_imag), "weight_real")
    if x.shape[-1] != w.shape[1]:
        raise Refused(f"x: {x.shape[-1]} features, but the weight has {w.shape[1]}")
    return _products.gemm(_products.rows_of(x), w, "N", "T").reshape(*x.shape[:-1], w.shape[0])


@function
def complex_multiply(a, b):
    """Elementwise."""
    return _products.multiply(a, b)


@function
def complex_mask_apply(mask, spectrum):
    """mask spectrum, elementwise; the mask may be real."""
    if not isinstance(spectrum, ComplexTensor):
        spectrum = ComplexTensor(spectrum)
    if not isinstance(mask, ComplexTensor):
        mask = ComplexTensor(mask)
    return _products.multiply(mask, spectrum)


def _complex_gemm_kernel_bf16(a_real, a_imag, b_real, b_imag):
    """(real, imaginary) part of the product of bfloat16 matrices, summed in float32."""
    def product(x, y):
        return blas.gemm(1.0, x.float(), y.float(), precision="bf16")

    return (product(a_real, b_real) - product(a_imag, b_imag)), (product(a_real, b_imag) + product(a_imag, b_real))


def _simulate_kernel(kernel, *tensors):
    """Calls a kernel on the simulator."""
    with shared.scope("simulator"):
        return kernel(*tensors)
