"""Comparisons, literals and operators that the front ends do not take."""

import ast

from .kinds import DICT, is_none
from .registry import check, hit
from .syntax import COMPREHENSIONS, code, text

KINDS_OF_COMPREHENSION = {
    ast.ListComp: "a list comprehension", ast.SetComp: "a set comprehension", ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
}  # fmt: skip
INT32_MAX = 2**31 - 1
PURE_BUILTINS = ("len", "abs", "min", "max", "int", "float", "bool", "str", "isinstance", "type", "tuple", "list")
MEMBERSHIP = (ast.In, ast.NotIn)
IDENTITY = (ast.Is, ast.IsNot)


@check("comprehension", *COMPREHENSIONS)
def comprehension(scope, node):
    yield hit(node, what=KINDS_OF_COMPREHENSION[type(node)])


@check("is_comparison", ast.Compare)
def is_comparison(scope, node):
    operands = [node.left, *node.comparators]
    for place, operator in enumerate(node.ops):
        left, right = operands[place], operands[place + 1]
        if isinstance(operator, IDENTITY) and not (is_none(left) or is_none(right)):
            sign = "==" if isinstance(operator, ast.Is) else "!="
            yield hit(node, text=text(node), rewrite=f"{code(left)} {sign} {code(right)}")


@check("dict_membership", ast.Compare)
def dict_membership(scope, node):
    for operator, right in zip(node.ops, node.comparators):
        if isinstance(operator, MEMBERSHIP) and scope.kind(right) == DICT:
            negation = "not in" if isinstance(operator, ast.NotIn) else "in"
            yield hit(node, text=text(node), rewrite=f"{code(node.left)} {negation} {code(right)}.keys()")


@check("chained_membership", ast.Compare)
def chained_membership(scope, node):
    if len(node.ops) > 1 and any(isinstance(operator, MEMBERSHIP) for operator in node.ops):
        yield hit(node, text=text(node))


@check("chained_effect", ast.Compare)
def chained_effect(scope, node):
    for operand in node.comparators[1:]:  # the first two are always evaluated
        for call in ast.walk(operand):
            if isinstance(call, ast.Call) and scope.builtin_called(call) not in PURE_BUILTINS:
                yield hit(call, text=text(node), call=text(call))
                break


@check("matmul_operator", ast.BinOp, ast.AugAssign)
def matmul_operator(scope, node):
    if isinstance(node.op, ast.MatMult):
        yield hit(node, text=text(node))


@check("format_spec", ast.FormattedValue)
def format_spec(scope, node):
    if node.format_spec is not None:
        specification = "".join(part.value for part in node.format_spec.values if isinstance(part, ast.Constant))
        value = text(node.value)
        yield hit(node, text=f"{{{value}:{specification or '…'}}}", rewrite=f"{{{value}}}")


@check("large_int", ast.Constant)
def large_int(scope, node):
    if type(node.value) is int and node.value > INT32_MAX:
        parent = scope.parents.get(node)
        negative = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)
        if negative and node.value == INT32_MAX + 1:
            yield hit(parent, value=-node.value, rewrite="write `-2147483647 - 1`")
        elif not negative and node.value < 2**32:
            same_bits = f"for a bit pattern write the int32 with the same bits, {int32_text(node.value)}"
            yield hit(node, value=node.value, rewrite=same_bits)
        else:
            value = -node.value if negative else node.value
            yield hit(parent if negative else node, value=value, rewrite="pass a float, or split the number")


def int32_text(value):
    value -= 2**32
    return "-2147483647 - 1" if value == -(2**31) else str(value)


@check("ellipsis_value", ast.Constant)
def ellipsis_value(scope, node):
    if node.value is not Ellipsis:
        return
    parent = scope.parents.get(node)
    if isinstance(parent, ast.Tuple):
        parent, node_in = scope.parents.get(parent), parent
    else:
        node_in = node
    if isinstance(parent, ast.Subscript) and parent.slice is node_in:
        return
    if isinstance(parent, ast.Expr):
        yield hit(node, rewrite="write `pass`")
    else:
        yield hit(node, rewrite="write it in the index itself: `t[...]`")


@check("negative_step", ast.Slice)
def negative_step(scope, node):
    try:
        step = ast.literal_eval(node.step) if node.step is not None else 1
    except (ValueError, TypeError, SyntaxError):
        return
    if type(step) is int and step <= 0:
        yield hit(node.step, step=step, rewrite="run an index loop with `n - 1 - i`; for a tensor use `.ap(...)`")
