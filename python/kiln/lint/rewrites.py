"""Calls of older NKI as calls of today: code to be copied, for the help of a finding."""

import ast
import copy

from kiln import _migration
from kiln._old_forms import LANGUAGE, OLD_NAMES, PSUM_INSTRUCTIONS

from .signatures import SIGNATURES
from .syntax import call_code, code, text

GONE = ("dtype", "mask")  # keywords that no instruction has any more


class NumpyNames(ast.NodeTransformer):
    """Functions and dtypes of NumPy by their names in nki.language."""

    def __init__(self, scope):
        self.scope = scope

    def visit_Attribute(self, node):
        package, _, name = (self.scope.dotted(node) or "").rpartition(".")
        if package == "numpy" and (f"{LANGUAGE}.{name}" in SIGNATURES or name.startswith(("float", "int", "uint"))):
            return ast.Name(f"nl.{name}", ast.Load())
        return self.generic_visit(node)


def today(scope, node):
    """A node without NumPy's names; the tree that is checked stays as it is."""
    return NumpyNames(scope).visit(copy.deepcopy(node)) if node is not None else None


def argument(node, place, name):
    """An argument of a call by its keyword or its place, or None."""
    named = [keyword.value for keyword in node.keywords if keyword.arg == name]
    return (named or node.args[place : place + 1] or [None])[0]


def instruction_call(scope, name, node, dst):
    """A call that returned its tile, as one that writes into `dst`."""
    if name == "memset":
        value = argument(node, 1, "value")
        return f"{code(node.func)}(dst={dst}, value={code(today(scope, value)) if value else '…'})"
    if name == "iota" and argument(node, 99, "pattern") is None:
        return f"{code(node.func)}(dst={dst}, pattern=[[step, num]], offset=0, channel_multiplier=0)"
    first = dst if node.args else f"dst={dst}"
    return call_code(today(scope, node), [first], without=GONE)


def allocation(scope, name, node, dst):
    """The allocation of the tile that such a call returned."""
    memset = name == "memset"
    shape, dtype = argument(node, 0 if memset else 99, "shape"), argument(node, 2 if memset else 99, "dtype")
    on_vector = "vector" in text(argument(node, 99, "engine") or ast.Constant(0))
    psum = name in PSUM_INSTRUCTIONS and not (name == "nc_transpose" and on_vector)
    data = argument(node, 0, "data") if name == "nc_transpose" else None
    given = f"{code(data)}.dtype" if data is not None else code(today(scope, dtype)) if dtype is not None else "…"
    return (f"{dst} = nl.ndarray({code(shape) if shape is not None else 'shape'}, dtype={given}, "
            f"buffer={'nl.psum' if psum else 'nl.sbuf'})")  # fmt: skip


def import_statement(node):
    """What to do about an import of neuronxcc."""
    module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
    row, new = _migration.import_row(module), module.removeprefix("neuronxcc.")
    if row is not None and new not in row[2] and module != "neuronxcc.nki":
        return row[2] if row[2].startswith("drop") else f"write `{row[2]}`"
    if isinstance(node, ast.Import) or module == "neuronxcc":
        line = text(node).replace("from neuronxcc import", "import").replace("neuronxcc.", "")
        return f"write `{line.replace('import nki as nki', 'import nki')}`"
    gone = [alias for alias in node.names if f"{new}.{alias.name}" in OLD_NAMES]
    kept = [alias for alias in node.names if alias not in gone]
    told = [f"write `{code(ast.ImportFrom(new, kept, 0))}`"] if kept else []
    told += [f"drop `{alias.name}`, which {OLD_NAMES[f'{new}.{alias.name}'].what}" for alias in gone]
    return "; ".join(told)
