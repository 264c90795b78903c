"""Seeing inside a pair of cores, and inside loops on the device: values of tensors and kiln.compare of kernel[2]."""

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def halves(x, wrong_core=None, note=None):
    """Each core doubles its half of the rows, sends it to the other one, and stores the sum of both."""
    me = nl.program_id(0)
    rows = x.shape[0] // 2
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    mine = nl.ndarray((rows, x.shape[1]), dtype=x.dtype)
    theirs = nl.ndarray((rows, x.shape[1]), dtype=x.dtype)
    nisa.dma_copy(mine, x[me * rows:(me + 1) * rows])
    if note:
        note(me, "before", str(mine))
    nisa.tensor_scalar(mine, mine, nl.multiply, 3.0 if me == wrong_core else 2.0)  # the product
    nisa.sendrecv(mine, theirs, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
    if note:
        note(me, "after", str(theirs))
    nisa.tensor_tensor(theirs, mine, theirs, nl.add)  # the sum
    nisa.dma_copy(out[me * rows:(me + 1) * rows], theirs)
    return out


def sums(x, wrong_core=None, note=None):
    total = 2 * (x[: len(x) // 2] + x[len(x) // 2:])
    return np.concatenate([total, total])


def line_of(departure):
    return open(departure.loc.file).read().splitlines()[departure.loc.line - 1]


@pytest.fixture
def x():
    return np.random.default_rng(11).integers(-9, 9, (4, 3)).astype(np.float32)


def test_compare_of_a_pair_that_is_right(x):
    assert kiln.compare(nki.jit(halves)[2], sums, [x]) is None
    assert kiln.compare(nki.jit(halves)[2], nki.jit(halves)[2], [x]) is None


@pytest.mark.parametrize("core", [0, 1])
def test_compare_with_another_pair_names_core_and_line(core, x):
    found = kiln.compare(nki.jit(halves)[2], nki.jit(halves)[2], [x + 20, core])
    assert found is None, "both are wrong in the same way"
    wrong = nki.jit(lambda x: halves(x, core))[2]
    found = kiln.compare(wrong, nki.jit(lambda x: halves(x))[2], [x + 20])
    assert (found.core, found.tensor) == (core, "mine") and "# the product" in line_of(found)
    assert str(found).startswith(f"core {core}: `mine`[0, 0] is ")


@pytest.mark.parametrize("core", [0, 1])
def test_compare_with_arrays_of_one_core_or_of_both(core, x):
    wrong = nki.jit(lambda x: halves(x, core))[2]
    rows = (x + 20)[2 * core:2 * core + 2]
    found = kiln.compare(wrong, {(core, "mine"): 2 * rows}, [x + 20])
    assert found.core == core and "# the product" in line_of(found)
    assert kiln.compare(wrong, {(1 - core, "mine"): 2 * (x + 20)[2 - 2 * core:4 - 2 * core]}, [x + 20]) is None
    found = kiln.compare(nki.jit(halves)[2], {"theirs": np.zeros((2, 3))}, [x + 20])
    assert found.tensor == "theirs" and "# the sum" in line_of(found)
    with pytest.raises(KeyError, match="no tensor 'nothing'"):
        kiln.compare(wrong, {"nothing": x}, [x])


@pytest.mark.parametrize("core", [0, 1])
def test_compare_finds_which_core_wrote_a_shared_tensor(core, x):
    @nki.jit
    def kernel(x):
        me = nl.program_id(0)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for row in range(2 * me, 2 * me + 2):
            t = nl.ndarray((1, x.shape[1]), dtype=x.dtype)
            nisa.dma_copy(t, x[row:row + 1])
            if row == 2 * core + 1:
                nisa.tensor_scalar(t, t, nl.add, 1.0)
            nisa.dma_copy(out[row:row + 1], t)
        nisa.core_barrier(out, (0, 1))
        return out

    found = kiln.compare(kernel[2], lambda x: x, [x])
    assert found.core == core and found.element == (2 * core + 1, 0)
    assert found.index == 4, "two instructions for the first row, three for the second"


def test_a_pair_shows_its_tensors_while_it_runs(x):
    notes = {}
    nki.simulate(nki.jit(halves)[2])(x, None, lambda core, when, text: notes.update({(core, when): text}))
    for core in (0, 1):
        assert str(x[2 * core:2 * core + 2]) in notes[core, "before"]
    assert str(2 * x[:2]) in notes[1, "after"], "what core 0 sent"
    assert "(no values: core 0 has met core 1, whose Python runs later" in notes[0, "after"]


def test_a_loop_shows_its_first_pass():
    notes = []

    def kernel(x, n):
        t = nl.ndarray((1, 4), dtype=nl.float32)
        nisa.memset(t, 1.0)
        end = nisa.register_alloc(None)
        nisa.register_load(end, n)

        def body(i):
            inner = nl.ndarray((1, 4), dtype=nl.float32)
            nisa.tensor_scalar(inner, t, nl.multiply, 2.0)
            notes.append(str(inner))
            nisa.tensor_copy(t, inner)

        nl.fori_loop(2, end, body)
        notes.append(str(t))
        nisa.dma_copy(x, t)

    x = np.zeros((1, 4), np.float32)
    nki.simulate(kernel)(x, np.array([[5]], np.int32))
    np.testing.assert_array_equal(x, np.full((1, 4), 8.0))
    assert "(in the first pass of the loop)\n[[2. 2. 2. 2.]]" in notes[0]
    assert "[[8. 8. 8. 8.]]" in notes[1] and "first pass" not in notes[1]


def test_loops_in_loops_show_the_first_pass_of_each():
    notes = []

    def kernel(x):
        t = nl.ndarray((1, 2), dtype=nl.float32)
        nisa.memset(t, 1.0)
        count = nl.ndarray((1, 1), dtype=nl.int32)
        nisa.memset(count, 3)
        going = nisa.register_alloc(None)
        nisa.register_load(going, count)

        def outer():
            def inner(i):
                nisa.tensor_scalar(t, t, nl.add, 1.0)
                notes.append(str(t))

            nl.fori_loop(0, 4, inner)
            notes.append(str(t))
            nisa.tensor_scalar(count, count, nl.subtract, 1)
            nisa.register_load(going, count)
            return going

        nl.while_loop(going, outer)
        nisa.dma_copy(x, t)

    x = np.zeros((1, 2), np.float32)
    nki.simulate(kernel)(x)
    np.testing.assert_array_equal(x, np.full((1, 2), 13.0))
    assert "[[2. 2.]]" in notes[0], "one pass of each"
    assert "[[5. 5.]]" in notes[1], "one pass of the outer loop, all of the inner one"
