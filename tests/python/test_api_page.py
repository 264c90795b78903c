"""docs/api.md is what the package says of itself, and leaves nothing out."""

import pathlib
import re

import kiln
from kiln import _api, _kiln
from kiln._old_forms import ISA, LANGUAGE
from kiln.lint.signatures import SIGNATURES

PAGE = pathlib.Path(__file__).parents[2] / "docs/api.md"


def test_the_page_is_that_of_the_package():
    assert PAGE.read_text() == _api.page(), "refresh with: python -m kiln._api docs/api.md"


def test_every_function_has_a_row_and_every_row_its_words():
    text = PAGE.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert not [row for row in rows if not row.split(" | ", 1)[1].split("|")[0].strip()]
    shown = set(re.findall(r"^\| `(n\w+\.\w+)\(", text, re.M))
    for package, short in ((LANGUAGE, "nl"), (ISA, "nisa")):
        ours = {name.rpartition(".")[2] for name in SIGNATURES if name.startswith(package + ".")}
        assert {f"{short}.{name}" for name in ours} <= shown
    for name in dir(_kiln.NkiTensor):
        assert name.startswith("_") or name in ("tensor_id", "trace") or f"| `{name}" in text


def test_what_a_call_becomes():
    functions = _api.language_functions()
    assert _api.instructions("softmax", functions["softmax"])[0] == "tensor_reduce"
    assert _api.instructions("matmul", functions["matmul"]) == ["nc_matmul"]
    assert _api.instructions("expand_dims", functions["expand_dims"]) == []
    assert all(name in kiln._kiln.isa_functions for f in functions for name in _api.instructions(f, functions[f]))
