"""The truth of a tensor: `if bias:` asks whether there is one. Of a tensor that the device computes it would ask for
values, which nobody knows while the kernel is traced; that is refused."""

import ast
import builtins
import functools
import linecache
import sys
import types

from kiln import _kiln
from kiln._conditions import FUNCTIONS, NEVER, OPTIONAL, UNKNOWN, Names, asked, is_part
from kiln._trace import rules, tracebacks
from kiln._trace.errors import NkiValidationError, broken


class NkiTruthError(NkiValidationError, TypeError):
    """The truth of a computed tensor; a TypeError, as other questions for values are."""

    __module__ = "kiln"  # as the others are shown


def truth(tensor):
    """bool(tensor): true when it asks whether there is a tensor; else an error."""
    frame = sys._getframe(1)
    if tensor.trace != _kiln.active_trace() or tracebacks.is_ours(frame.f_code.co_filename):
        return True
    expression, may_be_none = _question(frame, tensor)
    written = _kiln.last_write(tensor)
    if may_be_none == OPTIONAL:
        return True
    if may_be_none == NEVER and (written is not None or is_part(expression)):
        _refuse(tensor, expression, written)
    if written is not None and (written.is_truth or (written.is_result and written.computes)):
        _refuse(tensor, expression, written)
    return True


def _refuse(tensor, expression, written):
    what = ast.unparse(expression) if expression is not None else tensor.name
    by = f", which {written.instruction} computes on the device (line {written.loc.line})" if written else ""
    found = broken(rules.TENSOR_TRUTH, f"the truth of the tensor `{what}`{by}")
    if expression is not None and expression.lineno == expression.end_lineno == found.loc.line:
        found.underline(expression.col_offset + 1, expression.end_col_offset - expression.col_offset)
    raise NkiTruthError([found])


def _question(frame, tensor):
    """(the expression that is asked for its truth, whether it may be None), as far as the source tells. Of several
    that it might be, the one that may be None counts."""
    names = _names(frame)
    found = [(names.may_be_none(leaf), leaf) for leaf in _asked_at(frame.f_code.co_filename, frame.f_lineno)
             if _may_be(frame, leaf, tensor)]  # fmt: skip
    if not found:
        return None, UNKNOWN
    may_be_none, leaf = max(found, key=lambda one: one[0])
    return leaf, may_be_none


def _may_be(frame, leaf, tensor):
    """Whether an expression may stand for the tensor: names do or do not."""
    if not isinstance(leaf, (ast.Name, ast.Attribute)):
        return isinstance(leaf, (ast.Call, ast.Subscript, ast.Await))
    return _value(frame.f_locals, frame.f_globals, leaf) is tensor


@functools.lru_cache(maxsize=64)
def _tree(file):
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


@functools.lru_cache(maxsize=4096)
def _asked_at(file, line):
    """The expressions that a line of a file asks for their truth."""
    found = [(getattr(node, "lineno", leaf.lineno), leaf) for node in ast.walk(_tree(file)) for leaf in asked(node)]
    return [leaf for first, leaf in found if first <= line <= leaf.end_lineno]


@functools.lru_cache(maxsize=1024)
def _definition(code):
    """The syntax of a function, or of the one around a comprehension; None without a source."""
    first = code.co_firstlineno
    around = [n for n in ast.walk(_tree(code.co_filename)) if isinstance(n, FUNCTIONS)
              and min([n.lineno, *(d.lineno for d in n.decorator_list)]) <= first <= n.end_lineno]  # fmt: skip
    named = around if code.co_name.startswith("<") else [n for n in around if n.name == code.co_name]
    return max(named, key=lambda n: n.lineno, default=None)


def _names(frame):
    return Names(_definition(frame.f_code), functools.partial(_resolve, frame.f_locals, frame.f_globals))


def _resolve(local, scope, call):
    """What a call gives: never None when it is one of ours, else what the source of the function says."""
    function = _value(local, scope, call.func)
    if isinstance(call.func, ast.Attribute) and function is None:
        known = hasattr(_kiln.NkiTensor, call.func.attr)  # a view of something
        return NEVER if known else None
    if isinstance(function, _kiln.Op) or (getattr(function, "__module__", None) or "").startswith("kiln."):
        return NEVER
    function = getattr(function, "func", function)
    code = getattr(function, "__code__", None)
    tree = _definition(code) if code is not None else None
    return Names(tree, functools.partial(_resolve, {}, function.__globals__)) if tree is not None else None


def _value(local, scope, node):
    """What a name or an attribute stands for; None when that cannot be told without running code."""
    if isinstance(node, ast.Name):
        return local.get(node.id, scope.get(node.id, getattr(builtins, node.id, None)))
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(local, scope, node.value)
    if isinstance(owner, types.ModuleType):
        return getattr(owner, node.attr, None)
    held = getattr(owner, "__dict__", {})
    return held[node.attr] if node.attr in held else getattr(type(owner), node.attr, None)
