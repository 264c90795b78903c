"""Every documented name of nki.language 0.6.0 is there; removed names say what to write; tensors have no operators."""

import ast
import operator
import re
import warnings

import ml_dtypes
import numpy as np
import pytest

from kernels import refused, run, run_kernel, same
from kiln import nki
from kiln.nki import _removed
from kiln.nki import isa as nisa
from kiln.nki import language as nl

CREATION = "ndarray zeros ones full zeros_like empty_like shared_constant shared_identity_matrix rand random_seed"
MOVEMENT = "load store load_transpose2d copy transpose matmul broadcast_to expand_dims where gather_flattened ds"
BINARY = ("add subtract multiply maximum minimum divide power mod fmod abs_max abs_min equal not_equal less "
          "less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor left_shift right_shift "
          "logical_and logical_or logical_xor")
UNARY = ("abs square negative sign invert logical_not exp log sqrt rsqrt reciprocal sin cos tan arctan tanh sigmoid "
         "relu gelu softplus mish erf silu gelu_apprx_tanh gelu_apprx_sigmoid gelu_dx silu_dx erf_dx "
         "gelu_apprx_sigmoid_dx ceil floor trunc")
REDUCTIONS = "sum max min mean prod var all softmax rms_norm dropout"
CONTROL = ("affine_range sequential_range static_range dynamic_range fori_loop while_loop no_reorder program_id "
           "num_programs program_ndim is_hbm is_on_chip is_psum is_sbuf")
TOKENS = "prelu bypass average"
VALUES = "sbuf psum hbm private_hbm shared_hbm tile_size NKIObject MemoryRegion"
DTYPES = ("bool_ int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 float32 tfloat32 float8_e4m3 float8_e4m3fn "
          "float8_e5m2 float8_e8m0fnu float8_e4m3fn_x4 float8_e5m2_x4 float4_e2m1fn_x4")


def names(*groups):
    return " ".join(groups).split()


@pytest.mark.parametrize("name", names(CREATION, MOVEMENT, BINARY, UNARY, REDUCTIONS, CONTROL))
def test_functions_are_there_and_explain_themselves(name):
    function = getattr(nl, name)
    assert callable(function)
    if type(function).__name__ == "Op":
        assert function.function is not None and function.__name__ == name
    if name not in ("is_hbm", "is_on_chip", "is_psum", "is_sbuf"):
        assert function.__doc__


@pytest.mark.parametrize("name", names(TOKENS))
def test_tokens_are_no_functions(name):
    assert type(getattr(nl, name)).__name__ == "Op" and getattr(nl, name).function is None


@pytest.mark.parametrize("name", names(VALUES, DTYPES))
def test_values_are_there(name):
    assert getattr(nl, name) is not None


def test_functions_and_tokens_are_the_same_object(rng):
    x = rng.standard_normal((4, 5)).astype(np.float32)
    table = {nl.add: "add", nl.exp: "exp"}
    assert table[nl.add] == "add" and nl.add == nl.add and nl.add != nl.subtract
    assert (nl.max, nl.copy) == (nl.max, nl.copy)

    def both(t, op):
        dst = nl.ndarray(t.shape, t.dtype)
        nisa.tensor_tensor(dst, t, t, op=op)
        return nl.subtract(dst, op(t, t))

    same(run(lambda t: both(t, nl.add), x), np.zeros_like(x))
    same(run(lambda t: both(t, nl.multiply), x), np.zeros_like(x))


def test_every_operator_of_the_instructions_has_a_function():
    from kiln import _kiln

    for name in {*_kiln.alu_ops(), *_kiln.activations()} - set(names(TOKENS)):
        assert getattr(nl, name).function is not None, name


@pytest.mark.parametrize("name", _removed.LANGUAGE)
def test_removed_names_say_what_to_write(name):
    assert not hasattr(nl, name)
    refused("nki.R36", lambda t: getattr(nl, name), np.ones((1, 1), np.float32), help=_removed.LANGUAGE[name])
    with pytest.raises(AttributeError):
        getattr(nl, name)


def test_names_that_never_were():
    with pytest.raises(AttributeError, match="no attribute 'convolve'"):
        nl.convolve  # noqa: B018


@pytest.mark.parametrize("name", ["float64", "int64", "uint64"])
def test_there_are_no_64_bit_types(name):
    with pytest.raises(AttributeError, match=f"write nl.{name[:-2]}32"):
        getattr(nl, name)


@pytest.mark.parametrize("name", _removed.TENSOR)
def test_removed_methods_say_what_to_write(name):
    refused("nki.R36", lambda t: getattr(t, name), np.ones((1, 1), np.float32), help=_removed.TENSOR[name])
    run(lambda t: t if not hasattr(t, name) and not hasattr(t, "no_such") else None, np.ones((1, 1), np.float32))


BINARY_OPERATORS = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le gt ge eq ne".split()


@pytest.mark.parametrize("name", BINARY_OPERATORS + ["neg", "abs", "invert"])
def test_tensors_have_no_operators(name):
    f, x = getattr(operator, name), np.ones((2, 3), np.float32)
    if name not in BINARY_OPERATORS:
        return refused("nki.R37", lambda t: f(t), x, help="nl.")
    refused("nki.R37", lambda t: f(t, t), x, help="nl.")
    refused("nki.R37", lambda t: f(t, 2), x, help="nl.")
    refused("nki.R37", lambda t: f(2, t), x, help="nl.")


def test_rewrites_of_operators_name_functions():
    from kiln.nki.language._operators import REWRITES

    for _, rewrite in REWRITES.values():
        for node in ast.walk(ast.parse(rewrite)):
            if isinstance(node, ast.Attribute):
                assert callable(getattr(nl, node.attr))


def test_operators_are_type_errors_in_python_s_words():
    x = np.ones((2, 3), np.float32)

    def accumulate(t):
        t += t

    for function, found in ((lambda t: t / 2, "`/` on a tensor"), (accumulate, "`+=` on a tensor"),
                            (lambda t: t == 0, "`==` on a tensor")):
        with pytest.raises(TypeError, match=re.escape(found)):
            run(function, x)


def test_tensors_are_true_and_compare_with_none_and_words(rng):
    x = rng.standard_normal((2, 3)).astype(np.float32)

    def function(t):
        assert t is not None and t != None and not t == "x"  # noqa: E711
        assert t in (None, t) and len({t, t}) == 1
        return t

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(run(function, x), x)


def test_a_tensor_is_true_as_kernels_ask_whether_there_is_one():
    def kernel(x, optional=None):
        assert bool(x) is True and not optional
        return nl.zeros(x.shape, x.dtype, buffer=nl.shared_hbm)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nki.simulate(kernel)(np.ones((2, 3), np.float32))


def test_assignments_copy_and_warn(target, rng):
    x = rng.standard_normal((4, 6)).astype(np.float32)

    def kernel(x):
        tile = nl.ndarray((4, 3, 6), nl.bfloat16)
        tile[...] = 1.5
        tile[:, 0, :] = nl.load(x)
        tile[:, 1, 0:3] = x[:, 3:6]
        out = nl.ndarray((4, 3, 6), nl.float32, buffer=nl.shared_hbm)
        out[...] = tile
        transposed = nl.ndarray((6, 4), nl.float32, buffer=nl.shared_hbm)
        transposed[:, :] = nl.transpose(nl.load(x))
        return out, transposed

    with pytest.warns(nki.NkiWarning, match="assignment"):
        got, transposed = run_kernel(kernel, x)
    want = np.full((4, 3, 6), 1.5, np.float32)
    half = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    want[:, 0], want[:, 1, :3] = half, half[:, 3:]
    same(got, want)
    same(transposed, np.ascontiguousarray(x.T))


@pytest.mark.filterwarnings("ignore::kiln.nki.NkiWarning")
def test_assignments_that_do_not_fit():
    x = np.ones((4, 6), np.float32)

    def assign(t, key, value):
        t[key] = value

    refused("nki.R32", lambda t: assign(t, slice(0, 2), t), x)
    refused("nki.R27", lambda t: assign(t, slice(0, 2), "1"), x)
    refused("nki.R31", lambda t: assign(nl.ndarray((2, 2), nl.float32, buffer=nl.hbm), ..., 1.0), x, help="nl.full")


@pytest.mark.parametrize("code, call, help", [
    ("nki.R8", lambda t: nl.is_hbm(t), "tensor.buffer"), ("nki.R8", lambda t: nl.is_psum(t), "tensor.buffer"),
    ("nki.R33", lambda t: nl.zeros_like(3), "pass a tensor"),
    ("nki.R33", lambda t: nl.empty_like(None), "pass a tensor"),
    ("nki.R33", lambda t: nl.broadcast_to(t, 7), "a tuple of 2 ints"),
    ("nki.R33", lambda t: nl.gather_flattened(t, t), "nl.uint32"),
    ("nki.R33", lambda t: nl.rms_norm(t, t, axis=1, n=0), "x.shape[1]")])
def test_arguments_of_another_kind_are_told(code, call, help):
    refused(code, call, np.ones((2, 3), np.float32), help=help)
