"""Kernels called with torch tensors: every dtype, views, gradients, updates in place, pairs of cores, refusals."""

import numpy as np
import pytest
import torch

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

SEED = 20261115
DTYPES = ["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int32", "int16", "int8", "uint8", "bool"]


@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(tile, x)
    nisa.dma_copy(out, tile)
    return out


@nki.jit
def doubled_in_place(x):
    tile = nl.load(x)
    nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
    nl.store(x, tile)
    return x


@nki.jit
def sum_and_product(x, y):
    total = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    product = nl.ndarray((x.shape[1], y.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    a, b = nl.load(x), nl.load(y)
    nl.store(total, nl.add(a, b))
    nl.store(product, nl.copy(nl.matmul(a, b, transpose_x=True)))
    return total, product


def bits(tensor):
    return tensor.contiguous().view(torch.uint8).numpy()


def random(*shape, dtype="float32"):
    torch.manual_seed(SEED)
    if dtype == "bool":
        return torch.randint(0, 2, shape, dtype=torch.bool)
    kind = getattr(torch, dtype)
    return torch.randint(0, 100, shape, dtype=kind) if not kind.is_floating_point else torch.randn(*shape).to(kind)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_come_back_as_they_went(dtype):
    x = random(5, 7, dtype=dtype)
    result = copied(x)
    assert isinstance(result, torch.Tensor) and result.dtype == x.dtype and result.shape == x.shape
    np.testing.assert_array_equal(bits(result), bits(x))


def test_special_values():
    x = torch.tensor([[0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-45]])
    np.testing.assert_array_equal(bits(copied(x)), bits(x))


@pytest.mark.parametrize("view", [lambda x: x.T, lambda x: x[::2, 1:], lambda x: x[0:1].expand(4, 6)])
def test_views_are_read_as_they_look(view):
    x = view(random(6, 6))
    assert torch.equal(copied(x), x)


def test_an_argument_is_updated_in_place():
    for x in (random(4, 6), random(4, 6, dtype="bfloat16"), random(6, 4).T):
        before = x.clone()
        result = doubled_in_place(x)
        assert torch.equal(x, 2 * before) and torch.equal(result, x)


def test_a_tensor_with_a_gradient_is_read():
    x = random(4, 6).requires_grad_()
    assert torch.equal(copied(x), x.detach())


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("bfloat16", 3e-2)])
def test_several_results(dtype, tolerance):
    x, y = random(64, 32, dtype=dtype), random(64, 32, dtype=dtype).flip(0)
    total, product = nki.simulate(sum_and_product)(x, y=y)
    assert torch.equal(total, x + y) and product.dtype == torch.float32
    torch.testing.assert_close(product, x.float().T @ y.float(), rtol=tolerance, atol=tolerance)


def test_torch_beside_numpy_and_a_pair_of_cores():
    x = random(8, 4)
    total, product = sum_and_product[2](x, x.numpy().copy())
    assert torch.equal(total, 2 * x)
    torch.testing.assert_close(product, x.T @ x)


def test_in_containers():
    @nki.jit
    def kernel(inputs):
        first, (second,) = inputs
        out = nl.ndarray(first.shape, dtype=first.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.add(nl.load(first), nl.load(second)))
        return {"sum": out}

    x = random(3, 5)
    assert torch.equal(kernel((x, (x,)))["sum"], 2 * x)


@pytest.mark.parametrize("x", [torch.zeros(2, 2, dtype=torch.complex64), torch.zeros(2, 2, dtype=torch.int64),
                               torch.zeros(2, 2, dtype=torch.float64), torch.zeros(2, 2, device="meta"),
                               torch.ones(2, 2).to_sparse(), torch.zeros(0, 2), torch.tensor(1.0)],
                         ids=["complex64", "int64", "float64", "meta", "sparse", "empty", "scalar"])
def test_what_no_kernel_takes_is_named(x):
    with pytest.raises(kiln.NkiValidationError) as caught:
        copied(x)
    assert "`x`" in str(caught.value) and caught.value.diagnostics[0].help
