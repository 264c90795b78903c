"""What crosses into a kernel: objects as copies; lists and NumPy's dtypes are refused (test_same_verdict.py), and of
what else the device's compiler refuses there is a warning."""

import dataclasses
import warnings

import numpy as np
import pytest

from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, x)
    return out


@nki.jit
def ignoring(x, value):
    return copied(x)


class Plain:
    pass


@dataclasses.dataclass
class Config(nl.NKIObject):
    rows: int
    inner: object = None


@pytest.mark.parametrize(("value", "help"), [
    ({1: 2}, "strings as keys"), (2**32, "smaller number"), (-2**31 - 1, "smaller number"), (1j, "NKIObject"),
    ({1}, "NKIObject"), (Plain(), "NKIObject"),
])  # fmt: skip
def test_what_the_compiler_refuses_is_warned_of(value, help):
    with pytest.warns(nki.NkiWarning, match=help) as caught:
        ignoring(X, value)
    assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.parametrize("value", [None, True, 7, 2**32 - 1, 0.5, "a", (1, (2.0, "b")), {"a": (1,)}, nl.bfloat16,
                                   nl.sbuf, nl.add, len, Config(3), nisa.engine.vector, np.int32(3), X, (X, X),
                                   slice(0, 2)])
def test_what_the_compiler_takes_passes_quietly(value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ignoring(X, value)


def test_a_kernel_changes_its_own_copy_of_an_object():
    config = Config(3, Config(4))
    config.inner.inner = config  # a circle
    seen = []

    def kernel(x, a, b):
        seen.append((a is b, a.rows, a.inner.rows, a.inner.inner is a))
        a.rows = a.inner.rows = 7
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        row = nl.program_id(0)
        nisa.dma_copy(out[row], x[row])
        return out

    np.testing.assert_array_equal(nki.jit(kernel)[2](X, config, config), X)
    assert seen == [(True, 3, 4, True)] * 2  # core 1 does not see what core 0 did
    assert (config.rows, config.inner.rows) == (3, 4)


def test_options_of_older_compilers_are_ignored_with_a_warning():
    with pytest.warns(nki.NkiWarning, match="ignores some_option=") as caught:
        kernel = nki.jit(some_option=True)(copied)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(kernel(X), X)
