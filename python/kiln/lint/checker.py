"""Runs the checks over files and functions."""

import ast
import inspect
import os
import re
import textwrap

from . import (  # they register their checks
    check_calls, check_containers, check_definitions, check_device_loops, check_expressions, check_old_forms,
    check_purity, check_statements, check_tensors, check_truth,
)  # fmt: skip
from .finding import Finding
from .module import Importer, Module, Unreadable, read_source
from .reach import Reach, find_kernels
from .registry import CHECKS, MODULE_CHECKS, REACHED_CHECKS
from .rules import BY_NAME, NEWEST, PROFILES
from .scope import Scope


def check_source(text, filename="<kernel>", kernels=None, profiles=PROFILES, api_version=NEWEST):
    """Findings in the kernel code of a source text; `kernels` are names of functions, else nki.jit tells."""
    return _Run(profiles, api_version).source(text, str(filename), kernels, None)


def check_file(path, kernels=None, profiles=PROFILES, api_version=NEWEST):
    """Findings in a file and in the files of its package that its kernels use."""
    run = _Run(profiles, api_version)
    try:
        text = read_source(os.fspath(path))
    except Unreadable as problem:
        return [run.whole_file("unreadable", os.fspath(path), str(problem))]
    return run.source(text, os.fspath(path), kernels, Importer())


def check_function(function, profiles=PROFILES, api_version=NEWEST):
    """Findings in a function, wrapped or not, and in what it refers to."""
    plain = inspect.unwrap(getattr(function, "func", function))
    code = getattr(plain, "__code__", None)
    if code is None:
        raise TypeError(f"not a Python function: {function!r}")
    if os.path.isfile(code.co_filename):
        return check_file(code.co_filename, [(plain.__name__, code.co_firstlineno)], profiles, api_version)
    try:
        lines, first = inspect.getsourcelines(plain)
    except (OSError, TypeError):
        run = _Run(profiles, api_version)
        return [run.whole_file("unreadable", code.co_filename, f"the source of `{plain.__name__}` cannot be found")]
    text = "\n" * (first - 1) + textwrap.dedent("".join(lines))
    return check_source(text, code.co_filename, [plain.__name__], profiles, api_version)


_FRONT_END = re.compile(r"^# kiln: profile (\w+)\s*$", re.M)


def _written_for(text, profiles):
    """The front ends to ask: the one that a comment of the file names, unless the caller wants one."""
    named = _FRONT_END.search(text)
    return (named[1],) if named and named[1] in PROFILES and set(profiles) == set(PROFILES) else profiles


class _Run:
    def __init__(self, profiles, api_version):
        unknown = set(profiles) - set(PROFILES)
        if unknown:
            raise ValueError(f"no such profile: {', '.join(sorted(unknown))}; there are {', '.join(PROFILES)}")
        self.profiles = tuple(profiles)
        self.api_version = api_version
        self.by_type = {}
        for name, (types, function) in CHECKS.items():
            if self.active(name):
                for one in types:
                    self.by_type.setdefault(one, []).append((name, function))

    def active(self, name):
        return BY_NAME[name].holds_for(self.profiles, self.api_version)

    def source(self, text, filename, kernels, importer):
        profiles = _written_for(text, self.profiles)
        if profiles != self.profiles:
            return _Run(profiles, self.api_version).source(text, filename, kernels, importer)
        try:
            module = Module(text, filename, importer)
            if importer is not None:
                importer.adopt(module)
            return self.module(module, kernels)
        except SyntaxError as error:
            return [self.syntax_error(error, filename, text)]
        except (RecursionError, MemoryError):
            return [self.whole_file("unreadable", filename, "the code is nested too deeply")]
        except ValueError as error:  # ast.parse: null characters
            return [self.whole_file("unreadable", filename, str(error))]

    def module(self, module, kernels):
        found = []
        for name in kernels or ():
            if not find_kernels(module, [name]):
                plain = name[0] if isinstance(name, tuple) else name
                found.append(self.whole_file("no_kernel", module.filename, kernel=plain))
        reach = Reach(module, kernels)
        for scope in [Scope(unit, reach, self.api_version) for unit in reach.units.values()]:
            found += self.unit(scope)
        homes = [module, *(unit.module for unit in reach.units.values()), *reach.classes.values()]
        runs = [(home, REACHED_CHECKS) for home in dict.fromkeys(homes)] + [(module, MODULE_CHECKS)]
        for home, checks in runs:
            for name, function in checks.items():
                if self.active(name):
                    found += [self.finding(name, home, one) for one in function(home, reach)]
        return sorted(dict.fromkeys(found))

    def unit(self, scope):
        for node in scope.nodes:
            for name, function in self.by_type.get(type(node), ()):
                for one in function(scope, node):
                    yield self.finding(name, scope.module, one)

    def finding(self, name, module, one):
        rule = BY_NAME[name]
        profiles = rule.holds_for(self.profiles, self.api_version)
        line, column, end = span(one.node, module.lines)
        return Finding(
            file=module.filename, line=line, column=column, end_column=end, rule=rule.label,
            message=rule.found.format(**one.words), help=rule.help.format(**one.words),
            severity=rule.severity(profiles), profiles=profiles,
            source=module.lines[line - 1] if 0 < line <= len(module.lines) else "",
        )  # fmt: skip

    def whole_file(self, name, filename, reason="", **words):
        rule = BY_NAME[name]
        return Finding(filename, 0, 1, 2, rule.label, rule.found.format(reason=reason, **words),
                       rule.help.format(**words), "error", self.profiles)  # fmt: skip

    def syntax_error(self, error, filename, text):
        rule = BY_NAME["syntax"]
        lines = text.splitlines()
        line = min(max(error.lineno or 1, 1), max(len(lines), 1))
        column = max(error.offset or 1, 1)
        return Finding(filename, line, column, column + 1, rule.label, rule.found.format(reason=error.msg), rule.help,
                       "error", self.profiles, lines[line - 1] if lines else "")  # fmt: skip


def span(node, lines):
    """(line, column, end column) in characters, on the first line of the node."""
    line, first = node.lineno, node.col_offset
    last = node.end_col_offset if node.end_lineno == line else None
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        last = None
    data = lines[line - 1].encode() if 0 < line <= len(lines) else b""
    last = len(data.rstrip()) if last is None else last
    column = len(data[:first].decode(errors="replace")) + 1
    return line, column, max(column + 1, len(data[:last].decode(errors="replace")) + 1)
