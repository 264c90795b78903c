"""nl.device_print: every pass of loops on the device, both cores of a pair, run-time addresses, bad calls."""

import ml_dtypes
import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def printed(capsys):
    """[(title, values in one row)] of what was printed; -- reads as NaN."""
    out = []
    for line in capsys.readouterr().out.splitlines():
        if line.startswith(("[", " ")) or not line:
            numbers = line.replace("[", " ").replace("]", " ").replace("--", "nan").split()
            out[-1][1].extend(map(float, numbers))
        else:
            out.append((line, []))
    return [(title, np.array(values)) for title, values in out]


def test_every_pass_of_a_loop_is_shown_before_what_follows(capsys):
    def kernel(x, n):
        t = nl.ndarray((1, 4), dtype=nl.float32)
        nisa.memset(t, 1.0)
        nl.device_print("start", t)
        end = nisa.register_alloc(None)
        nisa.register_load(end, n)

        def body(i):
            nl.device_print("first", t[:, 0:1])
            inner = nl.ndarray((1, 4), dtype=nl.float32)
            nisa.tensor_scalar(inner, t, nl.multiply, 2.0)
            nisa.tensor_copy(t, inner)
            nl.device_print("last", inner)

        nl.fori_loop(2, end, body)
        print("behind")
        nl.device_print("end", t)
        nisa.dma_copy(x, t)

    x = np.zeros((1, 4), np.float32)
    nki.simulate(kernel)(x, np.array([[5]], np.int32))
    np.testing.assert_array_equal(x, np.full((1, 4), 8.0))
    found = printed(capsys)
    assert [t.split()[0] for t, _ in found] == ["start", *["first", "last"] * 3, "behind", "end"]
    assert found[1][0] == "first t: float32[1, 1] in sbuf"
    assert [v.tolist() for t, v in found if t.startswith("first")] == [[1], [2], [4]]
    assert [v.tolist() for t, v in found if t.startswith("last")] == [[2] * 4, [4] * 4, [8] * 4]
    assert found[-1][1].tolist() == [8] * 4


def test_loops_in_loops_and_while_loops(capsys):
    def kernel(x):
        count = nl.ndarray((1, 1), dtype=nl.int32)
        nisa.memset(count, 2)
        going = nisa.register_alloc(None)
        nisa.register_load(going, count)
        t = nl.ndarray((1, 1), dtype=nl.float32)
        nisa.memset(t, 0.0)

        def outer():
            nl.device_print("outer", count)
            for _ in nl.dynamic_range(2):
                nisa.tensor_scalar(t, t, nl.add, 1.0)
                nl.device_print("inner", t)
            nisa.tensor_scalar(count, count, nl.subtract, 1)
            nisa.register_load(going, count)
            return going

        nl.while_loop(going, outer)
        nisa.dma_copy(x, t)

    with pytest.warns(DeprecationWarning):
        nki.simulate(kernel)(np.zeros((1, 1), np.float32))
    assert [(t.split()[0], *v) for t, v in printed(capsys)] == [
        ("outer", 2), ("inner", 1), ("inner", 2), ("outer", 1), ("inner", 3), ("inner", 4)]


def test_a_loop_without_passes_prints_nothing(capsys):
    def kernel(x):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.memset(t, 0.0)
        nl.fori_loop(3, 3, lambda i: nl.device_print("never", t))
        nisa.dma_copy(x, t)

    nki.simulate(kernel)(np.zeros((1, 1), np.float32))
    assert capsys.readouterr().out == ""


def test_run_time_addresses_and_what_lies_outside(capsys):
    def kernel(x):
        nl.fori_loop(0, 3, lambda i: nl.device_print("row", x.select(0, i)))
        nisa.dma_copy(x[0:1], x[1:2])

    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    nki.simulate(kernel)(x)
    assert [v.tolist() for _, v in printed(capsys)] == [[0, 1], [2, 3], [4, 5]]

    def beyond(x):
        nl.fori_loop(2, 4, lambda i: nl.device_print("row", x.select(0, i)))
        nisa.dma_copy(x[0:1], x[1:2])

    nki.simulate(beyond)(x)
    inside, outside = (v for _, v in printed(capsys))
    assert inside.tolist() == [4, 5] and np.isnan(outside).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e4m3", "int32", "uint8", "int16"])
def test_dtypes_views_and_missing_elements(dtype, capsys):
    number = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.arange(24).reshape(3, 8).astype(number)

    def kernel(x):
        t = nl.ndarray((3, 8), dtype=x.dtype)
        nisa.dma_copy(t[:, 0:4], x[:, 0:4])
        nl.device_print("view", t[0:2, 0:8:3])
        nl.device_print("argument", x[1:3].reshape((2, 2, 4)))
        nisa.dma_copy(x[:, 0:4], t[:, 0:4])

    nki.simulate(kernel)(x)
    view, argument = (v for _, v in printed(capsys))
    np.testing.assert_array_equal(view, [0, 3, np.nan, 8, 11, np.nan])
    np.testing.assert_array_equal(argument, x[1:3].astype(np.float64).ravel())


def test_both_cores_of_a_pair_show_what_they_received(capsys):
    x = np.arange(8, dtype=np.float32).reshape(4, 2)

    @nki.jit
    def kernel(x):
        me = nl.program_id(0)
        mine = nl.ndarray((2, 2), dtype=x.dtype)
        theirs = nl.ndarray((2, 2), dtype=x.dtype)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(mine, x[2 * me:2 * me + 2])
        nl.device_print("before", mine)

        def body(i):
            nisa.sendrecv(mine, theirs, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
            nisa.tensor_scalar(mine, theirs, nl.add, 1.0)
            nl.device_print("after", mine)

        nl.fori_loop(0, 2, body)
        nisa.dma_copy(out[2 * me:2 * me + 2], mine)
        return out

    result = kernel[2](x)
    np.testing.assert_array_equal(result, x + 2)
    found = {}
    for title, values in printed(capsys):
        found.setdefault(title.split(" mine")[0], []).append(values)
    for core in (0, 1):
        own, other = x[2 * core:2 * core + 2].ravel(), x[2 - 2 * core:4 - 2 * core].ravel()
        np.testing.assert_array_equal(found[f"core {core}: before"], [own])
        np.testing.assert_array_equal(found[f"core {core}: after"], [other + 1, own + 2])


def test_a_run_that_fails_has_shown_what_came_before(capsys):
    def kernel(x):
        t = nl.ndarray((1, 2), dtype=x.dtype)
        nisa.memset(t, 7.0)

        def body(i):
            nl.device_print("row", t)
            nisa.dma_copy(t, x.select(0, i).reshape((1, 2)))

        nl.fori_loop(0, 4, body)
        nisa.dma_copy(x[0:1], t)

    with pytest.raises(kiln.NkiValidationError, match="run.R3"):
        nki.simulate(kernel)(np.arange(4, dtype=np.float32).reshape(2, 2))
    assert [v.tolist() for _, v in printed(capsys)] == [[7, 7], [0, 1], [2, 3]]


def test_nothing_is_printed_without_values(capsys):
    def kernel(x):
        nl.device_print("x", x)
        nisa.dma_copy(x, x)

    kiln.program(kernel, np.zeros((2, 2), np.float32))
    assert kiln.check(kernel, "float32[2,2]")
    assert capsys.readouterr().out == ""


def wrong(argument):
    def kernel(x):
        psum = nl.ndarray((1, 4), dtype=nl.float32, buffer=nl.psum)
        nl.device_print(*argument(x, psum))

    return kernel


@pytest.mark.parametrize("argument, rule, found", [
    (lambda x, psum: (x, "x"), "nki.R51", "a NkiTensor"),
    (lambda x, psum: ("x", 3), "nki.R52", "a int"),
    (lambda x, psum: ("psum", psum), "nki.R53", "`psum` is in PSUM"),
    (lambda x, psum: ("x", x.ap([[9, 9], [1, 1]])), "nki.R12", "elements 0 to 72"),
])
def test_bad_calls(argument, rule, found):
    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(wrong(argument))(np.zeros((1, 4), np.float32))
    assert caught.value.code == rule and found in str(caught.value) and "test_device_print.py" in str(caught.value)


def test_outside_a_kernel():
    with pytest.raises(kiln.NkiValidationError, match="nki.R2"):
        nl.device_print("x", None)
