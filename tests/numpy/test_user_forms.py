"""Forms that users write and that went wrong once: arguments as they come, orders of memory, masks beside other
indices, options of products, integers of mixed signs."""

import numpy as np
import pytest

import kiln
from against_numpy import DTYPES, FLOATS, SEED, check, same, sample

G, T, Q = (sample(np.float32, s, i, False) for i, s in enumerate(((6, 8), (2, 3, 4), (2, 3, 4, 5))))
COLUMN, V = sample(np.float32, (6, 1), 4, False), sample(np.float32, (9,), 5, False)
B, M6, M8 = sample(np.bool_, (6, 8), 6), sample(np.bool_, (6,), 7), sample(np.bool_, (8,), 8)
M6[:2], M8[:2] = (True, False), (True, False)
I8, U8, N = sample(np.int8, (6, 8), 9), sample(np.uint8, (6, 8), 10), sample(np.int32, (6, 8), 11)
U32 = sample(np.uint32, (6, 8), 12) << np.uint32(25)


def test_arguments_that_may_not_be_written():
    x = G.copy()
    x.flags.writeable = False
    same(kiln.jit(lambda x: x + 1)(x), G + 1)
    same(kiln.jit(lambda x: x * 2)(np.broadcast_to(V, (4, 9))), np.broadcast_to(V, (4, 9)) * 2)
    with pytest.raises(ValueError, match="read-only"):
        kiln.jit(lambda x: x.__iadd__(1))(x)


@pytest.mark.parametrize("order", ["A", "K", "F", "C"])
@pytest.mark.parametrize("source", [np.asfortranarray(G), G], ids=["fortran", "c"])
def test_the_order_of_memory(source, order):
    check(lambda x: (x.ravel(order), x.T.ravel(order), x.flatten(order), x[:, ::-1].ravel(order)), source)
    check(lambda t: t.transpose(2, 0, 1).ravel(order), T)
    if order != "K":
        check(lambda x: x.reshape(4, 12, order=order), source)


def test_a_view_in_the_order_of_memory_aliases():
    def f(x):
        v = x.ravel(order="K")
        v[:3] = 5
        return v

    check(f, np.asfortranarray(G))


def test_strides_and_flags():
    f = kiln.jit(lambda x: (x.strides, x.T.strides, x[:, 1:].flags.c_contiguous, x.flags.f_contiguous))
    for x in (G, np.asfortranarray(G)):
        assert f(x) == (x.strides, x.T.strides, False, x.flags.f_contiguous)
    with pytest.raises(AttributeError, match="numpy.R3"):
        kiln.jit(lambda x: x.byteswap())(G)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        kiln.jit(lambda x: x.nosuch)(G)


def _columns(x, m):
    x[:, m] = 0
    x[..., m] += 1
    return x[2, m].sum(), x[:, m].size


def _rows(x, m, c):
    x[m, 2] = 3
    x[m, 1:3] *= 2
    x[m] = x[0]
    x[m, 4:5] = 7


def test_masks_beside_other_indices():
    check(_columns, G, M8)
    check(_rows, G, M6, COLUMN)
    check(lambda x, m, c: x.__setitem__((slice(None), m), c), G, M8, COLUMN)
    check(lambda t, m: t.__setitem__((slice(None), m), 5), T, sample(np.bool_, (3, 4), 13))
    with pytest.raises(ValueError, match="numpy.R6"):
        kiln.jit(lambda x, m: x.__setitem__((slice(None), m), x[:, :4]))(G.copy(), M8)
    with pytest.raises(IndexError):
        kiln.jit(lambda x, m: x.__setitem__((slice(None), m), 0))(G.copy(), M6)


def test_elements_of_a_mask_are_a_copy():
    def f(x, m):
        chosen = x[m]
        x[m] = 0
        m[...] = False
        return chosen.sum(), chosen.size

    check(f, G, B)


def test_axes_of_products():
    check(lambda q: (np.matmul(q, q, axes=[(2, 3), (3, 2), (2, 3)]), np.matmul(q, q, axes=[(2, 3), (3, 2), (0, 1)])), Q)
    check(lambda t: (np.vecdot(t, t, axis=1), np.vecdot(t, t, axis=0, keepdims=True)), T)
    check(lambda t: np.vecdot(t, t, keepdims=True), T)
    check(lambda g: np.matvec(g, g[:, 0], axes=[(1, 0), (0,), (0,)]), G)
    check(lambda g: np.matmul(g, g.T, axis=0), G)
    check(lambda g: np.exp(g, axis=0), G)


@pytest.mark.parametrize("bounds", [(-5, 300), (-500, 3), (-500, 300), (3, -1)])
def test_bounds_beyond_the_dtype(bounds):
    check(lambda x: np.clip(x, *bounds), I8)
    check(lambda x: np.clip(x, *bounds), U8)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_casting_of_inputs(casting):
    for x, y in ((I8, G), (I8, I8), (I8, N), (G, G)):
        check(lambda x, y: np.add(x, y, casting=casting), x, y)
    check(lambda x: np.divide(x, 2, casting=casting) if casting in ("safe", "same_kind", "unsafe") else x, N)


def test_a_shift_of_the_run():
    check(lambda x, n: (np.roll(x, n), np.roll(x, (n, 1), (0, 1)), np.roll(x, -n, 1)), G, np.array(3, np.int32))


@pytest.mark.parametrize("ufunc", [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal])
def test_signed_beside_unsigned(ufunc):
    check(lambda n, u: (ufunc(n, u), ufunc(u, n)), N, U32)
    check(lambda n, u: ufunc(n, u), I8, np.abs(N).astype(np.uint32))


def test_integers_wrap_when_they_are_cast():
    for x in (I8, sample(np.int16, (6, 8), 14), N, U8, U32):
        for dtype in (np.uint32, np.uint16, np.uint8, np.int32, np.int16, np.int8):
            check(lambda x, dtype=dtype: x.astype(dtype), x)


def test_shapes_that_do_not_fit_are_value_errors():
    for f in (lambda x, y: x + y, lambda x, y: x @ y, lambda x, y: np.where(x > 0, x, y), lambda x, y: np.ones(9) @ x.T,
              lambda x, y: x @ np.zeros((9, 2), np.float32)):
        with pytest.raises(ValueError, match="tensor.R") as caught:
            kiln.jit(f)(G, V)
        assert isinstance(caught.value, kiln.NkiValidationError)


def test_the_middle_of_infinities():
    check(lambda x: np.median(np.where(np.arange(8) > 2, np.inf, x[:8]).astype(np.float32)), V)
    check(lambda x: np.nanmedian(np.where(x > -1, np.inf, x)), V)


def test_the_determinant_of_nan_is_nan():
    check(lambda x: np.linalg.det(np.where(np.eye(6) > 0, np.nan, x[:, :6]).astype(np.float32)), G)
    check(lambda x: np.linalg.det(np.ones((4, 4), np.float32) * x[0]), V)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.multiply, np.logical_or], ids=lambda u: u.__name__)
def test_reductions_of_segments(ufunc):
    check(lambda v: (ufunc.reduceat(v, [0, 3, 5]), ufunc.reduceat(v, [4, 2, 8])), V)
    check(lambda g: (ufunc.reduceat(g, [0, 2], axis=1), ufunc.reduceat(g, np.arange(3))), I8)
    check(lambda v: ufunc.reduceat(v, [0, 30]), V)
    with pytest.raises(TypeError, match="numpy.R6"):
        kiln.jit(lambda v, i: ufunc.reduceat(v, i))(V, np.array([0, 2], np.int32))


def _table(x):
    t = np.eye(4, dtype=np.float32)
    t[0, 2] = t[1, 3] = 0.5
    t[3, 0] += 2
    t[2][1] = -1
    return x[:, :4] @ t, t


def test_single_elements_of_arrays_made_inside():
    check(_table, G)


def test_reductions_of_elements_of_a_mask_along_axes():
    check(lambda x, m: (x[m].sum(axis=0), np.mean(x[m], axis=0), x[m].sum(0, dtype=np.float16)), G, B)
    check(lambda x, m: (x[m].sum(axis=0), x[m].max(axis=0), x[m].mean(axis=(0, 1))), G, M6)
    check(lambda x, m: (x[:, m].sum(axis=1), np.sum(x[:, m], axis=(0, -1))), G, M8)
    with pytest.raises(IndexError, match="numpy.R6"):
        kiln.jit(lambda x, m: x[m].sum(axis=1))(G, M6)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: np.dtype(t).name)
def test_the_largest_of_a_mask(dtype):
    x, y, rows = sample(dtype, (13, 17), 1), sample(np.float32, (13, 17), 2, False), sample(np.float32, (13,), 3, False)
    rows[0], y[0, 0] = 2, 2
    check(lambda x, y: (x[y > 0].max(), x[y > 0].min(), np.max(x[y > 1]), np.amin(x[y > 1])), x, y)
    check(lambda x, m: (x[m > 0].max(axis=0), x[m > 0].min(axis=0), x.T[:, m > 0].max(axis=1)), x, rows)
    check(lambda x, y: (x[y > 99].max(initial=1), x[y > 99].sum()), x, y)
    none = kiln.jit(lambda x, m: x[m > 99].max(axis=0))(x, rows).astype(np.float64)  # which NumPy refuses
    assert np.isnan(none).all() if dtype in FLOATS else (none <= x.min(axis=0)).all()


def test_arrays_are_ndarrays():
    f = kiln.jit(lambda x: (isinstance(x, np.ndarray), isinstance(x[0], np.ndarray), isinstance(x.sum(), np.ndarray)))
    assert f(G) == (True, True, False)
    check(lambda x: (round(x[0, 0] * 10), round(x[0, 0], 1)), G)


def test_arguments_that_alternate_in_memory():
    whole = G.copy()

    def f(a, b):
        a += b
        return a * 2

    same(kiln.jit(f)(whole[:, ::2], whole[:, 1::2]), (G[:, ::2] + G[:, 1::2]) * 2)
    same(whole[:, ::2], G[:, ::2] + G[:, 1::2])


def test_what_is_lowered_runs_for_its_own_arguments_alone():
    low = kiln.jit(lambda x, w, k=1: x @ w * k).lower("float32[6,8]", w="float32[8,3]", k=2)
    w = G[:3].T.copy()
    same(low(G, k=2, w=w), G @ w * 2, loose=10)
    same(low(G, w=w), G @ w * 2, loose=10)
    for args, kwargs in (((G[:3],), {"w": w, "k": 2}), ((G,), {"w": w, "k": 3}), ((G,), {"k": 2}), ((G, w), {}),
                         ((G.astype(np.float16),), {"w": w, "k": 2})):
        with pytest.raises(TypeError, match="numpy.R13"):
            low(*args, **kwargs)


def test_passes_of_loops_that_the_run_ends_are_given():
    low = kiln.jit(lambda x: kiln.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, np.abs(x))).lower(G)
    with pytest.raises(kiln.NkiConfigError, match="r0"):
        low.report()
    few, many = (low.report(trip_counts={"r0": n}) for n in (2, 20))
    assert few["time_ns"] < many["time_ns"] and many["roofline_ns"] > 0
    assert low.time(trip_counts={"r0": 2}).latency_us < low.time(trip_counts={"r0": 20}).latency_us


def test_more_dimensions_than_a_tensor_has():
    x = sample(np.float32, (2,) * 10, 15, False)
    with pytest.raises(ValueError, match="at most 8"):
        kiln.jit(lambda x: x + 1)(x)
    with pytest.raises(ValueError, match="at most 8"):
        kiln.jit(lambda x: x.reshape((2,) * 9) + 1)(x.reshape(-1)[:512])
    check(lambda x: (x.reshape((2,) * 10).transpose().reshape(-1), x.reshape((2,) * 9 + (2,)).sum((0, 3, 8)).ravel()),
          x.reshape(-1))


def test_reductions_between_dimensions_that_stay():
    x = sample(np.float32, (2, 3, 4, 2, 4, 2), 16, False)
    for op in (np.max, np.min, np.sum, np.mean):
        check(lambda x, op=op: op(x, axis=(3, 5)), x)
        check(lambda x, op=op: op(x[:, :, :3], axis=(1, 3, 5)), x)


def _moves(i, c):
    c["x"][i] = 7
    return c


def test_state_of_loops_is_a_copy():
    for n in (1, 3):
        x = G.copy()
        made = kiln.jit(lambda x, n=n: kiln.fori_loop(0, n, _moves, {"x": x}))(x)
        same(x, G)
        same(made["x"][:n], np.full((n, 8), 7, np.float32))


def _adds(c, r):
    c += r
    return c, c.sum()


@pytest.mark.parametrize("length", [0, 1, 2, 6])
def test_scans_of_every_length(length):
    start = G[0].copy()
    carry, sums = kiln.jit(lambda c, x: kiln.scan(_adds, c, x[:length]))(start, G)
    same(start, G[0])
    same(carry, G[0] + G[:length].sum(axis=0))
    same(sums, np.array([(G[0] + G[:i + 1].sum(axis=0)).sum() for i in range(length)], np.float32), loose=10)


def test_branches_with_numbers_and_with_nothing():
    for n in (np.int32(1), np.int32(5)):
        f = kiln.jit(lambda x, n: kiln.cond(n > 3, lambda a: (a.sum(), 1), lambda a: (0, 2.5), x))
        same(f(G, n), (G.sum(), np.float32(1)) if n > 3 else (np.float32(0), np.float32(2.5)), loose=10)
    assert kiln.jit(lambda x, n: kiln.cond(n > 3, lambda a: None, lambda a: None, x))(G, np.int32(2)) is None


@pytest.mark.parametrize("shape", [(2, 6, 2, 15), (16, 16, 4), (2, 2, 3), (2, 4, 2, 4, 8), (3, 3), (4, 2, 2, 8)])
def test_the_first_of_what_was_computed(shape):
    """Rows of the whole and of its first element may be as many, and are not the same."""
    x = sample(np.float32, shape, 17, False)
    check(lambda x: ((x * 2)[0] + 1, (x * 2)[:1] - x[:1], np.tanh(x)[0, 0] * 2, (x * 2)[1] + 1), x)
    check(lambda x: (x.max(-1, keepdims=True) + x)[0] * 3, x)


@pytest.mark.parametrize("dtype, length", [(np.float32, 20000), (np.int32, 4500)])
def test_the_largest_of_long_rows(dtype, length):
    """Rows that are longer than what is ordered at once; equal elements in several parts of them."""
    x = np.round(sample(dtype, (3, length), 18, False), 1)
    for largest in (True, False):
        low = kiln.jit(lambda x, largest=largest: kiln.numpy.topk(x, 20, largest=largest)).lower(x)
        order = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :20]
        same(low(x), (np.take_along_axis(x, order, axis=1), order.astype(np.int32)))
        assert dtype == np.int32 or low.program.instruction_count < 500


def test_places_of_partitions():
    check(lambda x: np.partition(x, -8, axis=1)[:, 0], G)
    for place in (8, -9, 1.5):
        check(lambda x, k=place: np.partition(x, k), G)
        check(lambda x, k=place: np.argpartition(x, k, axis=1), G)


def test_loops_over_elements():
    check(lambda x: sum(v * (i + 2 * j) for (i, j), v in np.ndenumerate(x[:2, :3])), G)


@pytest.mark.parametrize("backend", ["simulator", "native"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("function", [lambda x: x.sum(axis=1), lambda x: np.cumsum(x, axis=1)], ids=["sum", "cumsum"])
def test_sums_beyond_32_bits(function, dtype, backend):
    """NumPy's sums where 32 bits hold them, also with terms and parts that they nearly do not; an error elsewhere."""
    print(f"KILN_SEED={SEED}")
    random, least, most = np.random.default_rng(SEED), np.iinfo(dtype).min, np.iinfo(dtype).max
    jitted = kiln.jit(function, backend=backend)
    rows = [[most, 0, 0], [most, 1, 0], [least, 0, 0], [least, most, 1], [most - 1, 1, least]]
    for row in rows + [(random.integers(least, most, 3) >> random.integers(31)).tolist() for _ in range(30)]:
        x = np.array([row, [0, 1, 2]], dtype)
        want = function(x)
        if want.min() < least or want.max() > most:
            with pytest.raises(OverflowError, match="beyond 32 bits"):
                jitted(x)
        else:
            np.testing.assert_array_equal(jitted(x), want)


def test_sums_of_many_integers():
    many = np.full(40000, 2**17, np.int32)
    with pytest.raises(OverflowError, match="int32"):
        kiln.jit(lambda x: x.sum())(many)
    check(lambda x: (x.sum(), np.sum(x, dtype=np.int32)), many[:16000])
    check(lambda x: np.sum(x, dtype=np.int32), many)
    low = kiln.jit(lambda x: np.sum(x)).lower(np.zeros(9, np.int16))
    assert "beyond" not in low.ir
