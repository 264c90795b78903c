"""Errors as a kernel author sees them: the user's frames only, the line, and the operand marked."""

import os
import subprocess
import sys
import traceback

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln._trace import tracebacks
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def issue(p, t):
    nisa.nc_matmul(p, t[:, 0:200], t)


def too_wide(x):
    t = nl.ndarray((128, 640), dtype=nl.float32)
    p = nl.ndarray((128, 640), dtype=nl.float32, buffer=nl.psum)
    issue(p, t)
    return x


def copy_out(out, t):
    nisa.dma_copy(out, t)


def half_written(x):
    t = nl.ndarray(x.shape, dtype=x.dtype)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(t[:, 0:2], x[:, 0:2])
    copy_out(out, t)
    return out


def too_large(x):
    tiles = [nl.ndarray((128, 40000), dtype=nl.float32) for _ in range(2)]
    for t in tiles:
        nisa.memset(t, 1.0)
    nisa.tensor_tensor(tiles[0], tiles[0], tiles[1], op=nl.add)
    nisa.dma_copy(x, tiles[0][0:4, 0:3])


def raises(x):
    return {}["missing"]


def frames_of(kernel):
    with pytest.raises(Exception) as caught:
        nki.jit(kernel)(np.zeros((4, 3), np.float32))
    return caught.value, [f.name for f in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize("kernel, names", [
    (too_wide, ["too_wide", "issue"]), (half_written, ["half_written", "copy_out"]), (raises, ["raises"])],
    ids=lambda v: getattr(v, "__name__", ""))
def test_the_traceback_has_the_users_frames_only(kernel, names):
    error, frames = frames_of(kernel)
    assert frames == ["frames_of", *names]
    lines = traceback.format_exception(error)
    assert os.path.dirname(kiln.__file__) + os.sep not in "".join(lines)


def test_an_error_found_after_the_run_of_the_python_has_the_stack_of_its_instruction():
    error, _ = frames_of(half_written)
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, "nisa.dma_copy(out, t)")
    assert not [line for line in traceback.format_exception(error) if line.strip().startswith("^")], "no part is marked"


def test_capacity_is_an_error_at_a_line_of_the_kernel():
    error, frames = frames_of(too_large)
    assert isinstance(error, kiln.NkiValidationError) and frames[1:] and frames[1] == "too_large"


def test_the_operand_is_marked():
    error, _ = frames_of(too_wide)
    text = str(error)
    line = next(i for i, s in enumerate(text.splitlines()) if "nisa.nc_matmul(p, t[:, 0:200], t)" in s)
    source, marks = text.splitlines()[line : line + 2]
    start, end = marks.index("^"), marks.rindex("^") + 1
    assert source[start:end] == "t[:, 0:200]"


@pytest.mark.parametrize("call, found, marked", [
    ("nisa.nc_matmul(dst=p, moving=m, stationary=s + 1)", "`stationary` has 3 dimensions", "stationary=s + 1"),
    ("nisa.nc_matmul(p, s, m)", "moving has 600 free elements", "m"),
    ("nisa.nc_matmul(p, s[0:2], m)", "element 3 of `s` was never written", "s[0:2]"),
    ("f(nisa.nc_matmul(p, größe, m))", "`stationary` is wrong", "größe"),
    ("nisa.nc_matmul(p, s, m)", "nothing that the call names", None),
], ids=lambda v: str(v)[:30])
def test_which_operand_is_marked(tmp_path, call, found, marked):
    file = tmp_path / "kernel.py"
    file.write_text(f"def kernel():\n    {call}\n")
    d = kiln._kiln.diagnostic("invalid", "nc_matmul.R1", "rule", found, "help", file=str(file), line=2)
    lines = str(d).splitlines()
    source = next(i for i, line in enumerate(lines) if call in line)
    marks = lines[source + 1].partition(" | ")[2]
    shown = lines[source].partition(" | ")[2]
    if marked is None:
        assert "^" not in marks
    else:
        assert shown[marks.index("^") : marks.rindex("^") + 1] == marked


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4, 5, 6)])
def test_arguments_that_do_not_fit_the_kernel_are_the_callers_mistake(arguments):
    def kernel(x):
        return x

    with pytest.raises(TypeError, match="argument") as caught:
        nki.jit(kernel)(*arguments)
    assert [str(entry.path) for entry in caught.traceback] == [__file__]


def test_our_own_mistakes_keep_their_frames(monkeypatch):
    from kiln._trace import simulate

    monkeypatch.setattr(simulate, "check_all", None)
    with pytest.raises(TypeError) as caught:
        nki.jit(half_written)(np.zeros((4, 3), np.float32))
    assert "run" in [f.name for f in traceback.extract_tb(caught.value.__traceback__)]


def test_the_whole_traceback_on_demand(monkeypatch):
    monkeypatch.setenv("KILN_FULL_TRACEBACK", "1")
    _, frames = frames_of(too_wide)
    assert "call_kernel" in frames


def test_a_location_of_a_file_that_is_gone():
    script = ("from kiln import _kiln, nki; from kiln._trace import tracebacks; import traceback\n"
              "d = _kiln.diagnostic('invalid', 'x.R1', 'r', 'f', 'h', file='/no/such/file.py', line=7)\n"
              "print(traceback.format_tb(tracebacks.of_location(d.loc)))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert '/no/such/file.py", line 7' in done.stdout, done.stderr


def test_errors_survive_pickling():
    import pickle

    error, _ = frames_of(too_wide)
    assert str(error).strip() in str(pickle.loads(pickle.dumps(error)))
    assert tracebacks.without_our_frames(None) is None


def test_a_wrong_grid_shows_the_callers_line_only():
    with pytest.raises(kiln.NkiConfigError, match="nki.R18") as caught:
        nki.jit(raises)[3]
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [f.line for f in frames] == ["nki.jit(raises)[3]"]


@pytest.mark.parametrize("call, code", [
    (lambda kernel: kernel[3], "nki.R18"), (lambda kernel: kernel["2"], "nki.R69"),
    (lambda kernel: kernel(np.zeros((2, 2))), "nki.R15"), (lambda kernel: kernel(np.zeros((), np.float32)), "nki.R66"),
    (lambda kernel: kernel(np.zeros((2, 0), np.float32)), "nki.R67"),
    (lambda kernel: kiln.Spec((2, 2), "float64"), "nki.R41"), (lambda kernel: kiln.Spec(()), "nki.R71")])
def test_arguments_that_differ_in_what_is_wrong_have_labels_of_their_own(call, code):
    with pytest.raises(kiln.NkiConfigError) as caught:
        call(nki.jit(raises))
    assert caught.value.code == code


@pytest.mark.parametrize(("wrong", "told"), [
    ("nl.sbuff", "module 'nki.language' has no attribute 'sbuff'. Did you mean: 'sbuf'?"),
    ("nisa.dma_cpy", "module 'nki.isa' has no attribute 'dma_cpy'. Did you mean: 'dma_copy'?"),
    ("x.shap", "a tensor has no attribute 'shap'. Did you mean: 'shape'?"),
])
def test_a_mistyped_name_has_the_right_one_beside_it_and_the_users_frames_only(wrong, told):
    scope = {"nl": nl, "nisa": nisa}
    exec(compile(f"def kernel(x):\n    return {wrong}\n", "<typed>", "exec"), scope)
    with pytest.raises(AttributeError) as raised:
        nki.jit(scope["kernel"])(np.zeros((4, 4), np.float32))
    assert str(raised.value) == told
    assert [f.name for f in traceback.extract_tb(raised.tb)][1:] == ["kernel"]


def test_the_message_stands_on_the_first_line():
    with pytest.raises(kiln.NkiValidationError) as raised:
        nki.jit(too_wide)(np.zeros((4, 4), np.float32))
    assert str(raised.value).startswith("error[nc_matmul.")


@pytest.mark.parametrize("file", ["<ipython-input-3-0a1b>", "ipykernel_1/123.py"])
def test_a_cell_of_a_notebook_shows_its_line(file):
    import linecache

    text = "def kernel(x):\n    t = nl.ndarray((128, 4), dtype=nl.float32)\n    nisa.dma_copy(dst=t, src=x)\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"nl": nl, "nisa": nisa}
    exec(compile(text, file, "exec"), scope)
    with pytest.raises(kiln.NkiValidationError) as raised:
        nki.jit(scope["kernel"])(np.zeros((4, 4), np.float32))
    place, source, marks = str(raised.value).splitlines()[1:4]
    assert place == f"  --> {file}:3:19"
    assert source == " 3 |     nisa.dma_copy(dst=t, src=x)"
    assert marks == "   |                   ^^^^^"


def test_tensors_of_one_line_are_told_once():
    def kernel(x):
        tiles = []
        for _ in nl.static_range(20):
            tiles.append(nl.ndarray((128, 4096), dtype=nl.float32))
        for tile in tiles:
            nisa.memset(tile, 0)
        for tile in tiles + tiles:  # twice, so that no other order needs less
            nisa.dma_copy(x, tile)
        return x

    with pytest.raises(kiln.NkiValidationError) as raised:
        nki.jit(kernel)(np.zeros((128, 4096), np.float32))
    [note] = raised.value.diagnostics[0].notes
    assert " and 19 like it: float32 (128, 4096), 16384 bytes per partition each, 327680 together" in note.text
