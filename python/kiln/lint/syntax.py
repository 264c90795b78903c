"""Walking syntax trees: children that are kernel code, names that a function binds, text of a node."""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAX_TEXT = 60
MAX_CODE = 400


def text(node):
    """The code of a node on one short line, to name it."""
    return code(node, MAX_TEXT)


def code(node, limit=MAX_CODE):
    """The code of a node on one line, to be copied."""
    line = " ".join(ast.unparse(node).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def call_code(call, first=(), without=()):
    """A call with further arguments in front, and without some keywords."""
    keywords = [code(keyword) for keyword in call.keywords if keyword.arg not in without]
    return f"{code(call.func)}({', '.join([*first, *map(code, call.args), *keywords])})"


def kernel_children(node):
    """Children that a front end evaluates: no annotations, no decorators, nothing of a `raise`."""
    if isinstance(node, ast.Raise):
        return []
    if isinstance(node, FUNCTIONS):
        return [*defaults(node.args), *node.body]
    if isinstance(node, ast.AnnAssign):
        return [child for child in (node.target, node.value) if child is not None]
    if isinstance(node, ast.Lambda):
        return [*defaults(node.args), node.body]
    return list(ast.iter_child_nodes(node))


def defaults(arguments):
    return [default for default in [*arguments.defaults, *arguments.kw_defaults] if default is not None]


def walk(node, into_functions=True):
    """All nodes of kernel code from `node` down, outer before inner, in the order of the source."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if into_functions or current is node or not isinstance(current, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            stack.extend(reversed(kernel_children(current)))


def parameters(function):
    """All ast.arg of a function."""
    arguments = function.args
    star = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *star]


def target_names(target):
    """Names that an assignment to `target` binds."""
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def bound_names(function):
    """Names that are local to a function, its inner functions not included."""
    names = {arg.arg for arg in parameters(function)}
    outside = set()
    for node in walk(function, into_functions=False):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outside.update(node.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node is not function:
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names - outside


def free_names(function):
    """(name, first node) of what a function reads and does not bind, inner functions included."""
    found = {}
    stack = [(function, bound_names(function))]
    while stack:
        inner, bound = stack.pop()
        for node in walk(inner, into_functions=False):
            if isinstance(node, FUNCTIONS) and node is not inner:
                stack.append((node, bound | bound_names(node)))
            elif isinstance(node, ast.Lambda):
                own = bound | {arg.arg for arg in parameters(node)}
                for name in ast.walk(node.body):
                    if isinstance(name, ast.Name) and name.id not in own:
                        found.setdefault(name.id, name)
            elif isinstance(node, ast.Name) and node.id not in bound:
                found.setdefault(node.id, node)
    return found
