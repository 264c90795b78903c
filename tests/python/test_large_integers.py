"""An int of more than 64 bits is refused where it is passed: which argument, what was found, what is allowed."""

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.zeros((128, 8), np.float32)
LARGE = (1 << 70, -(1 << 70), 1 << 63, -(1 << 63) - 1, 10**5000)


def f32():
    return nl.ndarray((128, 8), dtype=nl.float32)


def i32():
    return nl.ndarray((128, 8), dtype=nl.int32)


# what is done with the int, and how the message names it
PLACES = {
    "offset of iota": lambda x, n: nisa.iota(i32(), pattern=[[1, 8]], offset=n),
    "pattern of iota": lambda x, n: nisa.iota(i32(), pattern=[[n, 8]]),
    "value of memset": lambda x, n: nisa.memset(f32(), n),
    "operand0 of tensor_scalar": lambda x, n: nisa.tensor_scalar(i32(), i32(), nl.multiply, n),
    "axis of tensor_reduce": lambda x, n: nisa.tensor_reduce(f32(), nl.add, f32(), axis=n),
    "shuffle_mask of nc_stream_shuffle": lambda x, n: nisa.nc_stream_shuffle(f32()[0:32], f32()[0:32], [n] * 32),
    "x of register_alloc": lambda x, n: nisa.register_alloc(n),
    "src of register_move": lambda x, n: nisa.register_move(nisa.register_alloc(0), n),
    "an index": lambda x, n: x[n],
    "a slice bound": lambda x, n: x[0:n],
    "the size of nl.ds": lambda x, n: x[nl.ds(nisa.register_alloc(0), n)],
    "a shape": lambda x, n: nl.ndarray((128, n), dtype=nl.float32),
    "a pair of the pattern": lambda x, n: x.ap([[8, 128], [1, n]]),
    "offset": lambda x, n: x.ap([[8, 128], [1, 8]], offset=n),
    "a dimension": lambda x, n: x.squeeze_dim(n),
    "a size": lambda x, n: x.expand_dim(0).broadcast(0, n),
    "an integer or register": lambda x, n: nl.fori_loop(0, n, lambda i: None),
    "the step of a loop": lambda x, n: nl.fori_loop(0, 4, lambda i: None, step=abs(n)),
}


@pytest.mark.parametrize("number", LARGE, ids=lambda n: f"{n.bit_length()} bits")
@pytest.mark.parametrize("place", PLACES)
def test_it_is_refused_with_its_place(place, number):
    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(lambda x: PLACES[place](x, number))(X)
    found = caught.value.diagnostics[0]
    name, _, function = place.partition(" of ")
    argument = f"`{name}` of nisa.{function}" if hasattr(nisa, function) else place
    assert found.found == f"{argument} is an int of {number.bit_length()} bits"
    assert found.code == ("nki.R10" if hasattr(nisa, function) else "nki.R9")
    assert found.allowed == "ints from -2^63 to 2^63 - 1"
    assert found.loc.file == __file__


def test_an_int_of_any_size_is_a_float_where_only_floats_are_meant():
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = f32()
        nisa.dma_copy(tile, x)
        nisa.affine_select(tile, [[1, 8]], 0, tile, -(1 << 70), cmp_op=nl.greater, offset=-8)
        nisa.dma_copy(out, tile)
        return out

    np.testing.assert_array_equal(nki.simulate(kernel)(X), np.full(X.shape, -(2.0**70), np.float32))


@pytest.mark.parametrize("dim", [1 << 32, 3, -4])
def test_a_new_dimension_comes_inside_or_at_the_end(dim):
    with pytest.raises(kiln.NkiValidationError, match="it comes at -3 to 2"):
        nki.simulate(lambda x: x.expand_dim(dim))(X)


def test_a_step_beyond_the_end_takes_the_first():
    taken = []
    nki.simulate(lambda x: taken.extend([x[:, :: (1 << 63) - 1].shape, x.slice(1, 0, 8, (1 << 63) - 1).shape]) or x)(X)
    assert taken == [(128, 1), (128, 1)]


@pytest.mark.parametrize("function", [nl.divide, nl.mod, nl.fmod])
def test_an_int_that_is_no_float_is_refused_by_the_steps_of_a_division(function):
    with pytest.raises(kiln.NkiValidationError) as caught, pytest.warns(UserWarning):
        nki.simulate(lambda x: function(f32(), 10**400))(X)
    assert caught.value.diagnostics[0].found.endswith("is an int of 1329 bits")
    assert caught.value.diagnostics[0].loc.file == __file__
