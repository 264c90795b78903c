"""A Python file as a module: alone, or as the part of a package that it is on disk."""

import ast
import contextlib
import importlib
import importlib.util
import os
import sys


class Imported:
    """A module, and the name of the package that it is a part of: its own name when it stands alone."""

    def __init__(self, module, package):
        self.module, self.package = module, package


@contextlib.contextmanager
def imported(path):
    """Runs the file at an absolute path. Its folder, or that of its package, is searched first for what it imports;
    afterwards neither the folder nor the modules that came from it stay, so that files do not see each other's."""
    root, name = _place(path)
    if "." not in name or not _is_free(name.partition(".")[0], root):
        root, name = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    before = set(sys.modules)
    sys.path.insert(0, root)
    try:
        module = importlib.import_module(name) if "." in name else _alone(path, name)
        yield Imported(module, name.partition(".")[0])
    finally:
        for other in [n for n in sys.modules if n not in before and _comes_from(sys.modules[n], root)]:
            del sys.modules[other]
        with contextlib.suppress(ValueError):  # the file may have taken it out
            sys.path.remove(root)


def _alone(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _comes_from(module, folder):
    """Whether a module, or a package without a file, was found through this folder of sys.path: packages may be
    installed in a folder below it."""
    try:
        place = os.path.abspath(getattr(module, "__file__", None) or next(iter(module.__path__)))
    except Exception:  # what calls itself a module may be anything
        return False
    above = [f for f in sys.path if isinstance(f, str) and place.startswith(os.path.join(os.path.abspath(f), ""))]
    return max(above, key=len, default=None) == folder


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
