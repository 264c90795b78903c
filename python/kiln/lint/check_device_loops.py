"""Registers and loops that run on the device."""

import ast

from kiln._conditions import asked
from kiln._old_forms import ISA

from .kinds import DYNAMIC_RANGE, LIST, REGISTER
from .registry import check, hit
from .scope import LOOP_FUNCTIONS, NO_REORDER
from .syntax import FUNCTIONS, code, parameters, target_names, text, walk

CONVERSIONS = ("int", "float", "bool", "range", "abs", "min", "max", "divmod")
REGISTER_WRITERS = (f"{ISA}.register_move", f"{ISA}.register_load")
CHANGING_METHODS = ("append", "extend", "pop", "clear")


def register_name(scope, nodes):
    for node in nodes:
        if isinstance(node, ast.Name) and is_register(scope, node):
            return node.id
    return None


def is_register(scope, node):
    """Registers, and the index that a body of nl.fori_loop gets."""
    if scope.kind(node) == REGISTER:
        return True
    for outer in scope.ancestors(node):
        if isinstance(outer, FUNCTIONS):
            if scope.loop_bodies.get(outer) == "fori_loop":
                given = parameters(outer)
                if given and node.id == given[0].arg:
                    return True
    return scope.loop_bodies.get(scope.function) == "fori_loop" and [node.id] == [
        arg.arg for arg in parameters(scope.function)[:1]
    ]


@check("register_arithmetic", ast.BinOp, ast.Compare, ast.AugAssign, ast.UnaryOp, ast.Call)
def register_arithmetic(scope, node):
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        plain = all(not isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        operands = [node.left, *node.comparators] if plain else []
        if any(isinstance(operand, ast.Constant) and operand.value is None for operand in operands):
            return
    elif isinstance(node, ast.AugAssign):
        operands = [node.target, node.value]
    elif isinstance(node, ast.UnaryOp):
        operands = [] if isinstance(node.op, ast.Not) else [node.operand]
    else:
        operands = node.args if scope.builtin_called(node) in CONVERSIONS else []
    name = register_name(scope, operands)
    if name:
        yield hit(node, text=text(node), register=name)


@check("register_condition", ast.If, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.Assert)
def register_condition(scope, node):
    for test in asked(node):
        if register_name(scope, [test]):
            yield hit(test, text=text(test))


@check("loop_statement", ast.For, ast.While)
def loop_statement(scope, node):
    if not scope.is_device_loop(node):
        return
    if isinstance(node, ast.While):
        yield hit(node.test, text=f"while {text(node.test)}",
                  rewrite=f"nl.while_loop({code(node.test)}, body), where body returns the next condition")  # fmt: skip
        return
    given = [code(arg) for arg in node.iter.args]
    lower, upper = ("0", given[0]) if len(given) == 1 else (*given, "0", "…")[:2]
    step = f", step={given[2]}" if len(given) > 2 else ""
    body = f"where `body({text(node.target)})` is the loop body"
    yield hit(node.iter, text=text(node.iter), rewrite=f"nl.fori_loop({lower}, {upper}, body{step}), {body}")


@check("dynamic_step", ast.Call)
def dynamic_step(scope, node):
    name = scope.called(node)
    if name != DYNAMIC_RANGE and LOOP_FUNCTIONS.get(name) != "fori_loop":
        return
    place = 2 if name == DYNAMIC_RANGE else 3
    steps = node.args[place : place + 1] + [keyword.value for keyword in node.keywords if keyword.arg == "step"]
    for step in steps:
        try:
            bad = ast.literal_eval(step) <= 0
        except (ValueError, TypeError, SyntaxError):
            bad = register_name(scope, [step]) is not None
        if bad:
            yield hit(step, text=text(step))


@check("loop_variable", ast.Name, ast.Call)
def loop_variable(scope, node):
    name = written_register(scope, node) if isinstance(node, ast.Call) else node
    if name is None or not isinstance(node, ast.Call) and not isinstance(node.ctx, ast.Store):
        return
    inner = node
    for outer in scope.ancestors(node):
        if scope.is_device_loop(outer) and isinstance(outer, ast.For) and inner in outer.body:
            if name.id in target_names(outer.target):
                yield hit(name, name=name.id)
        inner = outer


def written_register(scope, node):
    """The name that a call hands to an instruction as the register to write."""
    if scope.called(node) not in REGISTER_WRITERS:
        return None
    given = node.args[:1] + [keyword.value for keyword in node.keywords if keyword.arg == "dst"]
    return given[0] if given and isinstance(given[0], ast.Name) else None


@check("loop_in_no_reorder", ast.For, ast.While, ast.Call)
def loop_in_no_reorder(scope, node):
    device = scope.is_device_loop(node) or scope.called(node) in LOOP_FUNCTIONS or calls_device_loop(scope, node)
    if not device or (isinstance(node, ast.Call) and scope.called(node) == DYNAMIC_RANGE):
        return
    for outer in scope.ancestors(node):
        if isinstance(outer, ast.With) and any(scope.called(item.context_expr) == NO_REORDER for item in outer.items):
            yield hit(node.iter if isinstance(node, ast.For) else node.test if isinstance(node, ast.While) else node)
            return


def calls_device_loop(scope, node):
    """A call of a function of this file that has a device loop: no_reorder reaches into calls."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    function = scope.module.functions.get(node.func.id)
    if function is None or node.func.id in scope.locals:
        return False
    names = {scope.module.dotted(call.func) for call in walk(function) if isinstance(call, ast.Call)}
    return DYNAMIC_RANGE in names or not names.isdisjoint(LOOP_FUNCTIONS)


@check("loop_carried", ast.Assign, ast.AugAssign, ast.Expr)
def loop_carried(scope, node):
    loop = scope.device_loop_of(node)
    if loop is None:
        return
    for name, place in changed_names(scope, node):
        if is_bound_before(scope, loop, name):
            yield hit(place, name=name)


def changed_names(scope, node):
    """(name, place) of Python values that a statement changes on the basis of their old value."""
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield node.target.id, node
    elif isinstance(node, ast.Assign):
        read = {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
        for target in node.targets:
            for name in target_names(target):
                if name in read:
                    yield name, node
    elif isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        called = node.value.func
        if called.attr in CHANGING_METHODS and isinstance(called.value, ast.Name) and scope.kind(called.value) == LIST:
            yield called.value.id, node


def is_bound_before(scope, loop, name):
    """Is the name bound outside the loop, above it (or a parameter), and is it not made anew in the body first?"""
    inside = set(map(id, ast.walk(loop)))
    if isinstance(loop, FUNCTIONS) and name in {arg.arg for arg in parameters(loop)}:
        return False
    if name in {arg.arg for arg in parameters(scope.function)} and loop is not scope.function:
        return True
    for node in scope.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            if id(node) not in inside and node.lineno < loop.lineno:
                return not made_in_body(loop, name)
    return False


def made_in_body(loop, name):
    """Does the body bind the name afresh, without its old value, at its own level?"""
    for statement in loop.body:
        if isinstance(statement, ast.Assign):
            read = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
            for target in statement.targets:
                if name in target_names(target):
                    return name not in read
        elif isinstance(statement, ast.For) and name in target_names(statement.target):
            return True
    return False


@check("loop_body_result", *FUNCTIONS)
def loop_body_result(scope, node):
    loop = scope.loop_bodies.get(node)
    if loop is None:
        return
    returns = [inner for inner in walk(node, into_functions=False) if isinstance(inner, ast.Return)]
    valued = [given for given in returns if given.value is not None and text(given.value) != "None"]
    if loop == "fori_loop":
        for given in valued:
            yield hit(given, name=node.name, loop=loop, what=f"`{text(given.value)}`",
                      rewrite="write the result into a tensor that exists before the loop")  # fmt: skip
        return
    alone = "return the register of the next condition"
    if not valued:
        yield hit(node, name=node.name, loop=loop, what="nothing", rewrite=alone)
    for given in valued:
        if isinstance(given.value, (ast.Tuple, ast.List, ast.Dict)):
            yield hit(given, name=node.name, loop=loop, what=f"`{text(given.value)}`",
                      rewrite=f"{alone} and nothing else; keep other state in tensors")  # fmt: skip
