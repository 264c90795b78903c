"""Lists, dicts and strings: the parser knows fewer methods, and some with another meaning."""

import ast

from .kinds import DICT, LIST, STR
from .registry import check, hit
from .syntax import text

# method -> (what is different, remedy)
LIST_METHODS = {
    "count": ("the parser returns the length of the list", "count in a loop"),
    "remove": ("the parser removes all equal elements", "build a new list in a loop"),
    "index": ("the parser returns None when the value is absent", "search in a loop"),
    "sort": ("the parser does not have it", "sort in host code and pass a tuple"),
    "insert": ("the parser does not have it", "build a new list: `[x] + items`"),
}
DICT_METHODS = frozenset("clear copy get items keys pop setdefault values".split())
STR_REWRITES = {"format": "an f-string without format specifications", "join": "`+` in a loop"}


def method(scope, node, kind):
    """The name of the method that a call calls on an object of this kind."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) and scope.kind(function.value) == kind else None


@check("list_method", ast.Call)
def list_method(scope, node):
    name = method(scope, node, LIST)
    if name in LIST_METHODS:
        why, rewrite = LIST_METHODS[name]
        yield hit(node, text=text(node), why=why, rewrite=rewrite)
    elif name == "pop" and (node.args or node.keywords):
        yield hit(node, text=text(node), why="the parser pops the last element only",
                  rewrite="read the element by its index and build the rest in a loop")  # fmt: skip


@check("dict_method", ast.Call)
def dict_method(scope, node):
    name = method(scope, node, DICT)
    if name is not None and hasattr(dict, name) and name not in DICT_METHODS:
        rewrite = "assign key by key: `d[key] = value`" if name == "update" else "use one of the methods that exist"
        yield hit(node, text=text(node), rewrite=rewrite)


@check("dict_iteration", ast.For)
def dict_iteration(scope, node):
    if scope.kind(node.iter) == DICT:
        yield hit(node.iter, text=text(node.iter))


@check("dict_key", ast.Dict, ast.Subscript)
def dict_key(scope, node):
    if isinstance(node, ast.Subscript):
        keys = [node.slice] if scope.kind(node.value) == DICT else []
    else:
        keys = node.keys
    for key in keys:
        constant = isinstance(key, ast.Constant) and not isinstance(key.value, str)
        if constant or isinstance(key, ast.Tuple):
            yield hit(key, text=text(key))


@check("str_method", ast.Call)
def str_method(scope, node):
    name = method(scope, node, STR)
    if name is not None and hasattr(str, name):
        yield hit(node, text=text(node), rewrite=f"use {STR_REWRITES.get(name, 'host code, and pass the result')}")


@check("str_operation", ast.BinOp, ast.Subscript)
def str_operation(scope, node):
    if isinstance(node, ast.Subscript):
        if scope.kind(node.value) == STR:
            yield hit(node, text=text(node))
    elif STR in (scope.kind(node.left), scope.kind(node.right)) and isinstance(node.op, (ast.Mult, ast.Mod)):
        yield hit(node, text=text(node))
