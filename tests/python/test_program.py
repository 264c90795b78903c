"""Seeing inside: kiln.program, values of tensors while a kernel runs, nl.device_print, kiln.compare."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

import kiln
from kiln import _kiln, nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

NATIVE = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli" / "kiln"


@nki.jit
def scale(x, factor=2.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, factor)
    nisa.dma_copy(out, t)
    return out


def test_a_program_is_printed_saved_and_run_from_the_command_line(tmp_path):
    x = np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)
    program = kiln.program(scale, x, factor=3.0)
    assert "tensor_scalar" in str(program) and program.name == "scale"
    program.save(tmp_path / "scale.kiln")
    assert os.listdir(tmp_path) == ["scale.kiln"]
    assert str(_kiln.parse_program((tmp_path / "scale.kiln").read_text(), "scale.kiln")) == str(program)
    np.save(tmp_path / "x.npy", x)
    subprocess.run([NATIVE, "run", "scale.kiln", "--in", "x=x.npy", "--out", "out=out.npy"], cwd=tmp_path, check=True,
                   capture_output=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), x * np.float32(3))


def test_a_program_of_shapes_and_of_two_cores(tmp_path):
    assert str(kiln.program(scale, "float32[4,8]")) == str(kiln.program(scale, np.zeros((4, 8), np.float32)))
    pair = kiln.program(scale[2], "float32[4,8]")
    assert len(pair) == 2 and all(p.lnc == 2 for p in pair)
    pair.save(tmp_path / "a.kiln", tmp_path / "b.kiln")
    assert sorted(os.listdir(tmp_path)) == ["a.kiln", "b.kiln"]
    with pytest.raises(TypeError, match="2 paths"):
        pair.save(tmp_path / "a.kiln")


def test_save_tells_why_it_cannot(tmp_path):
    with pytest.raises(kiln.NkiValidationError, match="no-such-folder"):
        kiln.program(scale, "float32[4,8]").save(tmp_path / "no-such-folder" / "scale.kiln")


def seen(kernel, *args):
    """What a kernel put into the list that it is given."""
    out = []
    nki.simulate(kernel)(*args, out.append)
    return out


def test_values_are_shown_while_the_kernel_runs(capsys):
    def kernel(x, note):
        t = nl.ndarray(x.shape, dtype=x.dtype, address=(0, 64))
        nisa.dma_copy(t[:, 0:2], x[:, 0:2])
        note(repr(t))
        note(t._repr_html_())
        nl.device_print("before:", t[:, 1:3])
        nisa.tensor_scalar(t[:, 0:1], t[:, 0:1], nl.multiply, 10.0)
        print(t[1:2])
        nisa.dma_copy(x[:, 0:2], t[:, 0:2])

    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    text, page = seen(kernel, x)
    assert text == ("<NkiTensor t: float32[2, 3] in sbuf at partition 0, byte 64>\n[[1. 2. --]\n [4. 5. --]]")
    assert page.startswith("<b>NkiTensor</b> t: float32[2, 3]") and "[4. 5. --]" in page
    printed = capsys.readouterr().out
    assert printed.startswith("before: t: float32[2, 2] in sbuf") and "[[2. --]\n [5. --]]" in printed
    assert printed.endswith("\n[[40.  5.  --]]\n")
    np.testing.assert_array_equal(x, [[10, 2, 3], [40, 5, 6]])


def test_looking_changes_nothing():
    def kernel(x, note):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)
        note(str(x))
        nisa.tensor_scalar(t, t, nl.add, 1.0)
        nisa.dma_copy(x, t)
        note(str(x))
        note(str(out))
        nisa.dma_copy(out, x)
        return out

    x = np.zeros((2, 2), np.float32)
    notes = []
    np.testing.assert_array_equal(nki.simulate(kernel)(x, notes.append), np.ones((2, 2)))
    assert notes == ["[[0. 0.]\n [0. 0.]]", "[[1. 1.]\n [1. 1.]]", "[[-- --]\n [-- --]]"]


def test_no_values_and_why():
    kept = []

    def kernel(x, note):
        kept.append(x)
        nisa.dma_copy(x, x)
        note(repr(x[1:1]))
        note(repr(x.ap([[2, 2], [1, 2]], offset=2)))
        nl.fori_loop(2, 2, lambda i: note(repr(x)))

    x = np.zeros((2, 2), np.float32)
    empty, outside, idle = seen(kernel, x)
    assert "(no values: a view of `x` without elements)" in empty
    assert "(no values: elements 2 to 5 of `x`, which has 4)" in outside
    assert "(no values: the loop has no first pass)" in idle
    assert "(no values: its kernel is not running)" in repr(kept[0])
    notes = []
    kiln.program(lambda x: notes.append(repr(x)), x)
    assert "(no values: the kernel runs on shapes only)" in notes[0]


def softmax(x, wrong=False):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    e = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.activation(e, nl.exp, t)
    total = nl.ndarray((x.shape[0], 1), dtype=nl.float32)
    nisa.tensor_reduce(total, nl.add, e[:, 0:-1] if wrong else e, axis=1)  # the sum
    inverse = nl.ndarray((x.shape[0], 1), dtype=nl.float32)
    nisa.reciprocal(inverse, total)
    nisa.tensor_scalar(e, e, nl.multiply, inverse)
    nisa.dma_copy(out, e)
    return out


def reference(x, wrong=False):
    e = np.exp(x.astype(np.float64))
    return e / e.sum(axis=1, keepdims=True)


def line_of(departure):
    return open(departure.loc.file).read().splitlines()[departure.loc.line - 1]


def test_compare_finds_nothing_where_nothing_is_wrong():
    x = np.random.default_rng(5).standard_normal((4, 8)).astype(np.float32)
    assert kiln.compare(nki.jit(softmax), reference, [x], rtol=1e-3) is None
    assert kiln.compare(nki.jit(softmax), nki.jit(softmax), {"x": x}) is None


def test_compare_with_another_kernel_finds_the_first_instruction():
    x = np.random.default_rng(5).standard_normal((4, 8)).astype(np.float32)
    found = kiln.compare(nki.jit(lambda x: softmax(x, True)), nki.jit(softmax), [x], rtol=1e-3)
    assert found.tensor == "total" and "# the sum" in line_of(found) and "tensor_reduce" in str(found)


def test_compare_with_arrays_by_name():
    x = np.random.default_rng(5).standard_normal((4, 8)).astype(np.float32)
    total = np.exp(x).sum(axis=1, keepdims=True)
    wrong = nki.jit(lambda x: softmax(x, True))
    found = kiln.compare(wrong, {"t": x, "total": total}, [x], rtol=1e-3)
    assert found.tensor == "total" and "# the sum" in line_of(found)
    np.testing.assert_allclose(found.want, total[found.element], rtol=1e-6)
    assert kiln.compare(nki.jit(softmax), {"t": x, "total": total}, [x], rtol=1e-3) is None
    with pytest.raises(KeyError, match="no tensor 'nothing'"):
        kiln.compare(wrong, {"nothing": x}, [x])


def test_compare_names_the_instruction_among_many_that_write_the_tensor():
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in range(8):
            t = nl.ndarray((1, x.shape[1]), dtype=x.dtype)
            nisa.dma_copy(t, x[i:i + 1])
            if i == 5:
                nisa.tensor_scalar(t, t, nl.add, 1.0)
            nisa.dma_copy(out[i:i + 1], t)
        return out

    x = np.random.default_rng(6).standard_normal((8, 4)).astype(np.float32)
    found = kiln.compare(kernel, lambda x: x, [x])
    assert found.tensor == "out" and found.element == (5, 0)
    assert found.index == 12, "two instructions per row, three in the sixth"
