"""Whatever is passed to what users call: the answer is one of Kiln's errors, or Python's own about a wrong call; never
one of the binding's, never a crash. Read-only and masked arrays, lone surrogates, names of other types."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import kiln
from kiln import _kiln, nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.arange(16, dtype=np.float32).reshape(4, 4)
SURROGATE = "a\udc80b"


def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, x)
    return out


def incremented(x):
    nl.store(x, nl.add(nl.load(x), 1.0))
    return x


def read_only(array):
    array.flags.writeable = False
    return array


READ_ONLY = {
    "plain": lambda: read_only(X.copy()),
    "broadcast": lambda: np.broadcast_to(X[:1], (4, 4)),
    "not contiguous": lambda: read_only(X.copy())[:, ::2],
    "of the other byte order": lambda: read_only(X.astype(">f4")),
    "from bytes": lambda: np.frombuffer(X.tobytes(), np.float32).reshape(4, 4),
}


@pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)
def test_read_only_arrays_are_read_and_not_written(make):
    array = make()
    np.testing.assert_array_equal(nki.simulate(copied)(array), array)
    with pytest.raises(kiln.NkiConfigError, match="`x` is a read-only array") as raised:
        nki.simulate(incremented)(array)
    assert raised.value.code == "nki.R68"


def test_masked_arrays_need_all_their_values():
    masked = np.ma.masked_array(X, X > 3)
    for kernel in (copied, incremented):
        with pytest.raises(kiln.NkiConfigError, match="`x` is a masked array") as raised:
            nki.simulate(kernel)(masked)
        assert raised.value.code == "nki.R64" and "array.filled(value)" in raised.value.diagnostics[0].help
    np.testing.assert_array_equal(nki.simulate(copied)(np.ma.masked_array(X)), X)
    with pytest.raises(kiln.NkiConfigError, match="nl.shared_constant is a masked array"):
        nki.simulate(lambda x: nl.shared_constant(masked) and x)(X)


def inside(body):
    """Runs body(tile) in a kernel."""
    def kernel(x):
        tile = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(tile, x)
        body(tile)
        nisa.dma_copy(x, tile)

    return nki.simulate(kernel)(X.copy())


NAMES = [3, 2.5, b"bytes", ["list"], ("tuple",), object(), SURROGATE, X, nl.add]


@pytest.mark.parametrize("name", NAMES, ids=lambda n: type(n).__name__)
@pytest.mark.parametrize("call", [
    lambda tile, name: nisa.tensor_copy(tile, tile, name=name),
    lambda tile, name: nl.ndarray((4, 4), nl.float32, name=name),
    lambda tile, name: nl.zeros((4, 4), nl.float32, name=name),
], ids=["instruction", "tensor", "zeros"])
def test_names_are_texts(call, name):
    with pytest.raises(kiln.NkiValidationError) as raised:
        inside(lambda tile: call(tile, name))
    assert raised.value.code == "nki.R80"


@pytest.mark.parametrize("call", [
    lambda t: nl.ndarray((4, 4), SURROGATE), lambda t: nl.ndarray((4, 4), nl.float32, buffer=SURROGATE),
    lambda t: nisa.tensor_scalar(t, t, SURROGATE, 1.0), lambda t: nisa.tensor_copy(t, t, engine=SURROGATE),
    lambda t: nisa.nc_matmul(t, t, t, perf_mode=SURROGATE), lambda t: nisa.tensor_copy(t, t, **{SURROGATE: 1}),
    lambda t: nisa.tensor_copy(t, SURROGATE), lambda t: t.rearrange(("a", "b"), ("b", "a"), {SURROGATE: 1}),
    lambda t: nl.shared_constant("/nowhere/" + SURROGATE), lambda t: nl.device_print(SURROGATE, 3),
    lambda t: t[SURROGATE],
])  # fmt: skip
def test_lone_surrogates_in_a_kernel(call):
    with pytest.raises(kiln.NkiValidationError) as raised:
        inside(call)
    str(raised.value).encode()  # what is shown can be written


def test_lone_surrogates_outside_a_kernel(tmp_path):
    def named(x):
        return copied(x)

    named.__name__ = SURROGATE
    np.testing.assert_array_equal(nki.simulate(named)(X), X)
    program = kiln.program(named, X)
    program.name.encode()
    for path in (tmp_path / SURROGATE, bytes(tmp_path / "b.kiln")):  # a name of a file that is no UTF-8
        program.save(path)
    assert len(list(tmp_path.iterdir())) == 2
    for wrong in (lambda: kiln.time(copied, trip_counts={SURROGATE: 3})(X),
                  lambda: kiln.time(copied, what_if=SURROGATE)(X),
                  lambda: nki.jit(copied).with_schedule([(SURROGATE, "b")])(X), lambda: nki.jit(copied)[SURROGATE],
                  lambda: nki.api_version(SURROGATE)):  # fmt: skip
        with pytest.raises(kiln.NkiValidationError) as raised:
            wrong()
        str(raised.value).encode()


@pytest.mark.parametrize("call, text", [
    (lambda: kiln.time(copied, trip_counts={"a": "x"}), "trip_counts={'a': 'x'}"),
    (lambda: kiln.time(copied, trip_counts=3), "trip_counts=3"),
    (lambda: kiln.time(copied)(X).report("a"), "report('a')"),
    (lambda: kiln.time(copied)(X).report(-1), "report(-1)"),
    (lambda: kiln.time(copied)(X).compare(kiln.time(copied)(X), titles=3), "titles=3"),
])
def test_options_of_the_wrong_kind(call, text):
    with pytest.raises(kiln.NkiValidationError) as raised:
        call()
    assert raised.value.code == "nki.R33" and text in raised.value.diagnostics[0].found


@pytest.mark.parametrize("call", [lambda k: kiln.check(k), lambda k: kiln.program(k, X), lambda k: kiln.time(k)(X),
                                  lambda k: kiln.compare(k, {}, []), nki.simulate, nki.jit])
@pytest.mark.parametrize("kernel", [3, None, "text", X], ids=lambda k: type(k).__name__)
def test_what_is_no_kernel(call, kernel):
    if call is nki.jit and kernel is None:
        return  # @nki.jit()
    with pytest.raises(TypeError, match="function"):
        call(kernel)


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-3, 200), st.floats(), st.complex_numbers(), st.text(),
    st.binary(), st.just(SURROGATE), st.just(...), st.builds(object), st.just(nl.float32), st.just(np.float32),
    st.just(nl.add), st.just(nl.exp), st.just(nisa.engine.vector), st.just(nl.psum), st.just("tile"), st.just(len),
    st.just(slice(0, 2)), st.lists(st.integers(-2, 5), max_size=3), st.tuples(st.integers(0, 5), st.integers(0, 5)),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2), st.just(X), st.just(np.float64(2)),
)
TENSOR_CALLS = [n for n in dir(_kiln.NkiTensor) if not n.startswith("_") and callable(getattr(_kiln.NkiTensor, n))]
CALLS = ([("nisa", n) for n in sorted(_kiln.isa_functions)] + [("tensor", n) for n in TENSOR_CALLS]
         + [("nl", n) for n in dir(nl) if not n.startswith("_") and callable(getattr(nl, n))
            and n not in ("device_print", "range", "fori_loop", "while_loop", "dynamic_range", "full", "zeros", "ones",
                          "MemoryRegion", "NKIObject")])  # fmt: skip
NAMED = st.sampled_from(["name", "dtype", "dst", "buffer", "axis", "engine", "op", "shape", "no_such"])
PYTHONS = (TypeError, AttributeError, ValueError, IndexError, OverflowError, KeyError)
BINDINGS = ("incompatible function arguments", "bad_cast", "std::", "basic_string", "vector::")


@settings(max_examples=1500, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(call=st.sampled_from(CALLS), args=st.lists(ODD, max_size=5), named=st.dictionaries(NAMED, ODD, max_size=2))
def test_odd_arguments_of_every_function(call, args, named):
    owner, name = call
    note(f"{owner}.{name}{args} {named}")

    def body(tile):
        def tile_or(value):
            return tile if isinstance(value, str) and value == "tile" else value

        function = getattr({"nisa": nisa, "nl": nl, "tensor": tile}[owner], name)
        function(*map(tile_or, args), **{key: tile_or(value) for key, value in named.items()})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            inside(body)
        except kiln.NkiValidationError as error:
            str(error).encode()
        except PYTHONS as error:
            assert not any(word in str(error) for word in BINDINGS), f"{type(error).__name__}: {error}"
