"""Which functions are kernel code: the kernels of a file and everything that they refer to."""

import ast
from dataclasses import dataclass

from .module import Module
from .syntax import FUNCTIONS, bound_names, walk

JIT = "nki.jit"
ENTRY_DECORATORS = (JIT, "nki.baremetal", "nki.benchmark", "nki.profile")  # the last three in old code
ENTRY_CALLS = (JIT, "nki.simulate", "nki.simulate_kernel", "nki.baremetal", "nki.benchmark")
FOLLOW_LIMIT = 8  # names that are passed on from file to file


@dataclass(frozen=True)
class Unit:
    """A function that is kernel code."""

    module: Module
    function: ast.AST
    owner: ast.ClassDef = None  # the class whose method it is
    entry: bool = False  # a kernel itself


def is_jit(module, decorator, function):
    imports = module.imports_of(function)
    return any(module.dotted(node, imports) in ENTRY_DECORATORS for node in ast.walk(decorator)
               if isinstance(node, (ast.Name, ast.Attribute)))  # fmt: skip


def named_function(module, node, scopes):
    """The function that an argument like `f`, `f[2]` or `nki.jit(f)` stands for."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.args[0] if node.args else None
    if not isinstance(node, ast.Name):
        return None
    for scope in scopes:
        for inner in walk(scope, into_functions=False):
            if isinstance(inner, FUNCTIONS) and inner is not scope and inner.name == node.id:
                return inner
    return module.functions.get(node.id)


def find_kernels(module, names=None):
    """The kernels of a module, or the functions with these names; names may be (name, line)."""
    if names is not None:
        wanted = {name if isinstance(name, tuple) else (name, None) for name in names}
        first = {f: min([f.lineno, *(d.lineno for d in f.decorator_list)]) for f in module.outer_functions}
        return [f for f in module.outer_functions if (f.name, None) in wanted or (f.name, first[f]) in wanted]
    found = [f for f in module.outer_functions if any(is_jit(module, d, f) for d in f.decorator_list)]
    stack = [(module.tree, ())]
    while stack:
        node, scopes = stack.pop()
        scopes = (node, *scopes) if isinstance(node, FUNCTIONS) else scopes
        if isinstance(node, ast.Call) and node.args and is_entry_call(module, node.func, scopes):
            function = named_function(module, node.args[0], scopes)
            if function is not None:
                found.append(function)
        stack.extend((child, scopes) for child in ast.iter_child_nodes(node))
    return sorted(dict.fromkeys(found), key=lambda f: f.lineno)


def is_entry_call(module, called, scopes):
    if isinstance(called, ast.Call):  # nki.jit(mode=…)(f)
        called = called.func
    imports = module.imports_of(scopes[0]) if scopes else module.imports
    return module.dotted(called, imports) in ENTRY_CALLS


class Reach:
    """The units of a module, in the order in which they are found."""

    def __init__(self, module, names=None):
        self.units = {}  # function -> Unit
        self.called = set()  # functions that kernel code refers to
        self.classes = {}  # class -> Module
        self.loop_bodies = {}  # function -> the nl function whose loop body it is; scopes fill it in
        self._work = []
        for kernel in find_kernels(module, names):
            self._add(Unit(module, kernel, entry=True))
        while self._work:
            self._follow(self._work.pop())

    def _add(self, unit):
        if unit.function not in self.units:
            self.units[unit.function] = unit
            self._work.append(unit)

    def _follow(self, unit):
        module = unit.module
        imports = module.imports_of(unit.function)
        hidden = bound_names(unit.function) - set(imports)
        for node in module.nodes(unit.function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in hidden:
                self._refer(module, node.id, imports)
            elif isinstance(node, ast.Attribute):
                dotted = module.dotted(node, imports, hidden)
                if dotted:
                    self._import(module, dotted)

    def _refer(self, module, name, imports, depth=0):
        """A module-level name is used."""
        if depth > FOLLOW_LIMIT:
            return
        if name in module.functions:
            self.called.add(module.functions[name])
            self._add(Unit(module, module.functions[name]))
        elif name in module.classes:
            self._add_class(module, module.classes[name])
        elif name in imports:
            self._import(module, imports[name], depth)
        for value in module.values.get(name, []):
            for used in names_of_value(module, value):
                self._refer(module, used, module.imports, depth + 1)

    def _import(self, module, dotted, depth=0):
        if module.importer is None or dotted.split(".")[0] in ("nki", "neuronxcc"):
            return
        found, rest = module.importer.find(module, dotted)
        if found is not None and len(rest) == 1 and found is not module:
            self._refer(found, rest[0], found.imports, depth + 1)

    def _add_class(self, module, node):
        if node in self.classes:
            return
        self.classes[node] = module
        for base in node.bases:
            if isinstance(base, ast.Name):
                self._refer(module, base.id, module.imports)
        for member in node.body:
            if isinstance(member, FUNCTIONS):
                self._add(Unit(module, member, owner=node))


def names_of_value(module, value):
    """Names that a module variable hands on: `x = f`, `x = Class(…)`, and functions kept in a container.

    A function that made the value ran when the file was imported: it is host code."""
    if isinstance(value, ast.Call):
        made_by = value.func
        return [made_by.id] if isinstance(made_by, ast.Name) and made_by.id in module.classes else []
    parts = [value]
    if isinstance(value, (ast.Tuple, ast.List)):
        parts = value.elts
    elif isinstance(value, ast.Dict):
        parts = value.values
    return [part.id for part in parts if isinstance(part, ast.Name)]
