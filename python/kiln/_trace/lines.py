"""Lines of a kernel that has run: its `def`, the `return` that gave a tensor back, and what left a device loop."""

import ast
import inspect
import linecache


def _code(function):
    return getattr(inspect.unwrap(function), "__code__", None)


def of_kernel(function):
    """(file, line) of a function's `def`, or None when it has no source."""
    code = _code(function)
    tree = code and _definition(code)
    return (code.co_filename, tree.lineno) if tree else None


def of_return(function, name):
    """(file, line) of the `return` that names a tensor, else of the last one, else of the `def`."""
    code = _code(function)
    tree = code and _definition(code)
    returns = [n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value is not None] if tree else []
    naming = [r for r in returns if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(r))]
    if not returns:
        return of_kernel(function)
    return code.co_filename, (naming or sorted(returns, key=lambda r: r.lineno)[-1:])[0].lineno


def of_exit(function):
    """(file, line) of the first `break` or `return` inside a loop over a dynamic_range, else of the `def`."""
    code = _code(function)
    tree = code and _definition(code)
    for loop in ast.walk(tree) if tree else ():
        calls = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
        if calls and "dynamic_range" in ast.dump(loop.iter.func):
            leaving = min((node.lineno for node in _leaving(loop)), default=None)
            if leaving:
                return code.co_filename, leaving
    return of_kernel(function)


def _leaving(loop, inner=False):
    """The statements that leave a loop: each `return`, and each `break` that belongs to no loop inside it."""
    for node in ast.iter_child_nodes(loop):
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not inner):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            yield from _leaving(node, inner or isinstance(node, (ast.For, ast.While)))


def _definition(code):
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name
             and n.lineno <= max(line for *_, line in code.co_lines() if line) <= n.end_lineno]  # fmt: skip
    return found[-1] if found else None
