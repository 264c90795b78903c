"""Whole kernels with one thing wrong: the line and the remedy that their author is shown."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.ones((32, 64), np.float32)


def wrong(function, *args):
    """The first diagnostic of a kernel, the same from a call and from kiln.check; and its line in the kernel."""
    with pytest.raises(kiln.NkiValidationError) as caught:
        nki.simulate(function)(*args)
    (d,) = caught.value.diagnostics
    (checked,) = kiln.check(function, *args).diagnostics
    assert (checked.code, checked.loc.file, checked.loc.line) == (d.code, d.loc.file, d.loc.line)
    return d, d.loc.line - function.__code__.co_firstlineno


def private_output(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
    nisa.dma_copy(dst=out, src=x)
    if x.shape[0] < 3:
        return x
    return out


def output_on_chip(x):
    tile = nl.load(x)
    return tile


def no_output(x):
    nl.load(x)
    return 3


def written_constant(x):
    constant = nl.shared_constant(X)
    tile = nl.load(constant)
    nisa.dma_copy(dst=x, src=tile)
    nisa.dma_copy(dst=constant, src=tile)


@pytest.mark.parametrize("function, code, line", [
    (private_output, "nki.R16", 5), (output_on_chip, "nki.R16", 2), (written_constant, "nki.R35", 4),
])  # fmt: skip
def test_what_is_found_after_the_kernel_has_run_has_its_line(function, code, line):
    d, found = wrong(function, X.copy())
    assert (d.code, found, d.loc.file) == (code, line, __file__)


def test_a_kernel_without_effect_has_its_line():
    with pytest.raises(kiln.NkiConfigError) as caught:
        nki.simulate(no_output)(X)
    assert caught.value.diagnostics[0].loc.line == no_output.__code__.co_firstlineno + 2


SCRIPT = """import nki
import nki.language as nl
import nki.isa as nisa
import nki.typing as nt

@nki.jit
def kernel(x: nt.tensor[32, 64]):
    register = nisa.register_alloc(1)
    tile = nl.load(x)
    if {condition}:
        nl.store(x, tile)
    return tile
"""


def kiln_command(folder, command, condition):
    (folder / "kernel.py").write_text(SCRIPT.format(condition=condition))
    return subprocess.run([sys.executable, "-m", "kiln", command, "kernel.py"], cwd=folder, env=dict(os.environ),
                          text=True, capture_output=True)  # fmt: skip


@pytest.mark.parametrize("command", ["check", "time"])
@pytest.mark.parametrize("condition, code, line", [("register", "nki.R42", 10), ("True", "nki.R16", 12)])
def test_commands_tell_the_line_of_the_kernel(tmp_path, command, condition, code, line):
    done = kiln_command(tmp_path, command, condition)
    assert done.returncode == 1 and f"error[{code}]" in done.stderr and f"kernel.py:{line}\n" in done.stderr
    assert "runpy" not in done.stderr and "Traceback" not in done.stderr


def gathered(table, index_dtype, index_buffer):
    index = nl.ndarray((16, 1), dtype=index_dtype, buffer=index_buffer)
    rows = nl.ndarray((16, 64), dtype=table.dtype)
    nisa.dma_copy(dst=rows, src=table.vector_select(0, index))
    return table


def test_a_wrong_index_is_told_what_an_index_is():
    for dtype, buffer in ((nl.float32, nl.sbuf), (nl.int32, nl.private_hbm)):
        (d,) = kiln.check(gathered, X, dtype, buffer).diagnostics
        assert d.code == "operand.R12" and d.help.startswith("load the indices into a (P, 1) tile of int32 or uint32")


def product_in_sbuf(x):
    a, b = nl.load(x), nl.ndarray((64, 64), dtype=x.dtype)
    nisa.nc_matmul(dst=b, stationary=a, moving=a)
    return x


def filled_output(x):
    nisa.memset(dst=x, value=0.0)
    return x


@pytest.mark.parametrize("function, words", [
    (product_in_sbuf, "write into a tile in PSUM, and move the result on to sbuf with tensor_copy"),
    (filled_output, "write into a tile in SBUF, and move the result on to HBM with dma_copy"),
])  # fmt: skip
def test_a_destination_in_the_wrong_memory_is_told_where_to_write(function, words):
    d, _ = wrong(function, X.copy())
    assert (d.code, d.help) == ("operand.R1", words)


def test_a_float_for_an_integer_tile_is_shown_as_one():
    def kernel(x):
        t = nl.ndarray((32, 64), dtype=nl.int32)
        nisa.memset(dst=t, value=2.0)

    d, _ = wrong(kernel, X)
    assert d.found == "value is 2.0, dst is int32" and d.help.startswith("write 2 instead of 2.0")


def test_an_instruction_for_a_tile_is_told_what_it_is():
    def kernel(x):
        t = nl.load(x)
        u = nisa.tensor_copy(dst=t, src=t)
        nl.store(x, u)

    d, _ = wrong(kernel, X.copy())
    assert d.found == "value of nl.store is a NkiInstruction" and "returns no tile" in d.help


def scheduled(x):
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=t, src=x, name="load")
    nisa.dma_copy(dst=x, src=t, name="store")


def test_a_check_follows_the_schedule():
    kernel = nki.jit(scheduled)
    assert kiln.check(kernel.with_schedule([("store", "load")]), X)
    (d,) = kiln.check(kernel.with_schedule([("store", "lod")]), X).diagnostics
    assert d.code == "nki.R38"


def test_a_core_does_not_send_to_itself():
    def kernel(x):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.sendrecv(t, t, send_to_rank=nl.program_id(0), recv_from_rank=nl.program_id(0), pipe_id=0)

    (d,) = kiln.check(nki.jit(kernel)[2], X).diagnostics
    assert (d.code, d.found) == ("sendrecv.R4", "core 0 has send_to_rank 0")


def test_a_name_that_is_given_twice_is_warned_of():
    def kernel(x, second):
        t = nl.ndarray(x.shape, dtype=x.dtype, name="tile")
        u = nl.ndarray(x.shape, dtype=x.dtype, name=second)
        nisa.dma_copy(dst=t, src=x)
        nisa.tensor_copy(dst=u, src=t)
        nisa.dma_copy(dst=x, src=u)

    with pytest.warns(kiln.nki.NkiWarning, match="the name `tile` is in use"):
        nki.simulate(kernel)(X.copy(), "tile")
    for make in (lambda t: nl.zeros(t.shape, t.dtype, name="tile"), lambda t: nl.empty_like(t, name="tile")):
        def again(x):
            make(nl.ndarray(x.shape, x.dtype, name="tile"))
            return nl.store(x, nl.load(x))

        with pytest.warns(kiln.nki.NkiWarning, match="the name `tile` is in use"):
            nki.simulate(again)(X.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nki.simulate(kernel)(X.copy(), "other")


def test_memory_in_use_is_that_of_the_fullest_partition():
    def kernel(x):
        t = nl.load(x)
        nl.store(x, t)

    assert "SBUF: at most 256 of " in kiln.check(kernel, X).summary()
