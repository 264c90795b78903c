"""The stored stubs are those that the package would write, and name everything that is there."""

import ast
import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

from kiln import _kiln, _stubs, nki
from kiln.nki import isa, language

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


def test_every_name_of_nki_language_has_a_type():
    tree = ast.parse((PACKAGE / "nki/language/__init__.pyi").read_text())
    named = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    named |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    named |= {n.targets[0].id for n in tree.body if isinstance(n, ast.Assign)}
    named |= {a.asname or a.name for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    public = {n for n in dir(language) if not n.startswith("_") and not inspect.ismodule(getattr(language, n))}
    assert public <= named, public - named


def test_the_stub_path_has_every_module_that_kernels_import():
    """Editors find `import nki` below kiln/stubs; each file there hands on the module of the same name."""
    folder = PACKAGE / "stubs" / "nki"
    for name in ("collectives", "dtype", "isa", "language", "tensor", "typing"):
        importlib.import_module(f"kiln.nki.{name}")
        assert (folder / f"{name}.pyi").read_text() == f"from kiln.nki.{name} import *\n"
    tree = ast.parse((folder / "__init__.pyi").read_text())
    names = {a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert set(nki.__all__) <= names and all(hasattr(nki, name) for name in names)
