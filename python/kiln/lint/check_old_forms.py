"""Forms of older NKI versions, each with what to write today."""

import ast
import difflib

from kiln._old_forms import ISA, LANGUAGE, OLD_KEYWORDS, OLD_MEMBERS, OLD_NAMES

from .kinds import INSTRUCTION
from .module import LEGACY
from .registry import check, hit, module_check
from .rewrites import allocation, import_statement, instruction_call
from .rules import version_key
from .signatures import DST_INSTRUCTIONS, ENUM_KEYWORDS, NEW_NAMES, SIGNATURES
from .syntax import code, parameters, text

NKI_PACKAGES = ("nki.", f"{LANGUAGE}.", f"{ISA}.")
TESTED_RESULTS = ("depends_on", "name")


def old_names(dotted, nodes, parents, rule):
    """Hits of names of the table among nodes."""
    for node in nodes:
        if not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        form = OLD_NAMES.get(dotted(node))
        if form is None or form.rule != rule:
            continue
        call = parents.get(node)
        args = call.args if isinstance(call, ast.Call) and call.func is node else []
        words = {"arg": code(args[0]) if args else "x", "rest": ", ".join(map(code, args[1:]))}
        yield hit(node, text=text(node), what=f"{form.what} in {form.since}", rewrite=form.rewrite.format(**words))


@check("deprecated_name", ast.Attribute, ast.Name)
def deprecated_name(scope, node):
    yield from old_names(scope.dotted, [node], scope.parents, "deprecated_name")


@check("removed_name", ast.Attribute, ast.Name)
def removed_name(scope, node):
    yield from old_names(scope.dotted, [node], scope.parents, "removed_name")


@module_check("deprecated_name", reached=True)
def deprecated_annotation(module, reach):
    """Annotations are no kernel code: a front end does not look at them."""
    for unit in reach.units.values():
        for arg in parameters(unit.function) if unit.module is module else ():
            if arg.annotation is not None:
                yield from old_names(module.dotted, ast.walk(arg.annotation), {}, "deprecated_name")


@module_check("removed_name")
def removed_host_name(module, reach):
    """Entry points that exist no more, in host code."""
    for node in module.all_nodes:
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            name = module.dotted(node, module.imports_near(node)) or ""
            if name.count(".") == 1:  # nki.baremetal
                yield from old_names(lambda _: name, [node], module.parents, "removed_name")


def old_keywords(dotted, node, rule):
    name = dotted(node.func) or ""
    package = name.rpartition(".")[0]
    for keyword in node.keywords:
        for function in (name, f"{package}.*"):
            form = OLD_KEYWORDS.get((function, keyword.arg))
            if form is not None and form.rule == rule and not is_new_dtype(package, name, keyword.arg):
                yield hit(keyword, text=f"{keyword.arg}=", what=f"{form.what} since {form.since}", rewrite=form.rewrite)


def is_new_dtype(package, name, keyword):
    """`dtype=` is right for what is no instruction."""
    return package == ISA and keyword == "dtype" and name.rpartition(".")[2] not in DST_INSTRUCTIONS


@check("removed_keyword", ast.Call)
def removed_keyword(scope, node):
    yield from old_keywords(scope.dotted, node, "removed_keyword")


@check("deprecated_keyword", ast.Call)
def deprecated_keyword(scope, node):
    yield from old_keywords(scope.dotted, node, "deprecated_keyword")


@check("unknown_keyword", ast.Call)
def unknown_keyword(scope, node):
    name = scope.called(node)
    known = SIGNATURES.get(name)
    for keyword in node.keywords if known is not None else ():
        old = {(name, keyword.arg), (name.rpartition(".")[0] + ".*", keyword.arg)} & set(OLD_KEYWORDS)
        if keyword.arg is not None and keyword.arg not in known and not old:
            close = difflib.get_close_matches(keyword.arg, known, 1)
            meant = f"did you mean `{close[0]}=`?" if close else f"it has {', '.join(known) or 'no parameters'}"
            yield hit(keyword, name=text(node.func), keyword=keyword.arg, rewrite=meant)


@check("new_name", ast.Attribute, ast.Name)
def new_name(scope, node):
    name = scope.dotted(node)
    since = NEW_NAMES.get(name)
    if since and version_key(scope.api_version) < version_key(since):
        yield hit(node, text=text(node), since=since)


def jit_keywords(module, rule):
    for node in module.all_nodes:
        if isinstance(node, ast.Call) and module.dotted(node.func, module.imports_near(node)) == "nki.jit":
            yield from old_keywords(lambda _: "nki.jit", node, rule)


@module_check("removed_keyword")
def removed_jit_keyword(module, reach):
    yield from jit_keywords(module, "removed_keyword")


@module_check("deprecated_keyword")
def deprecated_jit_keyword(module, reach):
    yield from jit_keywords(module, "deprecated_keyword")


@module_check("neuronxcc", reached=True)
def neuronxcc(module, reach):
    """Once per import, when kernel code uses a name of it."""
    used = set()
    for unit in reach.units.values():
        if unit.module is module:
            decorators = [name for given in unit.function.decorator_list for name in ast.walk(given)]
            used |= {name.id for name in [*decorators, *module.nodes(unit.function)] if isinstance(name, ast.Name)}
    statements = {}
    for local, node in module.import_nodes.items():
        if local in used and (module.imports[local] + ".").startswith(LEGACY.split(".")[0] + "."):
            statements.setdefault(node, []).append(local)
    for node in statements:
        yield hit(node, text=text(node), rewrite=import_statement(node))
    for unit in reach.units.values():
        for node in module.nodes(unit.function) if unit.module is module else ():
            if isinstance(node, (ast.Import, ast.ImportFrom)) and "neuronxcc" in text(node):
                yield hit(node, text=text(node), rewrite=import_statement(node))


def enum_keywords(scope, node, kind):
    if not (scope.called(node) or "").startswith(NKI_PACKAGES):
        return
    for keyword in node.keywords:
        value = keyword.value
        if keyword.arg in ENUM_KEYWORDS and isinstance(value, ast.Constant) and type(value.value) is kind:
            yield keyword, ENUM_KEYWORDS[keyword.arg], value.value


def string_keywords(scope, node, buffers):
    for keyword, member, value in enum_keywords(scope, node, str):
        if (keyword.arg == "buffer") == buffers:
            named = member.format(value=OLD_MEMBERS.get(value, value))
            yield hit(keyword, text=text(keyword), rewrite=f"{keyword.arg}={named}")


@check("string_buffer", ast.Call)
def string_buffer(scope, node):
    yield from string_keywords(scope, node, buffers=True)


@check("string_mode", ast.Call)
def string_mode(scope, node):
    yield from string_keywords(scope, node, buffers=False)


@check("integer_enum", ast.Call)
def integer_enum(scope, node):
    for keyword, member, _ in enum_keywords(scope, node, int):
        yield hit(keyword, text=text(keyword), rewrite=f"{keyword.arg}={member.format(value='…')}")


def instruction(scope, node):
    """The name of the instruction with a `dst` that a node calls, or None."""
    package, _, name = (scope.called(node) or "").rpartition(".")
    return name if package == ISA and name in DST_INSTRUCTIONS else None


def has_dst(node):
    named = any(keyword.arg in ("dst", None) for keyword in node.keywords)
    return named or any(isinstance(arg, ast.Starred) for arg in node.args)


@check("missing_dst", ast.Call)
def missing_dst(scope, node):
    name = instruction(scope, node)
    if name is None or has_dst(node) or (node.args and not assigned_name(scope, node)):
        return
    if node.args and not is_used_as_tile(scope, node):
        return
    if isinstance(scope.parents.get(node), ast.Assign) and assigned_name(scope, node) is None:
        return  # t[…] = nisa.f(…): tensor_item says it
    dst = assigned_name(scope, node) or "dst"
    yield hit(node, name=text(node.func), allocation=allocation(scope, name, node, dst),
              rewrite=instruction_call(scope, name, node, dst))  # fmt: skip


def assigned_name(scope, node):
    parent = scope.parents.get(node)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    return None


def is_used_as_tile(scope, node):
    """Is the result of an instruction used for something that an instruction handle cannot do?"""
    name = assigned_name(scope, node)
    if name is None or scope.kinds.names.get(name) != INSTRUCTION:
        return False
    for use in scope.nodes:
        if isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load) and tile_use(scope, use):
            return True
    return False


def tile_use(scope, use):
    parent = scope.parents.get(use)
    if isinstance(parent, ast.keyword):
        parent = scope.parents.get(parent)
    if isinstance(parent, ast.Subscript):
        return parent.value is use
    if isinstance(parent, ast.Attribute):
        return parent.attr not in TESTED_RESULTS
    return (scope.called(parent) or "").startswith((f"{LANGUAGE}.", f"{ISA}."))


@check("instruction_result", ast.Call)
def instruction_result(scope, node):
    name = instruction(scope, node)
    if name is None:
        return
    parent = scope.parents.get(node)
    inner = scope.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    nested = isinstance(inner, ast.Call) and (scope.called(inner) or "").startswith((f"{LANGUAGE}.", f"{ISA}."))
    stored = has_dst(node) and is_used_as_tile(scope, node)
    if nested or stored or isinstance(parent, ast.Subscript):
        yield hit(node, name=text(node.func), rewrite=f"{text(node.func)}(dst=tile, …)")


@check("moved_argument", ast.Call)
def moved_argument(scope, node):
    name = instruction(scope, node)
    args = list(map(code, node.args))
    keywords = list(map(code, node.keywords))
    function = code(node.func)
    third = scope.dotted(node.args[2]) if len(args) > 2 else None
    if name == "dma_copy" and (third or "").startswith(f"{ISA}.oob_mode"):
        yield hit(node.args[2], text=args[2], why="the third argument of dma_copy is `priority` since 0.4.0",
                  rewrite=f"oob_mode={args[2]}")  # fmt: skip
    fourth = scope.dotted(node.args[3]) if len(args) > 3 else None
    if name == "dma_transpose" and (fourth or "").startswith(f"{ISA}.dge_mode"):
        yield hit(node.args[3], text=args[3], why="the fourth argument of dma_transpose is `priority` since 0.4.0",
                  rewrite=f"dge_mode={args[3]}")  # fmt: skip
    if name == "affine_select" and len(args) == 6:
        order = [*args[:2], *args[3:], *keywords, f"offset={args[2]}"]
        yield hit(node.args[2], text=args[2], why="`offset` is a keyword since 0.3.0",
                  rewrite=f"{function}({', '.join(order)})")  # fmt: skip
    if name == "dma_compute" and len(args) == 4 and isinstance(node.args[2], (ast.List, ast.Tuple)):
        order = [args[0], args[1], args[3], f"scales={args[2]}", *keywords]
        yield hit(node.args[2], text=args[2], why="`reduce_op` comes before `scales` since 0.3.0",
                  rewrite=f"{function}({', '.join(order)})")  # fmt: skip
