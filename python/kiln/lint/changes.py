"""Module variables that functions of the module change."""

import ast

from .syntax import bound_names, parameters, walk

CHANGING_METHODS = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard".split()
)
CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
CONTAINER_CALLS = frozenset("list dict set defaultdict OrderedDict deque Counter".split())


def is_container(value):
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return name in CONTAINER_CALLS
    return isinstance(value, CONTAINERS)


def changed_variables(functions, values):
    """variable -> the line that changes it; `values` are the expressions that the module assigns to its variables."""
    containers = {name for name, given in values.items() if any(map(is_container, given))}
    found = {}
    for function in functions:
        for name, line, assigned in changes(function):
            if name in values and (assigned or name in containers):
                found.setdefault(name, line)
    return found


def changes(function):
    """(name, line, is it assigned to) of what a function changes outside itself."""
    nodes = list(walk(function, into_functions=False))
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    own = bound_names(function) | {arg.arg for arg in parameters(function)}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in declared:
            yield node.id, node.lineno, True
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if isinstance(node.value, ast.Name) and node.value.id not in own:
                yield node.value.id, node.lineno, False
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING_METHODS:
            if isinstance(node.func.value, ast.Name) and node.func.value.id not in own:
                yield node.func.value.id, node.lineno, False
