"""Diagnostics with the operand marked: the argument that the diagnostic names, in the line that issued it."""

import ast
import functools
import linecache
import os
import re

from kiln import _kiln

_WORD = re.compile(r"`(?!nl\.|nisa\.|nki\.)([A-Za-z_]\w*)[^`]*`")
_BARE_WORD = re.compile(r"[A-Za-z_]\w*")


def _is_python(file):
    return file.endswith(".py") or file.startswith("<")


@functools.lru_cache(maxsize=64)
def _calls(file):
    """The calls of a file, inner ones first."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return tuple(sorted(found, key=lambda n: (n.end_lineno - n.lineno, n.end_col_offset - n.col_offset)))


def _name_of(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


@functools.cache
def _parameters(function):
    try:
        signature = _kiln.isa_signature(function)
    except KeyError:
        return ()
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    return tuple(re.findall(r"(?:^|, )\*?(\w+)", re.sub(r"[\[(][^\[\]()]*[\])]", "", inside)))


def _argument(call, word):
    """The argument of a call that a word of a diagnostic means: by keyword, by position, or by the tensor's name."""
    for keyword in call.keywords:
        if keyword.arg == word:
            return keyword
    parameters = _parameters(_name_of(call))
    if word in parameters and parameters.index(word) < len(call.args):
        return call.args[parameters.index(word)]
    for argument in [*call.args, *(k.value for k in call.keywords)]:
        if any(isinstance(n, ast.Name) and n.id == word for n in ast.walk(argument)):
            return argument
    return None


def operand(diagnostic):
    """The syntax of the operand that a diagnostic is about, or None."""
    loc = diagnostic.loc
    here = [c for c in _calls(loc.file) if c.lineno <= loc.line <= c.end_lineno]
    opcode = diagnostic.code.partition(".")[0]
    issued = _BARE_WORD.match(diagnostic.context)
    if issued and any(_name_of(c) == issued[0] for c in here):  # a line with several calls
        here = [c for c in here if _name_of(c) == issued[0]]
    here.sort(key=lambda c: _name_of(c) != opcode)
    parameters = {p for call in here for p in _parameters(_name_of(call))}
    named = [w for w in _BARE_WORD.findall(diagnostic.found) if w in parameters]
    for words in ([diagnostic.operand], _WORD.findall(diagnostic.found), named):
        for word in words:
            for call in here:
                argument = _argument(call, word)
                if argument is not None and argument.lineno == loc.line:
                    return argument
    return None


def complete(diagnostic):
    """Gives a diagnostic the text of its line, where only Python has it (a cell of a notebook), and the place of the
    operand in it."""
    loc = diagnostic.loc
    if diagnostic.column > 0 or loc.line < 1 or not _is_python(loc.file):
        return
    line = linecache.getline(loc.file, loc.line).rstrip()
    if not diagnostic.source and not os.path.exists(loc.file):
        diagnostic.source = line
    marked = operand(diagnostic)
    if marked is not None:
        end = marked.end_col_offset
        if marked.end_lineno > marked.lineno:  # the rest of the line
            end = len(line.encode())
        diagnostic.underline(marked.col_offset + 1, end - marked.col_offset)
