"""The pass of the user's loops, in the user's words, in errors and warnings of a run."""

import numpy as np
import pytest

import kiln
import kiln.nki as nki
import kiln.nki.isa as nisa
import kiln.nki.language as nl

X = np.ones((128, 64), np.float32)


def failing(body, *args):
    """The pass in the error that a kernel ends with."""
    with pytest.raises(kiln.NkiValidationError) as error:
        nki.simulate(body, nan="error")(*args)
    return dict(error.value.diagnostics[0].facts).get("pass")


def invert(x, column, out):
    """1 / 0 in column 37."""
    tile = nl.load(x[:, column:column + 1])
    minus = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=minus, data=tile, op0=nl.subtract, operand0=1.0 if column == 37 else 0.0)
    nisa.reciprocal(dst=minus, data=minus)
    nl.store(out[:, column:column + 1], minus)


def output(x):
    return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)


def test_loops_in_python():
    def kernel(x):
        out = output(x)
        for i in nl.affine_range(4):
            for j in range(16):
                invert(x, 16 * i + j, out)
        return out

    assert failing(kernel, X) == "i=2, j=5"


def test_loops_of_a_function_that_is_called():
    def row(x, out, i):
        for j in range(16):
            invert(x, 16 * i + j, out)

    def kernel(x):
        out = output(x)
        for outer in range(4):
            row(x, out, outer)
        return out

    assert failing(kernel, X) == "outer=2, j=5"


def test_only_loops_around_the_line():
    def kernel(x):
        out = output(x)
        for before in range(3):  # noqa: B007
            pass
        for i in range(64):
            for after in range(2):  # noqa: B007
                pass
            invert(x, i, out)
        return out

    assert failing(kernel, X) == "i=37"


def test_several_names():
    def kernel(x):
        out = output(x)
        for n, (kind, column) in enumerate([("odd", c) for c in range(1, 64, 2)]):  # noqa: B007
            invert(x, column, out)
        return out

    assert failing(kernel, X) == "n=18, kind='odd', column=37"


def test_a_comprehension():
    def kernel(x):
        out = output(x)
        [invert(x, c, out) for c in range(64)]
        return out

    assert failing(kernel, X) == "c=37"


def test_loops_on_the_device():
    def kernel(x, at):
        out = output(x)
        indices = nl.load(at)
        for i in nl.affine_range(2):
            for j in nl.dynamic_range(32):
                index = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
                nisa.tensor_copy(dst=index, src=indices.ap([[64, 1], [1, 1]], offset=32 * i, scalar_offset=j,
                                                        indirect_dim=1))
                tile = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=tile, src=x.ap([[64, 128], [1, 1]], scalar_offset=index))
                nl.store(out[:, 0:1], tile)
        return out

    at = np.zeros((1, 64), np.int32)
    at[0, 32 + 5] = 10**6
    assert failing(kernel, X, at) == "i=1, j=5"


def test_bodies_of_loops_on_the_device():
    def kernel(x, at):
        out = output(x)
        indices = nl.load(at)

        def body(step):
            index = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=index, src=indices.ap([[64, 1], [1, 1]], scalar_offset=step, indirect_dim=1))
            tile = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x.ap([[64, 128], [1, 1]], scalar_offset=index))
            for half in range(2):
                nl.store(out[:, half:half + 1], tile)

        nl.fori_loop(0, 64, body)
        return out

    at = np.zeros((1, 64), np.int32)
    at[0, 41] = 10**6
    assert failing(kernel, X, at) == "step=41"


def test_the_second_core_of_a_pair():
    def kernel(x):
        out = output(x)
        for i in range(32):
            invert(x, 32 * nl.program_id(0) + i, out)
        return out

    assert failing(nki.jit(kernel)[2], X) == "i=5"


def test_what_the_kernel_prints_is_printed_once(capsys):
    def kernel(x):
        out = output(x)
        for i in range(64):
            invert(x, i, out)
        print("traced")
        return out

    assert failing(kernel, X) == "i=37"
    assert capsys.readouterr().out == "traced\n"


def test_a_kernel_that_differs_when_it_runs_again():
    """Nothing is said then."""
    left = [40]

    def kernel(x):
        out = output(x)
        for i in range(38 if left[0] else 3):
            invert(x, i, out)
        left[0] = 0
        return out

    assert failing(kernel, X) is None


def test_no_loops():
    def kernel(x):
        out = output(x)
        invert(x, 37, out)
        return out

    assert failing(kernel, X) is None
