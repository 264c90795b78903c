"""Conditions of source code: which expressions are asked for their truth, and whether they may be None.

`if bias:` asks whether there is a bias when it may be None; of what is never None it can only mean the values. None is
found where the source says it: a default, an annotation, an assignment, a `return`.
"""

import ast

NEVER, UNKNOWN, OPTIONAL = range(3)  # whether an expression may be None: no, nobody knows, the source says so
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEP = 20  # assignments and calls that are followed


def asked(node):
    """The expressions whose truth a node asks for: if, while, assert, not, and, or, bool(), comprehensions."""
    if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)):
        return leaves(node.test)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return leaves(node.operand)
    if isinstance(node, ast.BoolOp):
        return [leaf for value in node.values[:-1] for leaf in leaves(value)]
    if isinstance(node, ast.comprehension):
        return [leaf for test in node.ifs for leaf in leaves(test)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool" and node.args:
        return leaves(node.args[0])
    return []


def leaves(test):
    """The expressions that decide a condition. `not`, and what stands before the last part of `and` and `or`, are
    conditions of their own."""
    if isinstance(test, ast.BoolOp):
        return leaves(test.values[-1])
    if isinstance(test, ast.IfExp):
        return [*leaves(test.body), *leaves(test.orelse)]
    if isinstance(test, ast.NamedExpr):
        return leaves(test.value)
    return [] if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else [test]


def is_part(node):
    """Whether an expression takes a part of a tensor, t[0, 1] or t[0:2], and not an element of a list."""
    if not isinstance(node, ast.Subscript):
        return False
    key = node.slice
    return isinstance(key, (ast.Slice, ast.Tuple)) or (isinstance(key, ast.Constant) and key.value is Ellipsis)


class Names:
    """What the names of a function are bound to, as far as None is concerned. resolve(call) tells what a call gives:
    NEVER for what is never None, the Names of a function whose source is known, or None."""

    def __init__(self, function, resolve):
        self.function, self._resolve = function, resolve
        self._bindings = bindings(function) if function is not None else {}

    def may_be_none(self, node, seen=()):
        """NEVER, UNKNOWN or OPTIONAL."""
        if len(seen) > _DEEP:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return OPTIONAL if node.value is None else NEVER
        if isinstance(node, ast.IfExp):
            return max(self.may_be_none(node.body, seen), self.may_be_none(node.orelse, seen))
        if isinstance(node, ast.BoolOp):
            parts = node.values[-1:] if isinstance(node.op, ast.Or) else node.values
            return max(self.may_be_none(part, seen) for part in parts)
        if isinstance(node, ast.NamedExpr):
            return self.may_be_none(node.value, seen)
        if isinstance(node, ast.Name):
            return self._name(node.id, seen)
        if isinstance(node, ast.Call):
            called = self._resolve(node)
            return called.returned(seen) if isinstance(called, Names) else UNKNOWN if called is None else called
        return NEVER if is_part(node) else UNKNOWN

    def _name(self, name, seen):
        key = (self.function, name)
        if key in seen:
            return NEVER  # t = f(t): the other assignments decide
        seen = (*seen, key)
        found = self._bindings.get(name, [UNKNOWN])
        return max(one if isinstance(one, int) else self.may_be_none(one, seen) for one in found)

    def returned(self, seen=()):
        """Whether the function may return None."""
        if self.function in seen:
            return NEVER  # recursion: the other results decide
        results = [node.value for node in own_nodes(self.function) if isinstance(node, ast.Return)]
        if not results or any(value is None for value in results) or _falls_through(self.function.body):
            return OPTIONAL
        return max(self.may_be_none(value, (*seen, self.function)) for value in results)


def own_nodes(function):
    """The nodes of a function without those of functions inside it."""
    stack = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))


def _falls_through(body):
    """Whether the end of a body may be reached."""
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return False
    if isinstance(last, ast.If):
        return not last.orelse or _falls_through(last.body) or _falls_through(last.orelse)
    if isinstance(last, ast.With):
        return _falls_through(last.body)
    return True


def bindings(function):
    """name -> the expressions that are bound to it in a function, or NEVER, UNKNOWN, OPTIONAL for one that is not in
    sight."""
    found = {name: [OPTIONAL if optional else UNKNOWN] for name, optional in parameters(function).items()}
    for node in own_nodes(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _bind(found, target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            _bind(found, node.target, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            _bind(found, node.target, None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            _bind(found, node.optional_vars, None)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                found.setdefault(name, []).append(UNKNOWN)
    return found


def parameters(function):
    """name -> whether the signature says that it may be None: its default is, or its annotation says so."""
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(places) - len(arguments.defaults)), *arguments.defaults]
    pairs = [*zip(places, defaults), *zip(arguments.kwonlyargs, arguments.kw_defaults)]
    pairs += [(star, None) for star in (arguments.vararg, arguments.kwarg) if star is not None]
    return {place.arg: _is_none(default) or _says_none(place.annotation) for place, default in pairs}


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _says_none(annotation):
    text = ast.unparse(annotation) if annotation is not None else ""
    return "Optional" in text or "None" in text


def _bind(found, target, value):
    if isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(UNKNOWN if value is None else value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for place, part in enumerate(target.elts):
            _bind(found, part, value.elts[place] if same else None)
    elif isinstance(target, ast.Starred):
        _bind(found, target.value, None)
