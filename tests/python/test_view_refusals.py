"""Views and tensors that no hardware has are refused where they are made."""

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def refused(kernel, *arrays):
    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(kernel)(*arrays)
    return caught.value.code


X = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
ROWS = np.arange(16, dtype=np.int32)[::-1].reshape(16, 1).copy()


def loaded(x):
    tile = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(tile, x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def columns_of_selected_rows(x, rows):
    tile = nl.ndarray((16, 8), dtype=x.dtype)
    nisa.dma_copy(tile, x.vector_select(0, loaded(rows))[:, 8:16])
    return stored(tile)


def test_selected_rows_can_be_sliced_by_column():
    assert np.array_equal(nki.simulate(columns_of_selected_rows)(X, ROWS), X[ROWS[:, 0], 8:16])


def select_after_permute(x, rows):
    tile = nl.ndarray((16, 16), dtype=x.dtype)
    nisa.dma_copy(tile, x.permute((1, 0)).vector_select(0, loaded(rows)))
    return stored(tile)


def test_rows_are_selected_along_the_largest_stride():
    assert refused(select_after_permute, X, ROWS) == "nki.R11"


SECOND = {
    "select": lambda v, r: v.select(0, r),
    "ds": lambda v, r: v[nl.ds(r, 2)],
    "ap": lambda v, r: v.ap([[32, 2], [1, 32]], scalar_offset=r),
}


@pytest.mark.parametrize("name", SECOND)
def test_a_view_has_one_run_time_address(name):
    def kernel(x):
        r = nisa.register_alloc(1)
        v = SECOND[name](x.reshape((4, 4, 32)).select(0, r), r)
        tile = nl.ndarray((2, 32), dtype=x.dtype)
        nisa.dma_copy(tile, v)
        return stored(tile)

    assert refused(kernel, X) == "builder.R4"


@pytest.mark.parametrize("view", [lambda t, i: t.indirect(i).indirect(i),
                                  lambda t, i: t.indirect(i).ap([[32, 16], [1, 16]])],
                         ids=["indirect", "ap"])
def test_gathered_elements_are_not_gathered_again(view):
    def kernel(x, rows):
        tile = nl.ndarray((16, 16), dtype=x.dtype)
        nisa.tensor_copy(tile, view(loaded(x), loaded(rows)))
        return stored(tile)

    assert refused(kernel, X, ROWS) == "builder.R4"


def strided(x, rows):
    tile = nl.ndarray((16, 16), dtype=x.dtype)
    nisa.tensor_copy(tile, loaded(x)[:, 0:32:2].indirect(loaded(rows)))
    return stored(tile)


def test_gathered_elements_follow_each_other():
    assert refused(strided, X, ROWS) == "builder.R2"


@pytest.mark.parametrize("shape", [(4, 0), (0, 4)])
@pytest.mark.parametrize("buffer", [nl.sbuf, nl.psum, nl.shared_hbm], ids=str)
def test_a_tensor_has_elements(shape, buffer):
    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(lambda x: nl.ndarray(shape, dtype=nl.float32, buffer=buffer))(X)
    assert caught.value.code == "nki.R50"
    assert caught.value.diagnostics[0].loc.file == __file__


@pytest.mark.parametrize("shape, buffer, help", [
    ((), nl.sbuf, "(1, 1)"), ((), nl.shared_hbm, "(1,)"), ((7,), nl.psum, "(1, 7) or (7, 1)"),
    ((1,) * 6, nl.sbuf, "fold neighbouring dimensions"), ((0, 4), nl.sbuf, "empty shapes")])
def test_shapes_that_do_not_fit_are_told_what_to_write(shape, buffer, help):
    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(lambda x: nl.ndarray(shape, dtype=nl.float32, buffer=buffer))(X)
    first = caught.value.diagnostics[0]
    assert (first.code, str(shape) in first.found, help in first.help) == ("nki.R50", True, True), str(caught.value)


@pytest.mark.parametrize("buffer, address", [(nl.sbuf, 3), (nl.sbuf, (0, 0, 0)), (nl.shared_hbm, (0, 0)),
                                             (nl.hbm, (0, 0))])
def test_addresses_are_pairs_on_chip(buffer, address):
    assert refused(lambda x: nl.ndarray((4, 4), nl.float32, buffer=buffer, address=address), X) == "nki.R62"


@pytest.mark.parametrize("name, code", [("shape", "nki.R9"), ("dtype", "nki.R7"), ("buffer", "nki.R8")])
def test_none_is_no_argument_of_a_tensor(name, code):
    arguments = {"shape": (4, 4), "dtype": nl.float32, "buffer": nl.sbuf, name: None}
    assert refused(lambda x: nl.ndarray(**arguments), X) == code


def test_none_is_no_index():
    assert refused(lambda x: x[None], X) == "nki.R11"


def test_hbm_has_an_end():
    def kernel(x):
        huge = nl.ndarray((1 << 20, 1 << 20), dtype=nl.float32, buffer=nl.private_hbm)
        nisa.dma_copy(huge[0:16, 0:32], x)
        return stored(loaded(x))

    assert refused(kernel, X) == "memory.R10"


@pytest.mark.parametrize("address, code", [((16, 0), "memory.R4"), ((0, 2), "memory.R6"), ((0, -4), "memory.R3")])
def test_an_address_is_checked_where_it_is_given(address, code):
    def kernel(x):
        tile = nl.ndarray((32, 8), dtype=nl.float32, address=address)
        nisa.memset(tile, 0.0)
        return stored(tile)

    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(kernel)(X)
    assert caught.value.code == code
    assert caught.value.diagnostics[0].loc.line == kernel.__code__.co_firstlineno + 1


def test_too_many_partitions_do_not_hide_the_rule_of_the_instruction():
    def kernel(x):
        tile = nl.ndarray((16, 129), dtype=nl.bfloat16)
        nisa.memset(tile, 0.0)
        nisa.nc_matmul(nl.ndarray((129, 8), dtype=nl.float32, buffer=nl.psum), tile, tile[:, 0:8])
        return x

    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(kernel)(X)
    assert [d.code for d in caught.value.diagnostics] == ["operand.R6", "nc_matmul.R2"]


def test_a_pattern_on_a_view_counts_from_its_offset_and_warns():
    def kernel(x):
        return stored(loaded(x)[:, 4:32].ap([[32, 16], [1, 4]], offset=2))

    with pytest.warns(nki.NkiWarning, match="ap on a view that begins at element 4"):
        got = nki.simulate(kernel)(X)
    assert np.array_equal(got, X[:, 6:10])


def test_of_two_patterns_the_last_one_counts():
    def kernel(x, rows):
        tile = loaded(x)
        inner = tile.ap([[32, 16], [2, 8]], offset=1, scalar_offset=loaded(rows), indirect_dim=1)
        return stored(inner.ap([[32, 16], [1, 4]], offset=3))

    assert np.array_equal(nki.simulate(kernel)(X, ROWS[:1]), X[:, 3:7])


REFUSED = {
    "select of element 3 of dimension 1, which has 3": lambda t: t.select(1, 3),
    "run-time index of dimension 1, which is broadcast": lambda t: t[:, 0:1].broadcast(1, 4).select(1, index()),
    "broadcast of dimension 1, which has 3 elements": lambda t: t.broadcast(1, 6),
    "broadcast of dimension 0 of a view": lambda t: t[0:1].broadcast(0, 6),
    "squeeze_dim of dimension 1, which has 3 elements": lambda t: t.squeeze_dim(1),
    "a new dimension at 0": lambda t: t.expand_dim(0),
    "dimension 1, which has 3 elements, as .2, 4.": lambda t: t.reshape_dim(1, (2, 4)),
    "flatten_dims of dimension 0": lambda t: t.flatten_dims(0, 1),
    "flatten_dims of dimensions 2 to 1": lambda t: t.flatten_dims(2, 1),
    "dimension 5 of a tensor that has 3": lambda t: t.slice(5, 0, 1),
    "puts dimension 1 first": lambda t: t.permute((1, 0, 2)),
    "NkiTensor.shape, dtype, storage.": lambda t: nki.NkiTensor((2, 2), nl.float32, None),
    "bfloat16 as float32, where 5 elements": lambda t: nl.ndarray((4, 5), nl.bfloat16)[:, 0:2].view(nl.float32),
}


def index():
    return nl.ndarray((1, 1), dtype=nl.int32)


@pytest.mark.parametrize("match", REFUSED)
def test_refusals_say_what_they_found(match):
    def kernel(x):
        REFUSED[match](nl.ndarray((4, 3, 5), dtype=nl.float32))
        return x

    with pytest.raises(kiln.NkiValidationError, match=match):
        nki.simulate(kernel)(X.copy())
