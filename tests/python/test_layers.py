"""The layers of the Python package: which part of it imports which."""

import ast
import pathlib

import pytest

import kiln

PACKAGE = pathlib.Path(kiln.__file__).resolve().parent  # a build tree holds links to it

# Part of the package -> the other parts that it may import, at the top of a file or inside a function.
LAYERS = {
    "_kiln": (),  # the native half
    "_conditions": (),
    "_files": ("_kiln",),
    "_migration": (),
    "_old_forms": (),
    "_trace": ("_conditions", "_files", "_kiln"),
    "nki": ("_kiln", "_old_forms", "_trace"),
    "lint": ("_conditions", "_files", "_kiln", "_migration", "_old_forms", "nki"),
    "_activate": ("_migration", "_trace", "nki"),
    "_program": ("_trace", "nki"),
    "_check": ("_kiln", "_program", "_trace"),
    "_compare": ("_kiln", "_program", "_trace"),
    "_emit": ("_kiln", "_program", "_trace"),
    "_time": ("_files", "_kiln", "_program", "_trace"),
    "tune": ("_files", "_kiln", "_trace", "nki"),
    "blas": ("_kiln", "tune"),
    "fft": ("_kiln", "blas"),
    "sparse": ("_kiln", "blas", "nki"),  # it has a kernel in Python
    "_native": ("_kiln",),
    "numpy": ("_check", "_emit", "_files", "_kiln", "_time", "_trace", "blas", "tune"),
    "commands": ("_activate", "_check", "_emit", "_files", "_kiln", "_native", "_program", "_trace", "lint", "nki",
                 "numpy"),
    "_pytest": ("_activate",),
    "_pytest_entry": ("_activate",),
    "_api": ("__init__", "_files", "_kiln", "nki"),  # these three write pages and stubs
    "_migration_page": ("_migration", "lint", "nki"),
    "_stubs": ("_kiln", "nki"),
    "__init__": (),  # loads the others by the names in its table
    "__main__": ("_native", "commands"),
}
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(module):
    """The part of the package that a dotted name lies in, or None."""
    names = module.split(".")
    if names[0] != "kiln":
        return None
    return names[1] if len(names) > 1 and names[1] in LAYERS else "__init__"


def text_of(node):
    """The beginning of a text that is known while nothing runs."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def imported(node, package):
    """The dotted names that a node of a file in a package imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*above, *([node.module] if node.module else [])])
        return [f"{module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module" and node.args:
        return [text_of(node.args[0])]
    return []


def parts_imported(path, folder=PACKAGE):
    """(part, line) of the imports of a file in the folder of the package."""
    package = ".".join(["kiln", *path.relative_to(folder).parent.parts])
    found = {(part_of(name), node.lineno) for node in ast.walk(ast.parse(path.read_text()))
             for name in imported(node, package) if part_of(name)}
    return sorted(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_what_its_layer_may(path):
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert first in LAYERS, f"say in LAYERS what {first} may import"
    allowed = (first, *LAYERS[first])
    wrong = [f"{path}:{line}: kiln.{first} imports kiln.{part}"
             for part, line in parts_imported(path) if part not in allowed]
    assert not wrong, "\n".join(wrong)


def test_no_two_layers_import_each_other():
    """The table itself has an order: what a part may import may import nothing of it."""
    below = {}

    def all_below(part, seen=()):
        assert part not in seen, f"a circle: {' -> '.join([*seen, part])}"
        if part not in below:
            below[part] = {q for p in LAYERS[part] for q in (p, *all_below(p, (*seen, part)))}
        return below[part]

    for part in LAYERS:
        assert part not in all_below(part)


@pytest.mark.parametrize(("line", "part"), [
    ("import kiln.nki.isa", "nki"), ("from kiln import nki", "nki"), ("from kiln.nki import _removed", "nki"),
    ("def f():\n    from kiln.nki._jit import jit", "nki"), ("from ..nki import isa", "nki"),
    ("from . import arrays", "_trace"),
    ('import importlib\nimportlib.import_module(f"kiln.nki.{name}")', "nki"), ("import kiln", "__init__")])
def test_every_way_to_import_is_seen(tmp_path, line, part):
    (tmp_path / "_trace").mkdir()
    file = tmp_path / "_trace" / "made.py"
    file.write_text(line)
    assert [found for found, _ in parts_imported(file, tmp_path)] == [part]


def test_the_native_half_is_set_up_in_one_place():
    def calls(path):
        return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
                and ast.unparse(node.func) == "_kiln.configure"]

    assert [path.relative_to(PACKAGE).as_posix() for path in FILES for _ in calls(path)] == ["_trace/setup.py"]
