"""nl.ndarray, zeros, ones, full, *_like, shared_constant, shared_identity_matrix."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from kernels import instructions, refused, run, run_kernel, same
from kiln import nki
from kiln.nki import language as nl

DTYPES = ["float32", "bfloat16", "float16", "int32", "uint8", "int8", "uint32", "float8_e5m2"]


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (128, 17), (5, 3, 2)])
def test_filled_tiles(target, dtype, shape):
    x = np.zeros((1, 1), np.float32)
    want = np.ones(shape).astype(numpy_dtype(dtype))
    same(run(lambda t: nl.zeros(shape, getattr(nl, dtype)), x), 0 * want)
    same(run(lambda t: nl.ones(shape, dtype=dtype, buffer=nl.sbuf), x), want)
    same(run(lambda t: nl.full(shape, 3.0, dtype, name="three"), x), (3 * want).astype(want.dtype))
    same(run(lambda t: nl.zeros_like(nl.full(shape, 7, dtype)), x), 0 * want)
    same(run(lambda t: nl.ones(shape, dtype, buffer=nl.psum), x), want)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("shape", [(1,), (5,), (128,), (129,), (300, 77), (3, 50, 1000), (70000, 33)])
def test_tensors_in_hbm_are_filled_by_dma(dtype, shape):
    def kernel():
        return (nl.full(shape, 2, dtype, buffer=nl.shared_hbm), nl.zeros(shape, dtype, buffer=nl.shared_hbm))

    two, zero = nki.simulate(kernel)()
    want = np.full(shape, 2).astype(numpy_dtype(dtype))
    same(two, want)
    same(zero, 0 * want)
    assert set(instructions(kernel)) == {"memset", "dma_copy"}


def test_full_refuses_what_the_dtype_cannot_hold():
    x = np.zeros((1, 1), np.float32)
    refused("memset.R1", lambda t: nl.full((1, 1), 2.5, nl.int32), x, help="2 instead of 2.0")
    refused("nki.R33", lambda t: nl.full((1, 1), t, nl.int32), x)


def test_likes_take_shape_dtype_and_buffer():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def kernel(x):
        assert nl.empty_like(x).buffer == x.buffer and nl.empty_like(x).shape == (2, 3)
        assert nl.empty_like(x, dtype=nl.int8, buffer=nl.psum).dtype == nl.int8
        like = nl.zeros_like(x)
        assert like.buffer == nl.sbuf and like.dtype == nl.float32
        return nl.zeros_like(x, dtype=nl.uint16, buffer=nl.shared_hbm)

    same(run_kernel(kernel, x), np.zeros((2, 3), np.uint16))


def test_ndarray_is_a_type():
    def kernel(x: nl.ndarray, y: nl.tensor = None):
        assert isinstance(x, nl.ndarray) and isinstance(x, nl.tensor) and not isinstance(3, nl.ndarray)
        return nl.zeros(x.shape, x.dtype, buffer=nl.shared_hbm)

    run_kernel(kernel, np.ones((2, 2), np.float32))


CONSTANT_DTYPES = ["float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                   "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]


@pytest.mark.parametrize("dtype", CONSTANT_DTYPES)
def test_shared_constant(rng, dtype):
    values = rng.integers(1, 100, (5, 7)).astype(numpy_dtype(dtype))

    def kernel():
        constant = nl.shared_constant(values)
        assert constant.buffer == nl.shared_hbm and constant.shape == (5, 7)
        assert nl.shared_constant(values.copy()).name == constant.name
        assert nl.shared_constant((values[:, :6] * 1).copy()).name != constant.name
        out = nl.ndarray((5, 7), dtype=dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(constant))
        return out

    same(nki.simulate(kernel)(), values)


def test_shared_constant_of_a_file(tmp_path, rng):
    values = rng.standard_normal((3, 4)).astype(np.float32)
    np.save(tmp_path / "table.npy", values)
    for path in (tmp_path / "table.npy", str(tmp_path / "table.npy")):
        def kernel():
            out = nl.ndarray((3, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            nl.store(out, nl.load(nl.shared_constant(path)))
            return out

        same(nki.simulate(kernel)(), values)


def test_shared_constant_of_two_cores(rng):
    values = rng.standard_normal((4, 4)).astype(np.float32)

    def kernel(x):
        constant = nl.shared_constant(values)
        if nl.program_id(0) == 1:
            constant = nl.shared_constant(2 * values)  # only this core has it
        out = nl.ndarray((2, 4, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out[nl.program_id(0)], nl.load(constant))
        return out

    got = nki.simulate(nki.jit(kernel)[2])(np.zeros((1, 1), np.float32))
    same(got, np.stack([values, 2 * values]))


@pytest.mark.parametrize("differ", [False, True])
def test_shared_constant_is_the_same_on_both_cores(differ):
    def kernel(x):
        core = nl.program_id(0)
        constant = nl.shared_constant(np.full((1, 4), core if differ else 7, np.float32))
        out = nl.ndarray((2, 1, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out[core], nl.load(constant))
        return out

    launched, x = nki.jit(kernel)[2], np.zeros((1, 1), np.float32)
    assert [d.code for d in kiln.check(launched, x).diagnostics] == ["nki.R90"] * differ
    if differ:
        with pytest.raises(kiln.NkiValidationError, match="core 1 gives it other data"):
            nki.simulate(launched)(x)
    else:
        same(nki.simulate(launched)(x)[:, 0, 0], np.array([7, 7], np.float32))


def test_shared_constant_refuses(tmp_path):
    x = np.zeros((1, 1), np.float32)
    refused("nki.R33", lambda t: nl.shared_constant(tmp_path / "absent.npy"), x, help="np.save")
    (tmp_path / "text.npy").write_text("no array")
    refused("nki.R33", lambda t: nl.shared_constant(str(tmp_path / "text.npy")), x, help="np.save")
    refused("nki.R33", lambda t: nl.shared_constant(3.0), x)
    refused("nki.R15", lambda t: nl.shared_constant(np.zeros((2, 2))), x, help="float32")
    with pytest.raises(nki.isa.NkiValidationError) as caught:
        nl.shared_constant(x)
    assert caught.value.code == "nki.R2"

    def writes(x):
        constant = nl.shared_constant(np.ones((1, 1), np.float32))
        nl.store(constant, nl.load(x))
        return constant

    with pytest.raises(nki.isa.NkiValidationError) as caught:
        run_kernel(writes, x)
    assert caught.value.code == "nki.R35"


@pytest.mark.parametrize("dtype", ["uint8", "float32", "bfloat16", "int32"])
@pytest.mark.parametrize("n", [1, 31, 128])
def test_shared_identity_matrix(target, dtype, n):
    want = np.eye(n, dtype=numpy_dtype(dtype))
    x = np.zeros((1, 1), np.float32)
    same(run(lambda t: nl.shared_identity_matrix(n, dtype=dtype), x), want)
    same(run(lambda t: nl.shared_identity_matrix(n, dst=nl.ndarray((n, n), dtype)), x), want)
    if dtype == "uint8":
        same(run(lambda t: nl.shared_identity_matrix(n), x), want)


def test_shared_identity_matrix_refuses_another_shape():
    refused("nki.R32", lambda t: nl.shared_identity_matrix(3, dst=t), np.zeros((3, 4), np.float32))
