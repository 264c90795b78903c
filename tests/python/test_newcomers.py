"""What a beginner's mistake is told, by kiln.check: the remedy is one for that mistake, not for any."""

import numpy as np
import pytest

import kiln
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def result_of(x):
    return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)


def forgotten_return(x):
    nl.store(result_of(x), nl.load(x))


def numpy_of_a_tile(x):
    nl.store(result_of(x), np.exp(nl.load(x)))


def misspelt(x):
    return nl.laod(x)


def unknown_name(x):
    nl.store(result_of(x), tile)  # noqa: F821


def asserted(x):
    assert x.shape[0] == 64, "64 rows"


def one_value_per_partition(x):
    tile = nl.load(x)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=nl.max(tile, axis=1, keepdims=True), op=nl.subtract)


def other_partitions(x):
    nl.load(x).reshape((64, 1024))


def loop_to_a_register(x):
    for _ in range(nisa.register_alloc(4)):
        pass


def place_by_a_register(x):
    tile = nl.load(x)

    def body(i):
        nisa.memset(dst=tile[:, i * 4 : i * 4 + 4], value=0)

    nl.fori_loop(0, 4, body)


def removed_instruction(x):
    nisa.tensor_copy_dynamic_src(nl.load(x), nl.load(x))


@pytest.mark.parametrize("kernel, code, line, words", [
    (forgotten_return, "nki.R17", 0, "return the tensor in nl.shared_hbm"),
    (numpy_of_a_tile, "nki.R42", 1, "nl.exp(t) for np.exp(t)"),
    (misspelt, "nki.R42", 1, "write nl.load"),
    (unknown_name, "nki.R42", 1, "misspelt"),
    (asserted, "nki.R42", 1, "--arg or the call"),
    (one_value_per_partition, "tensor_tensor.R2", 2, "operand0 of tensor_scalar"),
    (other_partitions, "builder.R2", 1, "before it is loaded"),
    (loop_to_a_register, "nki.R42", 1, "nl.fori_loop(0, register, body)"),
    (place_by_a_register, "nki.R42", 4, "scalar_offset=register"),
    (removed_instruction, "nki.R42", 1, "nisa.tensor_copy("),
])  # fmt: skip
def test_the_remedy_is_for_the_mistake(kernel, code, line, words):
    (d,) = kiln.check(kernel, "float32[128,512]").diagnostics
    assert (d.code, d.loc.line - kernel.__code__.co_firstlineno) == (code, line)
    assert words in d.help


def unwritten_output_and_a_large_tile(x):
    nisa.memset(dst=nl.ndarray((128, 8192), dtype=nl.float32, buffer=nl.psum), value=0)
    return result_of(x)


def test_an_output_that_nothing_writes_hides_no_other_error():
    found = kiln.check(unwritten_output_and_a_large_tile, "float32[128,512]").diagnostics
    assert {d.code for d in found} == {"program.R22", "memory.R2"}
