"""What is wrong with arguments, shapes, dtypes, returns and values is told in words that say what to do."""

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.zeros((128, 8), np.float32)


@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out


def tile(*args, **kwargs):
    """A kernel that makes a tensor."""
    return lambda x: nisa.memset(nl.ndarray(*args, **kwargs), 0.0)


ARGUMENTS = (
    ([[1.0]], kiln.NkiValidationError, "tensors are made of arrays, e.g. np.array(..., np.float32)"),
    (None, AttributeError, "the argument `x` of the kernel is a NoneType"),
    ("text", AttributeError, "the argument `x` of the kernel is a str"),
    (3, AttributeError, "the argument `x` of the kernel is a int"),
    (np.zeros((4, 4)), kiln.NkiConfigError, "array.astype(np.float32); NKI has no 64-bit types"),
    (np.zeros((4, 4), np.int64), kiln.NkiConfigError, "array.astype(np.int32)"),
    (np.array([[object()]]), kiln.NkiConfigError, "`x` is an array of object"),
    (np.array(3, np.float32), kiln.NkiConfigError, "pass a Python number, or reshape it to (1,)"),
    (np.zeros((0, 4), np.float32), kiln.NkiConfigError, "leave the kernel out for empty inputs"),
    (np.zeros(4, np.float32), kiln.NkiValidationError, "pass src.reshape((4, 1)) or .reshape((1, 4))"),
    (np.zeros((1,) * 9, np.float32), kiln.NkiValidationError, "a tensor has 1 to 8 dimensions"),
    (np.zeros((300, 4), np.float32), kiln.NkiValidationError, "take slices of 128 in a loop"),
)


@pytest.mark.parametrize("argument, error, text", ARGUMENTS, ids=[text[:40] for _, _, text in ARGUMENTS])
def test_arguments(argument, error, text):
    with pytest.raises(error) as raised:
        copied(argument)
    assert text in str(raised.value)
    if isinstance(raised.value, kiln.NkiValidationError):
        assert raised.value.diagnostics[0].loc.file == __file__


def test_all_arguments_that_may_be_meant_are_named():
    def add_bias(x, bias=None, scale=None):
        return copied(bias if bias.shape == x.shape else scale)

    with pytest.raises(AttributeError, match="the arguments `bias`, `scale` of the kernel are each a NoneType"):
        nki.simulate(add_bias)(np.zeros((4, 4), np.float32), bias=None, scale=None)


def test_many_arguments_that_may_be_meant_are_not_all_named():
    named = "the arguments `a`, `b`, `c` and others of the kernel are each a NoneType"
    with pytest.raises(AttributeError, match=named):
        nki.simulate(lambda a, b, c, d: copied(a))(None, None, None, None)


@pytest.mark.parametrize("view", [np.asarray, np.matrix, np.ma.masked_array, lambda a: a[::-1],
                                  lambda a: a.astype(">f4")])
def test_arrays_of_all_kinds_are_taken(view):
    a = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_array_equal(np.asarray(copied(view(a))), np.asarray(view(a), np.float32))


KERNELS = (
    (lambda x: None, "it returns nothing and writes none of its arguments"),
    (lambda x: 3, "it returns a int and writes none"),
    (lambda x: (yield), "it returns a generator and writes none"),
    (lambda x: nl.load(x), "copy it with nisa.dma_copy into nl.ndarray(..., buffer=nl.shared_hbm)"),
    (lambda x: nl.ndarray((2, 2), dtype=nl.float32, buffer=nl.shared_hbm), "no instruction writes it"),
    (tile((2.5, 3), nl.float32), "a shape is a float"),
    (tile(3, nl.float32), "the first dimension is the partition dimension: (1, 3) or (3, 1)"),
    (tile((-1, 3), nl.float32), "shape (-1, 3) in sbuf"),
    (tile((0, 3), nl.float32), "leave the code out for empty shapes"),
    (tile((128, 1, 128, 1, 3, 3), nl.float32), "fold neighbouring dimensions"),
    (tile((1,) * 6, nl.float32), "on chip 2 to 5"),
    (tile((129, 3), nl.float32), "split the partition dimension into tiles of 128"),
    (tile("ab", nl.float32), "pass a tuple of ints"),
    (tile((2, 2), "floaty"), "`floaty` as a dtype"),
    (tile((2, 2), None), "`NoneType` as a dtype"),
    (tile((2, 2), np.int64), "NKI has no 64-bit types"),
    (tile((2, 2), nl.float32, address=5), "address=(partition, byte offset)"),
    (lambda x: nl.load(x)[:, 9], "index 9 of dimension 1, which has 8 elements"),
    (lambda x: nl.load(x[:, 0:9]), "there is no clipping as in NumPy"),
    (lambda x: nl.load(x)[:, 1.0], "an index of type float"),
    (lambda x: nl.load(x)[:, None], "use .expand_dim(dim) to add a dimension"),
    (lambda x: nl.add(nl.load(x), nl.load(x[0:64])), "expand one of them with nl.broadcast_to"),
    (lambda x: nl.add(nl.load(x), np.ones(3)), "pass a tile or a Python number"),
)


@pytest.mark.parametrize("kernel, text", KERNELS, ids=[text[:40] for _, text in KERNELS])
def test_kernels(kernel, text):
    with pytest.raises(kiln.NkiValidationError) as raised:
        nki.simulate(kernel)(X)
    assert text in str(raised.value)
    assert raised.value.diagnostics[0].loc.file == __file__


VALUES = (
    (int, "nisa.register_load("), (float, "pass a (P, 1) tile"), (list, "for i in range(t.shape[0])"),
    (np.array, "nl.device_print show its values"),
)  # fmt: skip


@pytest.mark.parametrize("function, text", VALUES, ids=[f.__name__ for f, _ in VALUES])
def test_tensors_have_no_value_for_python(function, text):
    with pytest.raises(TypeError) as raised:
        nki.simulate(lambda x: function(nl.load(x)))(X)
    assert "it has no value while the kernel is traced" in str(raised.value) and text in str(raised.value)


def test_jit_takes_functions_and_methods():
    with pytest.raises(TypeError, match="nki.jit takes a function, not int"):
        nki.jit(3)

    class Model:
        factor = 3.0

        @nki.jit
        def scaled(self, x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.multiply(nl.load(x), self.factor))
            return out

    np.testing.assert_array_equal(Model().scaled(X + 1), X + 3)


def test_the_marked_operand_is_that_of_the_call_that_failed(tmp_path):
    (tmp_path / "two.py").write_text("def kernel(x, nl, nisa):\n"
                                     "    t = nl.load(x); nisa.tensor_tensor(t, t, x, nl.add); nisa.dma_copy(x, t)\n")
    scope = {}
    exec(compile((tmp_path / "two.py").read_text(), str(tmp_path / "two.py"), "exec"), scope)
    with pytest.raises(kiln.NkiValidationError) as raised:
        nki.simulate(lambda x: scope["kernel"](x, nl, nisa))(X)
    lines = str(raised.value).split("\n")
    at = next(i for i, line in enumerate(lines) if "nisa.tensor_tensor" in line)
    assert lines[at + 1].index("^") == lines[at].index(", x, nl.add") + 2
