"""Conditions: `if tensor:` asks whether there is one, and a computed tensor in a condition is refused, while the kernel
is traced and in the lint alike."""

import pathlib

import numpy as np
import pytest

import kiln
from kiln import lint, nki

X = np.ones((4, 4), np.float32)
HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl


class Config(nl.NKIObject):
    pass


def positive(tile):
    return nl.greater(tile, 0)


def largest(tile):
    found = nl.ndarray((tile.shape[0], 1), dtype=tile.dtype)
    nisa.tensor_reduce(dst=found, op=nl.maximum, data=tile, axis=1)
    return found


def perhaps(tile, wanted):
    if wanted:
        return nl.load(tile)
    return None


def chosen(condition, a, b):
    return a if condition else b


def with_bias(tile, bias=None):
    if bias:
        return nl.add(tile, bias)
    return tile


def with_given_bias(tile, bias):
    if not bias:
        return tile
    return nl.add(tile, bias)


@nki.jit
def kernel(x, bias=None, scale=None):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
"""
TAIL = "    nl.store(out, tile)\n    return out\n"

COMPUTED = {
    "if": "if nl.greater(tile, 0): pass",
    "elif": "if x.shape[0] == 99: pass\nelif nl.greater(tile, 0): pass",
    "not": "y = not nl.greater(tile, 0)",
    "while": "while nl.greater(tile, 0): break",
    "assert": "assert nl.greater(tile, 0)",
    "last of and": "if bias and nl.greater(tile, 0): pass",
    "first of or": "y = nl.greater(tile, 0) or bias",
    "conditional expression": "y = 1 if nl.greater(tile, 0) else 2",
    "comprehension": "y = [i for i in range(2) if nl.greater(tile, 0)]",
    "variable": "t = nl.max(tile, axis=1)\nif t: pass",
    "variable in a comprehension": "t = nl.max(tile, axis=1)\ny = [i for i in range(2) if t]",
    "bool": "bool(nl.greater(tile, 0))",
    "bool of a variable": "t = nl.subtract(tile, 1.0)\nbool(t)",
    "assigned in the condition": "if (t := nl.greater(tile, 0)): pass",
    "result of a helper": "if positive(tile): pass",
    "result of a helper in a variable": "t = positive(tile)\nif not t: pass",
    "a helper that writes a tensor": "if largest(tile): pass",
    "condition of a helper": "y = chosen(nl.greater(tile, 0), 1, 2)",
    "arithmetic as condition of a helper": "t = nl.subtract(tile, 1.0)\ny = chosen(t, 1, 2)",
    "loaded": "t = nl.load(x)\nif t: pass",
    "view": "t = nl.load(x)\nif t[0:1]: pass",
    "reshaped": "t = nl.load(x).reshape((4, 2, 2))\nif t: pass",
    "written by an instruction":
        "t = nl.ndarray((4, 4), dtype=nl.float32)\n"
        "nisa.tensor_scalar(dst=t, data=tile, op0=nl.greater, operand0=0.0)\nif t: pass",
    "copied by an instruction":
        "t = nl.ndarray((4, 4), dtype=nl.float32)\nnisa.dma_copy(dst=t, src=x)\nif not t: pass",
    "an element of an argument": "if x[0, 0]: pass",
    "several lines": "if (bias is not None and\n        nl.greater(tile, 0)):\n    pass",
}
THERE_IS_ONE = {
    "argument": "if bias: pass",
    "argument that is None": "if scale: pass\nelse: pass",
    "not": "y = not bias",
    "or": "y = bias or x",
    "last of or is not asked": "t = nl.greater(tile, 0)\ny = scale or t",
    "last of and is not asked": "t = nl.greater(tile, 0)\ny = bias and t",
    "is not None": "t = nl.greater(tile, 0)\nif t is not None: pass",
    "allocated": "t = nl.ndarray((4, 4), dtype=nl.float32)\nif t: pass",
    "optional parameter": "y = with_bias(tile, tile)\ny = with_bias(tile)\ny = with_bias(tile, nl.greater(tile, 0))",
    "parameter": "t = nl.load(x)\ny = with_given_bias(tile, t)\ny = with_given_bias(tile, None)",
    "made in a loop":
        "total = None\nfor i in range(3):\n    if total: total = nl.add(total, tile)\n    else: total = nl.copy(tile)",
    "loaded when given": "t = nl.load(bias) if bias is not None else None\nif t: pass",
    "loaded by a branch": "t = None\nif bias is not None:\n    t = nl.load(bias)\nif t: pass",
    "a helper that may return None": "t = perhaps(x, True)\nif t: pass",
    "field of an object":
        "config = Config()\nconfig.index = nl.ndarray((4, 1), dtype=nl.float32)\n"
        "nisa.tensor_reduce(dst=config.index, op=nl.maximum, data=tile, axis=1)\n"
        "if config and config.index: pass",
}


def source_of(lines):
    return HEAD + "".join(f"    {line}\n" for line in lines.splitlines()) + TAIL


def traced(tmp_path: pathlib.Path, lines):
    """What a run says about a kernel with these lines: None, or the diagnostic."""
    file = tmp_path / "k.py"
    file.write_text(source_of(lines))
    scope = {"__name__": "k"}
    kiln.activate()
    try:
        exec(compile(file.read_text(), str(file), "exec"), scope)
        nki.simulate(scope["kernel"])(X, X)
    except kiln.NkiValidationError as error:
        assert isinstance(error, TypeError)
        return error.diagnostics[0]
    finally:
        kiln.deactivate()
    return None


def linted(lines):
    return [f for f in lint.check_source(source_of(lines), "k.py") if f.rule == "language.R92"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("lines", COMPUTED.values(), ids=COMPUTED)
def test_a_computed_tensor_is_no_condition(tmp_path, lines):
    found = traced(tmp_path, lines)
    assert found is not None and found.code == "nki.R77"
    for remedy in ("nl.where", "tensor_copy_predicated", "nl.while_loop", "is not None"):
        assert remedy in found.help
    (finding,) = linted(lines)
    assert finding.severity == "error" and "nl.where" in finding.help


@pytest.mark.parametrize("lines", THERE_IS_ONE.values(), ids=THERE_IS_ONE)
def test_whether_there_is_a_tensor_may_be_asked(tmp_path, lines):
    assert traced(tmp_path, lines) is None
    assert linted(lines) == []


def test_the_error_stands_at_the_condition(tmp_path):
    found = traced(tmp_path, "t = nl.max(tile, axis=1)\nif t: pass")
    lines = source_of("t = nl.max(tile, axis=1)\nif t: pass").splitlines()
    assert lines[found.loc.line - 1].strip() == "if t: pass" and found.column == 8
    assert found.found == f"the truth of the tensor `t`, which tensor_reduce computes on the device (line " \
                          f"{found.loc.line - 1})"


def test_code_without_a_source_is_told_too():
    scope = {}
    exec("from kiln.nki import language as nl\n"
         "def kernel(x):\n"
         "    if nl.greater(nl.load(x), 0): pass\n"
         "    return x\n", scope)  # fmt: skip
    with pytest.raises(kiln.NkiValidationError, match="nki.R77"):
        nki.simulate(scope["kernel"])(X)


def test_tensors_of_a_kernel_that_has_ended_are_there():
    kept = []
    nki.simulate(lambda x: kept.append(x) or x)(X)
    assert kept[0]
