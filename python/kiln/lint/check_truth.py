"""Tensors as conditions. Asking whether there is a tensor is fine where it may be None (kiln/_conditions.py); a tensor
that the kernel computes has no truth before it runs."""

import ast
import functools

from kiln._conditions import FUNCTIONS as DEFS, NEVER, Names, asked, bindings, is_part, own_nodes, parameters
from kiln._old_forms import ISA, LANGUAGE

from .kinds import NO_TILE, TENSOR
from .registry import check, hit
from .signatures import TENSOR_VIEWS
from .syntax import bound_names, text

# Functions of nki.language that only make a tensor, and those that keep the values they are given.
ALLOCATIONS = frozenset("ndarray shared_constant shared_identity_matrix NkiTensor tensor".split())
LAYOUTS = frozenset("load load_transpose2d copy transpose broadcast_to matmul zeros ones full zeros_like empty_like "
                    "rand random gather_flattened".split())  # fmt: skip


@check("tensor_truth", ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Assert, ast.comprehension, ast.Call)
def tensor_truth(scope, node):
    for leaf in asked(node):
        if _is_part_of_tensor(scope, leaf) or _source(scope, leaf).is_computed(leaf):
            yield hit(leaf, text=text(leaf), why="a computed tensor")
    if isinstance(node, ast.Call):
        yield from _passed_on(scope, node)


def _is_part_of_tensor(scope, node):
    """t[0, 1] is one of a tensor; so is t[0:2] when t is known to be one."""
    return is_part(node) and scope.kind(node.value) in (TENSOR, None if isinstance(node.slice, ast.Tuple) else TENSOR)


def _passed_on(scope, call):
    """Arguments that the called function takes for a condition."""
    source = _source(scope, call)
    called = source.called(call)
    if called is None or not {node.id for node in called.conditions}:
        return
    names = [arg.arg for arg in [*called.function.args.posonlyargs, *called.function.args.args]]
    given = [*zip(names, call.args), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    for name, value in given:
        lines = [node.lineno for node in called.conditions if node.id == name]
        if lines and source.is_result(value):
            why = f"a computed tensor, which `{called.function.name}` takes for a condition (line {lines[0]})"
            yield hit(value, text=text(value), why=why)


def _source(scope, node):
    """The function around a node as a Source."""
    inner = next((outer for outer in scope.ancestors(node) if isinstance(outer, DEFS)), scope.function)
    return _of(scope.module, inner)


@functools.lru_cache(maxsize=256)
def _of(module, function):
    return Source(module, function)


class Source:
    """What a function's tensors are, from its source."""

    def __init__(self, module, function):
        self.module, self.function = module, function
        self._imports = module.imports_of(function)
        self._hidden = bound_names(function) - set(self._imports)
        self._bindings = bindings(function)
        self.names = Names(function, self._resolve)
        self._writes = None  # name -> first line that writes it

    def _dotted(self, node):
        return self.module.dotted(node, self._imports, self._hidden)

    def _resolve(self, call):
        package, _, name = (self._dotted(call.func) or "").rpartition(".")
        if package == LANGUAGE:
            return None if name in NO_TILE else NEVER
        if isinstance(call.func, ast.Attribute) and call.func.attr in TENSOR_VIEWS:
            return NEVER
        called = self.called(call)
        return called.names if called is not None else None

    def called(self, call):
        """The Source of the function that a call names; None when it is not in sight."""
        if isinstance(call.func, ast.Name) and call.func.id not in self._hidden | set(self._imports):
            function = self.module.functions.get(call.func.id)
            return _of(self.module, function) if function is not None else None
        dotted = self._dotted(call.func)
        if dotted is None or self.module.importer is None or dotted.split(".")[0] == "nki":
            return None
        found, rest = self.module.importer.find(self.module, dotted)
        function = found.functions.get(rest[0]) if found is not None and len(rest) == 1 else None
        return _of(found, function) if function is not None else None

    @functools.cached_property
    def conditions(self):
        """Parameters, never assigned and not said to be optional, that are asked for their truth: their nodes."""
        required = {name for name, optional in parameters(self.function).items() if not optional}
        plain = {name for name in required if len(self._bindings[name]) == 1}
        leaves = [leaf for node in own_nodes(self.function) for leaf in asked(node)]
        return [leaf for leaf in leaves if isinstance(leaf, ast.Name) and leaf.id in plain]

    def is_computed(self, leaf):
        """Whether an expression is surely a tensor, never None, that something has written."""
        if not isinstance(leaf, (ast.Call, ast.Name, ast.Subscript)) or self.names.may_be_none(leaf) != NEVER:
            return False
        return self._is_written(leaf, leaf.lineno)

    def is_result(self, node):
        """Whether an expression is surely what a function of nki.language has computed."""
        if isinstance(node, ast.Name):
            values = self._bindings.get(node.id, [0])
            return all(isinstance(value, ast.Call) and self.is_result(value) for value in values)
        package, _, name = (self._dotted(getattr(node, "func", None)) or "").rpartition(".")
        return isinstance(node, ast.Call) and package == LANGUAGE and name not in NO_TILE | ALLOCATIONS | LAYOUTS

    def _is_written(self, node, line, seen=()):
        if isinstance(node, ast.IfExp):
            return self._is_written(node.body, line, seen) and self._is_written(node.orelse, line, seen)
        if isinstance(node, ast.Subscript):
            return self._is_written(node.value, line, seen)
        if isinstance(node, ast.Name):
            if self._first_write(node.id) < line or node.id in seen:
                return True
            return all(isinstance(value, ast.AST) and self._is_written(value, line, (*seen, node.id))
                       for value in self._bindings.get(node.id, [0]))  # fmt: skip
        return isinstance(node, ast.Call) and self._call_is_written(node, line, seen)

    def _call_is_written(self, call, line, seen):
        package, _, name = (self._dotted(call.func) or "").rpartition(".")
        if package == LANGUAGE:
            return name not in NO_TILE | ALLOCATIONS
        called = self.called(call)
        if called is not None and called.function not in seen:
            results = [n.value for n in own_nodes(called.function) if isinstance(n, ast.Return)]
            return bool(results) and all(r is not None and called._is_written(r, r.lineno, (*seen, called.function))
                                         for r in results)  # fmt: skip
        view = isinstance(call.func, ast.Attribute) and call.func.attr in TENSOR_VIEWS
        return view and self._is_written(call.func.value, line, seen)

    def _first_write(self, name):
        if self._writes is None:
            self._writes = {}
            for node in own_nodes(self.function):
                for target in self._written_by(node):
                    self._writes[target] = min(node.lineno, self._writes.get(target, node.lineno))
        return self._writes.get(name, float("inf"))

    def _written_by(self, node):
        """The names of the tensors that a statement writes: dst of an instruction, t[…] = …"""
        if isinstance(node, ast.Assign):
            return [_root(target) for target in node.targets if isinstance(target, ast.Subscript) and _root(target)]
        if not isinstance(node, ast.Call) or not (self._dotted(node.func) or "").startswith(f"{ISA}."):
            return []
        outputs = [k.value for k in node.keywords if k.arg == "dst"] or node.args[:1]
        return [_root(output) for output in outputs if _root(output)]


def _root(node):
    """The name that a view is made of, or None."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None
