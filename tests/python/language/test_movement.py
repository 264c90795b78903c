"""nl.load, store, copy, transposes, matmul, broadcast_to, where, gather_flattened."""

import ml_dtypes
import numpy as np
import pytest

from kernels import close, instructions, lowering, refused, run, run_kernel, same
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.uint8, np.int16, np.uint32]


def sample(rng, shape, dtype):
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    values = rng.standard_normal(shape).astype(dtype)
    values.flat[:3] = np.array([np.nan, np.inf, -0.0], dtype)[:values.size]
    return values


@pytest.mark.parametrize("dtype", DTYPES)
def test_load_copy_store_keep_bits(target, rng, dtype):
    x = sample(rng, (int(rng.integers(1, 129)), int(rng.integers(1, 300))), dtype)
    same(run(nl.copy, x), x)
    assert lowering(nl.copy, x) == ["tensor_copy"]


def test_load_copy_and_store_convert(target, rng):
    x = rng.standard_normal((7, 33)).astype(np.float32) * 50

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
        nl.store(out, nl.copy(nl.load(x, dtype=nl.bfloat16), dtype=nl.float32))
        return out

    want = np.rint(x.astype(ml_dtypes.bfloat16).astype(np.float32)).astype(np.int32)
    same(run_kernel(kernel, x), want)


def test_load_of_more_dimensions_and_of_slices(rng):
    x = rng.standard_normal((4, 5, 6)).astype(np.float32)

    def kernel(x):
        out = nl.ndarray((2, 5, 6), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(dst=out[0], value=nl.load(x[3]))
        nl.store(out[1:2], value=nl.load(x[0:1]))
        return out

    same(run_kernel(kernel, x), x[[3, 0]])


def test_load_and_store_refuse(rng):
    x = rng.standard_normal((4, 6)).astype(np.float32)
    refused("nki.R31", lambda t: nl.load(t), x, help="nl.copy")
    refused("nki.R31", lambda t: nl.load([1, 2]), x)
    refused("nki.R31", lambda t: nl.store(t, t), x)
    refused("nki.R27", lambda t: nl.copy(nl.ndarray((2, 2), nl.float32, buffer=nl.shared_hbm)), x, help="nl.load")
    refused("nki.R32", lambda t: nl.load(nl.ndarray((9,), nl.float32, buffer=nl.shared_hbm)), x, help="reshape((9, 1))")
    refused("nki.R32", lambda t: nl.load(nl.ndarray((129, 2), nl.float32, buffer=nl.shared_hbm)), x, help="128")
    out = lambda shape: nl.ndarray(shape, nl.float32, buffer=nl.shared_hbm)  # noqa: E731
    refused("nki.R32", lambda t: nl.store(out((6, 4)), t), x)
    refused("nki.R31", lambda t: nl.store(out((4, 6)), 1.0), x, help="nl.full")
    refused("nki.R31", lambda t: nl.store(out((4, 6)), out((4, 6))), x, help="dma_copy")
    refused("nki.R31", lambda t: nl.store(out((6, 4)), nl.transpose(t)), x, help="nl.copy(value)")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int32])
def test_load_transpose2d(target, rng, dtype):
    x = sample(rng, (int(rng.integers(1, 300)), int(rng.integers(1, 129))), dtype)

    def kernel(x):
        t = nl.load_transpose2d(x)
        out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
        nl.store(out, t)
        return out

    same(run_kernel(kernel, x), np.ascontiguousarray(x.T))
    assert instructions(kernel, x) == ["dma_transpose", "dma_copy"]


def test_load_transpose2d_converts(rng):
    x = rng.standard_normal((9, 5)).astype(np.float32)

    def kernel(x):
        out = nl.ndarray((5, 9), dtype=nl.bfloat16, buffer=nl.shared_hbm)
        nl.store(out, nl.load_transpose2d(x, dtype=nl.bfloat16))
        return out

    same(run_kernel(kernel, x), np.ascontiguousarray(x.T).astype(ml_dtypes.bfloat16))


def test_load_transpose2d_of_a_local_tensor_warns_on_trn1(monkeypatch, rng):
    x = rng.standard_normal((9, 5)).astype(np.float32)

    def kernel(x):
        local = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(local, nl.load(x))
        out = nl.ndarray((5, 9), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load_transpose2d(local))
        return out

    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    with pytest.warns(nki.NkiWarning, match="trn1"):
        same(run_kernel(kernel, x), np.ascontiguousarray(x.T))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.uint8])
def test_transpose(target, rng, dtype):
    x = sample(rng, (int(rng.integers(1, 129)), int(rng.integers(1, 129))), dtype)
    if target == "trn1" and x.dtype.kind != "u":  # it multiplies with an identity, which spreads NaN and inf
        x.flat[:3] = 1
    got = run(nl.transpose, x)
    same(got, np.ascontiguousarray(x.T))
    assert lowering(nl.transpose, x) == ["nc_transpose", "tensor_copy"]


def test_transpose_is_in_psum_and_converts(rng):
    x = rng.integers(0, 200, (5, 9)).astype(np.uint8)

    def function(t):
        result = nl.transpose(t, dtype=nl.float32)
        assert result.buffer == nl.psum
        return result

    same(run(function, x), np.ascontiguousarray(x.T).astype(np.float32))
    refused("nki.R32", lambda t: nl.transpose(t.reshape((5, 3, 3))), x)
    refused("operand.R6", lambda t: nl.transpose(t), np.zeros((4, 129), np.float32))


def test_matmul(target, rng, float_dtype):
    k, m, n = (int(v) for v in rng.integers(1, [129, 129, 513]))
    x, y = rng.standard_normal((k, m)).astype(float_dtype), rng.standard_normal((k, n)).astype(float_dtype)
    want = x.astype(np.float64).T @ y.astype(np.float64)
    close(run(lambda a, b: nl.matmul(a, b, transpose_x=True), x, y), want, 1e-5, 1e-4)
    close(run(nl.matmul, np.ascontiguousarray(x.T), y), want, 1e-5, 1e-4)
    assert lowering(lambda a, b: nl.matmul(a, b, transpose_x=True), x, y) == ["nc_matmul", "tensor_copy"]


def test_matmul_refuses(rng):
    x, y = np.zeros((4, 8), np.float32), np.zeros((9, 3), np.float32)
    refused("nki.R32", lambda a, b: nl.matmul(a, b), x, y, help="(K, N)")
    refused("nki.R32", lambda a, b: nl.matmul(a.reshape((4, 2, 4)), b), x, y)
    refused("nki.R27", lambda a, b: nl.matmul(1.0, b), x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("old, new", [((1, 1), (128, 9)), ((1, 33), (77, 33)), ((50, 1), (50, 31)),
                                      ((1, 3, 1), (40, 3, 5)), ((1, 300), (1, 300)), ((6, 1, 4), (6, 7, 4))])
def test_broadcast_to(target, rng, dtype, old, new):
    x = sample(rng, old, dtype)
    if old[0] != new[0] and np.dtype(dtype).kind not in "iu":
        x = x + np.zeros_like(x)  # a sum has no negative zero
    same(run(lambda t: nl.broadcast_to(t, new), x), np.ascontiguousarray(np.broadcast_to(x, new)))


def test_broadcast_to_partitions_is_a_product_with_ones(target, rng, float_dtype):
    x, n = rng.standard_normal((1, 700)).astype(float_dtype), int(rng.integers(2, 129))

    def twice(t):
        return nl.add(nl.broadcast_to(t, (n, 700)), nl.broadcast_to(t, (n, 700)))

    same(run(twice, x), np.ascontiguousarray(np.broadcast_to(x + x, (n, 700))))
    once = ["nc_matmul", "activation"] * 2  # a bank each
    assert lowering(twice, x) == ["memset", *once, *once, "tensor_tensor"]

    def doubled(t):
        return nl.broadcast_to(nl.matmul(t[:, 0:1], t[:, 0:40], transpose_x=True), (5, 40))  # from PSUM

    want = np.broadcast_to(x[:, 0:1].astype(np.float32) * x[:, 0:40].astype(np.float32), (5, 40))
    close(run(doubled, x), want, 1e-6, 1e-6)


def test_broadcast_to_in_device_loops(target, rng):
    x = rng.standard_normal((1, 64)).astype(np.float32)

    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        row = nl.load(x)
        total = nl.zeros((128, 64), dtype=x.dtype)

        def body(i):
            nisa.tensor_tensor(total, total, nl.broadcast_to(row, (128, 64)), nl.add)

        nl.fori_loop(0, 3, body)
        nisa.tensor_tensor(total, total, nl.broadcast_to(row, (128, 64)), nl.add)
        nl.store(out, total)
        return out

    close(run_kernel(kernel, x), np.broadcast_to(4 * x, (128, 64)), 1e-5, 1e-5)


def test_broadcast_to_of_equal_shapes_and_its_errors(rng):
    x = rng.standard_normal((3, 4)).astype(np.float32)

    def function(t):
        assert nl.broadcast_to(t, (3, 4)) is t
        return nl.broadcast_to(t, [3, 4], dtype=nl.bfloat16)

    same(run(function, x), x.astype(ml_dtypes.bfloat16))
    refused("nki.R32", lambda t: nl.broadcast_to(t, (6, 4)), x)
    refused("nki.R32", lambda t: nl.broadcast_to(t, (3, 4, 5)), x)
    refused("nki.R32", lambda t: nl.broadcast_to(t, (130, 4)), x[:1].copy(), help="128")
    with pytest.raises(TypeError):
        nl.broadcast_to(shape=(1, 2))


def test_expand_dims(rng):
    x = rng.standard_normal((3, 4)).astype(np.float32)
    same(run(lambda t: nl.copy(nl.expand_dims(t, 1)), x), x[:, None])
    same(run(lambda t: nl.copy(nl.expand_dims(t, -1)), x), x[..., None])
    assert lowering(lambda t: nl.expand_dims(t, 1), x) == []
    refused("nki.R27", lambda t: nl.expand_dims(3, 1), x)


def test_where(target, rng, float_dtype):
    shape = (int(rng.integers(1, 129)), int(rng.integers(3, 200)))
    c = (rng.random(shape) < 0.5).astype(np.float32)
    x, y = sample(rng, shape, float_dtype), sample(rng, shape, float_dtype)
    same(run(nl.where, c, x, y), np.where(c == 1, x, y))
    same(run(lambda c, x: nl.where(c, x, 2.0), c, x), np.where(c == 1, x, float_dtype.type(2)))
    same(run(lambda c, y: nl.where(c, -1, y), c, y), np.where(c == 1, float_dtype.type(-1), y))
    same(run(lambda c: nl.where(c, 3, 4, dtype=nl.int32), c), np.where(c == 1, 3, 4).astype(np.int32))
    same(run(lambda c, y: nl.where(c, y, 1.0, dtype=nl.float32), c.astype(np.uint8), y),
         np.where(c == 1, y.astype(np.float32), np.float32(1)))
    same(run(nl.where, c, x, y[:, :1].copy()), np.where(c == 1, x, y[:, :1]))


def test_where_refuses():
    c, x = np.ones((3, 4), np.float32), np.ones((3, 4), np.int32)
    refused("nki.R29", lambda c, x: nl.where(c, x, c), c, x, help="dtype=")
    refused("nki.R28", lambda c, x: nl.where(c, c[0:1], 0.0), c, x, help="nl.broadcast_to")
    refused("nki.R27", lambda c, x: nl.where(True, c, c), c, x)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32])
def test_gather_flattened(target, rng, dtype):
    rows = int(rng.integers(1, 129))
    x = sample(rng, (rows, 7, 11), dtype)
    i = rng.integers(0, 77, (rows, 20))
    want = np.take_along_axis(x.reshape(rows, 77), i, -1)
    same(run(nl.gather_flattened, x, i.astype(np.uint32)), want)
    same(run(nl.gather_flattened, x, i.astype(np.int32)), want)
    if dtype is np.float32:
        got = run(lambda x, i: nl.gather_flattened(x, i, dtype=nl.bfloat16), x, i.astype(np.uint32))
        same(got, want.astype(ml_dtypes.bfloat16))
    refused("nki.R32", lambda x, i: nl.gather_flattened(x, i, axis=1), x, i.astype(np.uint32))


def test_ds_is_a_slice():
    assert nl.ds(3, 5) == slice(3, 8)
