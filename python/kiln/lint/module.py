"""A source file: its tree, what its names stand for, and the files beside it that it imports."""

import ast
import os

from .changes import changed_variables
from .syntax import FUNCTIONS, target_names, walk

MAX_SOURCE_BYTES = 16 << 20
LEGACY = "neuronxcc.nki"


class Unreadable(Exception):
    """The file cannot be looked at; says why."""


def read_source(path):
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as failure:
        raise Unreadable(f"cannot read {path}: {failure.strerror or failure}") from failure
    if len(data) > MAX_SOURCE_BYTES:
        raise Unreadable(f"{path} has more than {MAX_SOURCE_BYTES >> 20} MiB")
    if b"\0" in data:
        raise Unreadable(f"{path} is a binary file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise Unreadable(f"{path} is not UTF-8: byte {failure.start}") from failure


class Module:
    """`importer` finds the modules that this one imports; None means that imports are not followed."""

    def __init__(self, source, filename, importer=None):
        self.filename = filename
        self.importer = importer
        self.tree = ast.parse(source, filename)
        self.lines = source.splitlines()
        self.imports = {}  # local name -> dotted name
        self.import_nodes = {}  # local name -> the statement
        self.functions = {}  # module level
        self.classes = {}
        self.values = {}  # module variables -> expressions assigned to them
        self.outer_functions = {}  # function -> enclosing functions, innermost first
        self._imports_of = {}
        self._nodes = {}
        self._changed = None
        self._inner_imports = {}  # function -> imports inside
        self.all_nodes = []
        self.parents = {}
        self._collect(self.tree.body)
        self._nest()

    def _collect(self, body):
        for node in body:
            if isinstance(node, FUNCTIONS):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._note_imports(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    value = node.value if isinstance(target, ast.Name) else None
                    for name in target_names(target):
                        self.values.setdefault(name, []).append(value)
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and isinstance(node.target, ast.Name):
                self.values.setdefault(node.target.id, []).append(node.value)
            else:  # if, try, with, loops: what they hold is at module level too
                for field in ("body", "handlers", "orelse", "finalbody"):
                    self._collect(getattr(node, field, []))

    def _note_imports(self, node):
        for local, dotted in import_names(node).items():
            self.imports.setdefault(local, dotted)
            self.import_nodes.setdefault(local, node)

    def _nest(self):
        stack = [(self.tree, ())]
        while stack:
            node, outer = stack.pop()
            self.all_nodes.append(node)
            if isinstance(node, FUNCTIONS):
                self.outer_functions[node] = outer
                outer = (node, *outer)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for function in outer:
                    self._inner_imports.setdefault(function, []).append(node)
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                stack.append((child, outer))

    def changed_variables(self):
        """Module variables that functions change, and the line of a change."""
        if self._changed is None:
            self._changed = changed_variables(self.outer_functions, self.values)
        return self._changed

    def nodes(self, function):
        """All nodes of kernel code of a function."""
        if function not in self._nodes:
            self._nodes[function] = list(walk(function))
        return self._nodes[function]

    def imports_of(self, function):
        """Imports in sight of a function: the module's, then those in enclosing functions."""
        if function not in self._imports_of:
            inner = {}
            for scope in reversed((function, *self.outer_functions.get(function, ()))):
                for node in self._inner_imports.get(scope, ()):
                    inner.update(import_names(node))
            self._imports_of[function] = {**self.imports, **inner} if inner else self.imports
        return self._imports_of[function]

    def imports_near(self, node):
        """Imports in sight of any node."""
        while node is not None and node not in self.outer_functions:
            node = self.parents.get(node)
        return self.imports if node is None else self.imports_of(node)

    def dotted(self, node, imports=None, hidden=()):
        """The full name of `a.b.c`, with `neuronxcc.nki` read as `nki`; None when it is no imported name."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        imports = self.imports if imports is None else imports
        seen = set()
        while isinstance(node, ast.Name) and node.id not in imports and node.id not in hidden:
            assigned = self.values.get(node.id, [])
            alias = assigned[0] if len(assigned) == 1 else None
            if node.id in seen or not isinstance(alias, (ast.Name, ast.Attribute)):
                return None
            seen.add(node.id)
            while isinstance(alias, ast.Attribute):
                parts.append(alias.attr)
                alias = alias.value
            node = alias
        if not isinstance(node, ast.Name) or node.id in hidden:
            return None
        name = ".".join([imports[node.id], *reversed(parts)])
        return name[len("neuronxcc.") :] if name == LEGACY or name.startswith(LEGACY + ".") else name


def import_names(node):
    """local name -> dotted name; relative imports keep their dots."""
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0]
                for alias in node.names}  # fmt: skip
    base = "." * node.level + (node.module or "")
    joint = "" if base.endswith(".") or not base else "."
    return {alias.asname or alias.name: f"{base}{joint}{alias.name}" for alias in node.names if alias.name != "*"}


class Importer:
    """Finds the sources of imported modules: beside the file, and from the root of its package.

    Paths are shown as the first file was given, relative or absolute."""

    def __init__(self):
        self._modules = {}
        self._found = {}
        self._relative = False

    def adopt(self, module):
        """A module that is open already stands for its file."""
        self._modules[os.path.abspath(module.filename)] = module
        self._relative = not os.path.isabs(module.filename)

    def open(self, path):
        """The module of a file; None when it cannot be read or parsed."""
        path = os.path.abspath(path)
        if path not in self._modules:
            self._modules[path] = None
            try:
                shown = os.path.relpath(path) if self._relative else path
                self._modules[path] = Module(read_source(path), shown, self)
            except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
                pass
        return self._modules[path]

    def find(self, module, dotted):
        """(module, name): the file that `dotted`, imported by `module`, comes from and what is left of the name."""
        folder = os.path.dirname(os.path.abspath(module.filename))
        if (folder, dotted) not in self._found:
            self._found[folder, dotted] = self._find(folder, dotted)
        return self._found[folder, dotted]

    def _find(self, folder, dotted):
        level = len(dotted) - len(dotted.lstrip("."))
        parts = dotted.lstrip(".").split(".")
        if level:
            roots = [os.path.normpath(os.path.join(folder, *[".."] * (level - 1)))]
        else:
            roots = [folder, package_root(folder)]
        for root in dict.fromkeys(roots):
            for count in range(len(parts), 0, -1):
                path = os.path.join(root, *parts[:count])
                for file in (path + ".py", os.path.join(path, "__init__.py")):
                    if os.path.isfile(file) and (found := self.open(file)) is not None:
                        return found, parts[count:]
            package = os.path.join(root, "__init__.py")
            if level and os.path.isfile(package) and (found := self.open(package)) is not None:
                return found, parts
        return None, parts


def package_root(folder):
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder
