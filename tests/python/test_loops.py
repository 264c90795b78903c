"""Device loops and registers from Python: traced once, run as often as the registers say."""


import numpy as np
import pytest

import kiln
from kiln import NkiValidationError, nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def load_register(value):
    register = nisa.register_alloc()
    nisa.register_load(register, value)
    return register


def counted(form):
    """A kernel that adds 1 to a tile n[0, 0] times with the given form of loop."""

    def kernel(n):
        count = nl.ndarray((1, 1), dtype=n.dtype)
        nisa.dma_copy(count, n)
        total = nl.ndarray((4, 3), dtype=nl.float32)
        nisa.memset(total, 0.0)
        form(count, lambda: nisa.tensor_scalar(total, total, nl.add, 1.0))
        out = nl.ndarray((4, 3), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, total)
        return out

    return kernel


def with_dynamic_range(count, body):
    for _ in nl.dynamic_range(load_register(count)):
        body()


def with_fori_loop(count, body):
    nl.fori_loop(0, load_register(count), lambda i: body() and None)


def decrement(count, register):
    nisa.tensor_scalar(count, count, nl.subtract, 1)
    nisa.register_load(register, count)
    return register


def with_while_loop(count, body):
    def step(register):
        body()
        return decrement(count, register)

    nl.while_loop(load_register(count), step)


def with_while_statement(count, body):
    register = load_register(count)
    while register:
        body()
        decrement(count, register)


@pytest.mark.parametrize("trips", [0, 1, 7])
@pytest.mark.parametrize("form", [with_dynamic_range, with_fori_loop, with_while_loop, with_while_statement])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_device_loop_runs_as_often_as_its_register_says(form, trips):
    got = nki.simulate(counted(form))(np.array([[trips]], np.int32))
    np.testing.assert_array_equal(got, np.full((4, 3), trips, np.float32))


def usual_fori_loop(count, body):
    nl.fori_loop(0, load_register(count), lambda i: body() and None)  # kiln: usually 7


def usual_fori_loop_in_lines(count, body):
    # kiln: usually 7
    nl.fori_loop(
        0,
        load_register(count),
        lambda i: body() and None,
    )


def usual_while_loop(count, body):
    def step(register):
        body()
        return decrement(count, register)

    # kiln: usually 7
    nl.while_loop(load_register(count), step)


def usual_dynamic_range(count, body):
    for _ in nl.dynamic_range(load_register(count)):  # kiln: usually 7
        body()


def usual_while_statement(count, body):
    register = load_register(count)
    while register:  # kiln: usually 7
        body()
        decrement(count, register)


@pytest.mark.parametrize("form", [usual_dynamic_range, usual_fori_loop, usual_fori_loop_in_lines, usual_while_loop,
                                  usual_while_statement])  # fmt: skip
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_comment_says_how_often_a_device_loop_usually_runs(form):
    text = str(kiln.program(counted(form), "int32[1,1]"))
    assert text.count("usually 7 {") == 1
    kiln.time(counted(form))("int32[1,1]")  # needs no trip count


def test_a_comment_that_says_no_number_is_refused():
    def form(count, body):
        nl.fori_loop(0, load_register(count), lambda i: body() and None)  # kiln: usually few

    with pytest.raises(NkiValidationError, match="nki.R89.*usually few"):
        kiln.program(counted(form), "int32[1,1]")


def test_the_index_addresses_memory():
    def kernel(x, n):
        count = nl.ndarray((1, 1), dtype=n.dtype)
        nisa.dma_copy(count, n)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.dynamic_range(load_register(count)):
            row = nl.ndarray((1, x.shape[1]), dtype=x.dtype)
            nisa.dma_copy(row, x.ap([[x.shape[1], 1], [1, x.shape[1]]], scalar_offset=i, indirect_dim=0))
            nisa.tensor_scalar(row, row, nl.multiply, 2.0)
            nisa.dma_copy(out[nl.ds(i, 1), :], row)
        return out

    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    np.testing.assert_array_equal(nki.simulate(kernel)(x, np.array([[5]], np.int32)), 2 * x)


def breaks_out(n):
    for _ in nl.dynamic_range(4):
        break


def not_a_loop(n):
    register = nisa.register_alloc(1)
    if register:
        pass


@pytest.mark.parametrize("use", [
    lambda r: r + 1, lambda r: 2 * r, lambda r: int(r), lambda r: range(r), lambda r: r < 3, lambda r: [0, 1][r]])
def test_python_arithmetic_on_registers_is_a_type_error(use):
    with pytest.raises(TypeError, match="register"):
        nki.simulate(lambda x: use(nisa.register_alloc(1)))(np.zeros((1, 1), np.float32))


@pytest.mark.parametrize("form", [with_dynamic_range, with_fori_loop])
def test_a_shared_constant_may_be_met_first_inside_a_device_loop(form):
    table = np.arange(12, dtype=np.float32).reshape(4, 3)

    def kernel(n):
        count = nl.ndarray((1, 1), dtype=n.dtype)
        nisa.dma_copy(count, n)
        total = nl.ndarray((4, 3), dtype=nl.float32)
        nisa.memset(total, 0.0)

        def add_the_table():
            term = nl.ndarray((4, 3), dtype=nl.float32)
            nisa.dma_copy(term, nl.shared_constant(table))
            nisa.tensor_tensor(total, total, term, nl.add)

        form(count, add_the_table)
        out = nl.ndarray((4, 3), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, total)
        return out

    np.testing.assert_array_equal(nki.simulate(kernel)(np.array([[3]], np.int32)), 3 * table)


def test_a_register_in_an_if_is_a_type_error():
    with pytest.raises(TypeError, match="truth of a register"):
        nki.simulate(not_a_loop)(np.zeros((1, 1), np.float32))


def test_break_out_of_a_device_loop_is_refused():
    with pytest.raises(nisa.NkiValidationError, match="break or return"):
        nki.simulate(breaks_out)(np.zeros((1, 1), np.float32))


def test_device_loops_do_not_stand_in_no_reorder():
    def kernel(x):
        with nl.no_reorder():
            for _ in nl.dynamic_range(2):
                pass

    with pytest.raises(nisa.NkiValidationError, match="no_reorder"):
        nki.simulate(kernel)(np.zeros((1, 1), np.float32))


@nki.jit
def scheduled(x):
    a, b = nl.ndarray(x.shape, x.dtype), nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(a, x, name="first")
    nisa.memset(b, 0.0, name="second")
    nisa.tensor_tensor(a, a, b, op=nl.add, name="third")
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, a)
    return out


def test_with_schedule_adds_edges():
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(scheduled.with_schedule([("second", "first"), ("third", ["first", "second"])])(x), x)


@pytest.mark.parametrize("edges, match", [
    ([("second", "nobody")], "no instruction `nobody`"), ([("first", "second")], "comes before"),
    ([("first", "first")], "wait for itself"), ([("first",)], "edge"), ([(1, "first")], "edge"),
    ([("second", 1)], "edge"), ("first", "list of edges")])
def test_bad_schedules_are_refused(edges, match):
    with pytest.raises(nisa.NkiValidationError, match=match):
        scheduled.with_schedule(edges)(np.ones((2, 2), np.float32))


def test_a_bound_that_holds_the_bits_of_a_float_is_told_before_the_loop_begins():
    def kernel(x):
        tile = nl.load(x)
        bound = load_register(nl.full((1, 1), 3.0, dtype=nl.float32))
        nl.fori_loop(0, bound, lambda i: nisa.tensor_scalar(tile, tile, nl.add, 1.0) and None)
        nl.store(x, tile)

    with pytest.raises(NkiValidationError, match=r"to 1077936128 \(the bits of 3.0 in float32: load it from an int32"):
        nki.simulate(kernel)(np.zeros((1, 4), np.float32))


def test_an_offset_that_holds_the_bits_of_a_float_is_told():
    def kernel(x, out):
        tile = nl.ndarray((2, 4), dtype=x.dtype)
        row = load_register(nl.full((1, 1), 2.0, dtype=nl.float32))
        nisa.dma_copy(tile, x.ap([[4, 2], [1, 4]], scalar_offset=row, indirect_dim=0))
        nisa.dma_copy(out, tile)

    with pytest.raises(NkiValidationError, match=r"offset 1073741824 \(the bits of 2.0 in float32"):
        nki.simulate(kernel)(np.zeros((8, 4), np.float32), np.zeros((2, 4), np.float32))


def looping(x, times, loops):
    """Both cores loop as often as `times` says for each."""
    core = nl.program_id(0)
    total = nl.zeros((1, 1), nl.int32)

    def add(i):
        nisa.tensor_scalar(total, total, nl.add, 1)

    for _ in range(loops[core]):
        nl.fori_loop(0, times[core], add)
    if core == 1:
        nisa.register_alloc(7)  # registers need not be the same
    out = nl.ndarray((2, 1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    nl.store(out[core], total)
    return out


@pytest.mark.parametrize("times, loops, told", [
    ((3, 3), (1, 1), None), ((3, 4), (1, 1), "`for r = 0 .. 3` on core 0 is `for r = 0 .. 4` on core 1"),
    ((3, 3), (1, 0), "core 0 has 1 loops, core 1 has 0"), ((2, 2), (1, 3), "core 0 has 1 loops, core 1 has 3")])
def test_loops_of_a_pair_are_the_same(times, loops, told):
    kernel, x = nki.jit(looping)[2], np.ones((1, 1), np.float32)
    found = [(d.code, d.found) for d in kiln.check(kernel, x, times, loops).diagnostics if d.code == "nki.R63"]
    assert found == ([("nki.R63", told)] if told else [])
    if told is None:
        assert nki.simulate(kernel)(x, times, loops).ravel().tolist() == [t * n for t, n in zip(times, loops)]
        return
    with pytest.raises(NkiValidationError, match="nki.R63"):
        nki.simulate(kernel)(x, times, loops)


def breaks(x):
    for _ in nl.dynamic_range(4):
        for i in range(3):
            if i == 1:
                break
        break
    return x


def returns(x):
    for _ in nl.dynamic_range(4):
        return nl.zeros(x.shape, x.dtype, buffer=nl.shared_hbm)


@pytest.mark.parametrize("kernel, line", [(breaks, 5), (returns, 2)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_leaves_a_device_loop_is_named(kernel, line):
    with pytest.raises(NkiValidationError, match="break or return inside a device loop") as caught:
        nki.simulate(kernel)(np.ones((2, 2), np.float32))
    loc = caught.value.diagnostics[0].loc
    assert (loc.file, loc.line) == (__file__, kernel.__code__.co_firstlineno + line)


def test_writing_the_index_of_fori_loop_changes_nothing_but_the_index():
    def kernel(table, sums):
        out = nl.ndarray((3, 2), dtype=table.dtype, buffer=nl.shared_hbm)

        def body(i):
            row = nl.ndarray((1, 2), dtype=table.dtype)
            nisa.dma_copy(row, table.select(0, i).reshape((1, 2)))
            nisa.dma_copy(out.select(0, i).reshape((1, 2)), row)
            nisa.register_move(i, 0)
            first = nl.ndarray((1, 2), dtype=table.dtype)
            nisa.dma_copy(first, table.select(0, i).reshape((1, 2)))
            total = nl.load(sums)
            nisa.tensor_tensor(total, total, first, nl.add)
            nisa.dma_copy(sums, total)

        nl.fori_loop(0, 3, body)
        return out

    table, sums = np.arange(1, 7, dtype=np.float32).reshape(3, 2), np.zeros((1, 2), np.float32)
    np.testing.assert_array_equal(nki.simulate(kernel)(table, sums), table)
    np.testing.assert_array_equal(sums, 3 * table[0:1])


@pytest.mark.parametrize("grid, wanted", [(None, [0, 1]), (1, [1, 1]), (2, [1, 2])])
def test_a_launch_grid_has_one_axis(grid, wanted):
    seen = []

    @nki.jit
    def kernel(x):
        seen.append([nl.program_ndim(), nl.num_programs()])
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        return out

    (kernel if grid is None else kernel[grid])(np.ones((2, 2), np.float32))
    assert seen == [wanted] * (grid or 1)
