"""Functions, parameters, decorators and classes."""

import ast

from kiln._old_forms import OLD_NAMES

from .reach import ENTRY_DECORATORS
from .registry import check, hit, module_check
from .syntax import FUNCTIONS, bound_names, free_names, text

DECORATORS = ("dataclasses.dataclass", "dataclass", "staticmethod", *ENTRY_DECORATORS)
BASES = ("NKIObject", "Enum", "NamedTuple")


@check("inner_def", ast.FunctionDef)
def inner_def(scope, node):
    if node is scope.function or node in scope.loop_bodies:
        return
    captured = sorted(set(free_names(node)) & bound_names(scope.function))
    names = ", ".join(f"`{name}`" for name in captured)
    yield hit(node, name=node.name, outer=scope.function.name,
              captured=f" and pass {names} as arguments" if captured else "")  # fmt: skip


@check("inner_body", ast.FunctionDef)
def inner_body(scope, node):
    if node is not scope.function and node in scope.loop_bodies:
        yield hit(node, name=node.name, outer=scope.function.name, loop=f"nl.{scope.loop_bodies[node]}")


@check("inner_class", ast.ClassDef)
def inner_class(scope, node):
    yield hit(node, name=node.name, outer=scope.function.name)


@check("varargs", *FUNCTIONS)
def varargs(scope, node):
    if node.args.vararg is not None:
        yield hit(node.args.vararg, name=node.args.vararg.arg)


@check("kwargs", *FUNCTIONS)
def kwargs(scope, node):
    if node.args.kwarg is not None:
        yield hit(node.args.kwarg, name=node.args.kwarg.arg)


@check("keyword_only", *FUNCTIONS)
def keyword_only(scope, node):
    if node.args.kwonlyargs and node.args.vararg is None:
        names = ", ".join(f"`{arg.arg}`" for arg in node.args.kwonlyargs)
        yield hit(node.args.kwonlyargs[0], names=names)


@check("closure", *FUNCTIONS)
def closure(scope, node):
    """Variables of a host function that makes the kernel; captures of inner functions are part of inner_def."""
    if node is not scope.function:
        return
    own = bound_names(node)
    for outer in scope.module.outer_functions.get(node, ()):
        names = bound_names(outer) - own
        for name, place in free_names(node).items():
            if name in names:
                yield hit(place, name=name, outer=outer.name, inner=node.name)
        own |= names


@check("decorator", *FUNCTIONS)
def decorator(scope, node):
    if node is scope.function:
        yield from bad_decorators(node, scope.dotted)


def bad_decorators(node, dotted):
    for given in node.decorator_list:
        called = given.func if isinstance(given, ast.Call) else given
        name = dotted(called) or text(called)
        if name not in DECORATORS and name not in OLD_NAMES:  # removed_name speaks of the latter
            yield hit(given, name=text(called))


@module_check("class_base", reached=True)
def class_base(module, reach):
    for node, home in reach.classes.items():
        if home is not module:
            continue
        bases = [(module.dotted(base) or text(base)).split(".")[-1] for base in node.bases]
        if not bases:
            yield hit(node, name=node.name, bases="has no base class")
        for given, name in zip(node.bases, bases):
            if name not in BASES:
                yield hit(given, name=node.name, bases=f"derives from `{text(given)}`")


@module_check("class_statement", reached=True)
def class_statement(module, reach):
    for node, home in reach.classes.items():
        for member in node.body if home is module else ():
            docstring = isinstance(member, ast.Expr) and isinstance(member.value, ast.Constant)
            if not docstring and not isinstance(member, (*FUNCTIONS, ast.Assign, ast.AnnAssign, ast.Pass)):
                what = "a nested class" if isinstance(member, ast.ClassDef) else f"`{text(member)}`"
                yield hit(member, what=what, name=node.name)
