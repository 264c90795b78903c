"""file.py:function on a command line: an NKI kernel by the name, or a NumPy function."""

import ast


def split(path):
    """(file, function) of file.py:function; None for another path."""
    file, colon, name = path.rpartition(":")
    return (file, name) if colon and file.endswith(".py") else None


def file_of(path):
    """The file of file.py:function, or the path as it is."""
    parts = split(path)
    return parts[0] if parts else path


def nki_kernel(path):
    """(file, function) of file.py:function when the function is a kernel: decorated with what comes from nki. The file
    does not run."""
    parts = split(path)
    if parts is None:
        return None
    try:
        with open(parts[0], "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None  # importing it tells why
    names = set(_names_of_nki(tree))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == parts[1]:
            return parts if any(_root(d) in names for d in node.decorator_list) else None
    return None


def _names_of_nki(tree):
    """What the imports of a file call nki, or parts of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if "nki" in name.name.split("."):
                    yield name.asname or name.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            within = "nki" in (node.module or "").split(".")
            yield from (name.asname or name.name for name in node.names if within or name.name == "nki")


def _root(expression):
    """The name that a decorator begins with."""
    while isinstance(expression, (ast.Attribute, ast.Call)):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return getattr(expression, "id", None)
