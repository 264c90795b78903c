"""Loops, assignments and statements that kernel code does not have."""

import ast

from .registry import check, hit
from .scope import NO_REORDER
from .syntax import FUNCTIONS, code, text


@check("loop_target", ast.For)
def loop_target(scope, node):
    if isinstance(node.target, ast.Name):
        return
    target, items = node.target, code(node.iter)
    rewrite = "assign inside the loop instead"
    if isinstance(target, (ast.Tuple, ast.List)):
        call = scope.builtin_called(node.iter)
        if call == "enumerate" and len(target.elts) == 2 and len(node.iter.args) == 1:
            items = code(node.iter.args[0])
            count, value = map(code, target.elts)
            rewrite = f"for {count} in range(len({items})): {value} = {items}[{count}]"
        elif call == "zip" and len(target.elts) == len(node.iter.args):
            parts = zip(target.elts, node.iter.args)
            each = "; ".join(f"{code(name)} = {code(source)}[i]" for name, source in parts)
            rewrite = f"for i in range(len({code(node.iter.args[0])})): {each}"
        else:
            rewrite = f"for item in {items}: {code(target)} = item"
    yield hit(target, target=text(target), rewrite=rewrite)


@check("loop_else", ast.For, ast.While)
def loop_else(scope, node):
    if node.orelse:
        yield hit(node.orelse[0])


@check("subscript_target", ast.Assign)
def subscript_target(scope, node):
    for target in node.targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in mutated(target):
                yield hit(part, target=text(part))


def mutated(target):
    """Subscripts and attributes that an assignment to `target` changes."""
    stack = [target]
    while stack:
        node = stack.pop(0)
        if isinstance(node, (ast.Tuple, ast.List)):
            stack = [*node.elts, *stack]
        elif isinstance(node, ast.Starred):
            stack.insert(0, node.value)
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            yield node


@check("several_mutations", ast.Assign)
def several_mutations(scope, node):
    plain = [target for target in node.targets if isinstance(target, (ast.Subscript, ast.Attribute))]
    if len(plain) > 1:
        yield hit(node, count=len(plain))


@check("star_expression", ast.Starred)
def star_expression(scope, node):
    yield hit(node, text=text(node))


@check("keyword_expansion", ast.Call, ast.Dict)
def keyword_expansion(scope, node):
    if isinstance(node, ast.Call):
        expanded = [keyword.value for keyword in node.keywords if keyword.arg is None]
    else:
        expanded = [value for key, value in zip(node.keys, node.values) if key is None]
    for value in expanded:
        yield hit(value, text=f"**{text(value)}")


@check("import_in_body", ast.Import, ast.ImportFrom)
def import_in_body(scope, node):
    yield hit(node, outer=scope.function.name)


@check("global_statement", ast.Global, ast.Nonlocal)
def global_statement(scope, node):
    yield hit(node, text=text(node))


@check("raise", ast.Raise)
def raise_statement(scope, node):
    message = "message"
    if isinstance(node.exc, ast.Call) and len(node.exc.args) == 1:
        message = code(node.exc.args[0])
    parent = scope.parents.get(node)
    if isinstance(parent, ast.If) and parent.body == [node] and not parent.orelse:
        test = parent.test
        negated = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
        condition = code(negated) if negated is not None else f"not ({code(test)})"
        yield hit(node, rewrite=f"instead of the `if`, write `assert {condition}, {message}`")
    else:
        yield hit(node, rewrite=f"write `assert False, {message}`")


@check("with_other", ast.With)
def with_other(scope, node):
    for item in node.items:
        call = item.context_expr
        plain = scope.called(call) == NO_REORDER and not call.args and not call.keywords
        if not plain or len(node.items) > 1:
            yield hit(call, text=text(call))


@check("with_as", ast.With)
def with_as(scope, node):
    for item in node.items:
        if item.optional_vars is not None:
            yield hit(item.optional_vars, name=text(item.optional_vars))


@check("bare_annotation", ast.AnnAssign)
def bare_annotation(scope, node):
    if node.value is None and not isinstance(node.target, ast.Name):
        yield hit(node, text=text(node), target=code(node.target))


@check("assert_message", ast.Assert)
def assert_message(scope, node):
    message = node.msg
    if isinstance(message, (ast.Tuple, ast.List, ast.Dict)):
        yield hit(message, what=f"a {type(message).__name__.lower()}")
    elif isinstance(message, ast.Constant) and not isinstance(message.value, str):
        yield hit(message, what=f"`{text(message)}`")


@check("loop_exit", ast.Break, ast.Continue, ast.Return)
def loop_exit(scope, node):
    if isinstance(node, ast.Return):
        for outer in scope.ancestors(node):
            if isinstance(outer, FUNCTIONS):
                return
            if scope.is_device_loop(outer):
                yield hit(node, what="return")
                return
    for outer in scope.ancestors(node):
        if isinstance(outer, (ast.For, ast.While)):
            if scope.is_device_loop(outer):
                yield hit(node, what=type(node).__name__.lower())
            return
