"""A Python file as a module: alone, or as the part of a package that it is on disk."""

import ast
import importlib
import importlib.util
import os
import sys


def load(path):
    """Runs the file at an absolute path and returns its module. A file of a package can import its neighbours."""
    root, name = _place(path)
    if "." in name and _is_free(name.partition(".")[0], root):
        _put_first(root)
        return importlib.import_module(name)
    _put_first(os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _put_first(folder):
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _place(path):
    """The folder that the outermost package lies in, and the dotted name from there on."""
    folder, stem = os.path.split(os.path.splitext(path)[0])
    names, depth = [] if stem == "__init__" else [stem], _relative_depth(path)
    while depth > 0 or os.path.isfile(os.path.join(folder, "__init__.py")):
        above, name = os.path.split(folder)
        if not name.isidentifier():
            break
        folder, depth = above, depth - 1
        names.insert(0, name)
    return folder, ".".join(names)


def _relative_depth(path):
    """How many folders up the imports of a file reach: packages may do without an __init__.py."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return 0  # importing it tells why
    return max((node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)), default=0)


def _is_free(name, root):
    """Whether no other module has the name: a folder without __init__.py gives way to a package."""
    spec = importlib.util.find_spec(name)
    if spec is None or os.path.join(root, name) in map(os.path.abspath, spec.submodule_search_locations or []):
        return True
    is_folder = spec.loader is None or "Namespace" in type(spec.loader).__name__
    return is_folder and name not in sys.modules
