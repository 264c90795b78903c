"""The stored stubs are those that the package would write, and name everything that is there."""

import ast
import pathlib
import subprocess
import sys

import pytest

from kiln import _kiln, _stubs
from kiln.nki import isa

PACKAGE = pathlib.Path(__file__).parents[2] / "python" / "kiln"


@pytest.mark.parametrize("path", _stubs.FILES)
def test_stored_stubs_are_current(path):
    """In a process of its own: kiln.nki gives classes of the native module methods in Python."""
    script = f"from kiln import _stubs; print(_stubs.FILES[{path!r}](), end='')"
    made = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert made == (PACKAGE / path).read_text(), "refresh with: python -m kiln._stubs python/kiln"


@pytest.mark.parametrize("path", _stubs.FILES)
def test_stubs_are_python(path):
    ast.parse((PACKAGE / path).read_text())


def test_every_name_of_nki_isa_has_a_type():
    tree = ast.parse((PACKAGE / "nki/isa/__init__.pyi").read_text())
    named = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    named |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    named |= {a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    public = {n for n in vars(isa) if not n.startswith("_")}
    assert public <= named, public - named


def test_parameters_are_those_of_the_table():
    tree = ast.parse((PACKAGE / "nki/isa/__init__.pyi").read_text())
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    for name in _kiln.isa_functions:
        if name != "register_alloc":
            expected = [p[0] for p in _kiln.isa_parameters(name)] + ["name"]
            assert [a.arg for a in functions[name].args.args] == expected, name
