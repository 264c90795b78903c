"""What a check may ask about the function it looks at."""

import ast

from kiln._old_forms import LANGUAGE

from .kinds import DYNAMIC_RANGE, REGISTER, Kinds
from .syntax import FUNCTIONS, bound_names, kernel_children

LOOP_FUNCTIONS = {f"{LANGUAGE}.fori_loop": "fori_loop", f"{LANGUAGE}.while_loop": "while_loop"}
NO_REORDER = f"{LANGUAGE}.no_reorder"


class Scope:
    def __init__(self, unit, reach, api_version):
        self.unit = unit
        self.module = unit.module
        self.function = unit.function
        self.reach = reach
        self.api_version = api_version
        self.imports = unit.module.imports_of(unit.function)
        self.nodes = unit.module.nodes(unit.function)
        inner = [node for node in self.nodes if isinstance(node, FUNCTIONS)]
        self.locals = set().union(*map(bound_names, inner))
        self.hidden = self.locals - set(self.imports)
        self.kinds = Kinds(unit, self.locals, self.dotted)
        self.kind = self.kinds.of
        self.parents = {child: node for node in self.nodes for child in kernel_children(node)}
        self.loop_bodies = reach.loop_bodies  # complete once all functions have a scope
        self.loop_bodies.update(self._loop_bodies())

    def dotted(self, node):
        return self.module.dotted(node, self.imports, self.hidden)

    def called(self, node):
        """The full name of what a node calls, or None."""
        return self.dotted(node.func) if isinstance(node, ast.Call) else None

    def builtin(self, node):
        """The name of the builtin that a node is, or None."""
        return node.id if isinstance(node, ast.Name) and self.kinds.is_builtin(node.id) else None

    def builtin_called(self, node):
        return self.builtin(node.func) if isinstance(node, ast.Call) else None

    def ancestors(self, node):
        while (node := self.parents.get(node)) is not None:
            yield node

    def _loop_bodies(self):
        """function -> "fori_loop" or "while_loop", for functions that are passed as the body of one."""
        inner = {node.name: node for node in self.nodes if isinstance(node, FUNCTIONS)}
        for node in self.nodes:
            loop = LOOP_FUNCTIONS.get(self.called(node))
            if loop is None:
                continue
            place = 2 if loop == "fori_loop" else 1
            given = [keyword.value for keyword in node.keywords if keyword.arg == "body_fun"]
            body = node.args[place] if len(node.args) > place else given[0] if given else None
            if isinstance(body, ast.Name):
                function = inner.get(body.id) or self.module.functions.get(body.id)
                if function is not None:
                    yield function, loop

    def is_device_loop(self, node):
        """A loop statement that runs on the device."""
        if isinstance(node, ast.For):
            return self.called(node.iter) == DYNAMIC_RANGE
        return isinstance(node, ast.While) and self.kind(node.test) == REGISTER

    def device_loop_of(self, node):
        """The innermost device loop, statement or body function, around a node; None when there is none."""
        for outer in self.ancestors(node):
            if self.is_device_loop(outer) or outer in self.loop_bodies:
                return outer
        return None
