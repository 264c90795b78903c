"""Kernels of thousands of lines: where a mistake is, is told as in short ones."""

import importlib.util
import traceback

import pytest

import kiln

kiln.activate()

LINES = 1500
HEAD = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
"""


def body(wrong):
    """Statements of one and of two lines; the one with this number is wrong in its second line, or in its only one."""
    for i in range(LINES):
        rows = "0:5" if i == wrong else "0:4"
        yield f"    nisa.dma_copy(dst=out[0:4],{'' if i % 3 else chr(10) + ' ' * 18} src=x[{rows}])\n"
    yield "    return out\n"


@pytest.mark.parametrize("wrong", [0, 1, 700, 702, LINES - 1])
def test_a_mistake_is_told_with_its_line(wrong, tmp_path):
    lines = list(body(wrong))
    path = tmp_path / "long_kernel.py"
    path.write_text(HEAD + "".join(lines))
    spec = importlib.util.spec_from_file_location("long_kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(kiln.NkiValidationError) as error:
        kiln.program(module.kernel, "float32[8,8]")
    first = 1 + HEAD.count("\n") + "".join(lines[:wrong]).count("\n")
    in_kernel = [f.lineno for f in traceback.extract_tb(error.tb) if f.filename == str(path)]
    assert in_kernel[-1] in range(first, first + lines[wrong].count("\n"))
    assert error.value.diagnostics[0].loc.line == in_kernel[-1]
