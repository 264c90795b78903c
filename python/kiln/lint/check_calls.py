"""Builtins, `math` and other modules, and the ranges."""

import ast
import builtins
import sys

from kiln._old_forms import LANGUAGE

from .registry import check, hit
from .syntax import code, text

KNOWN_BUILTINS = frozenset(
    "abs bool dict divmod float int isinstance len list max min print range slice str tuple type".split()
)
ALSO_TAKEN = frozenset("staticmethod object".split())  # part of class syntax
BUILTIN_REWRITES = {
    "enumerate": "run an index loop: `for i in range(len(items)):`", "zip": "run an index loop over both",
    "reversed": "run an index loop with `n - 1 - i`", "sum": "add in a loop", "any": "test in a loop",
    "all": "test in a loop", "round": "use `int(x + 0.5)` for positive numbers", "pow": "use `**`",
    "getattr": "write the attribute", "hasattr": "compare the attribute with None", "set": "use a tuple",
    "breakpoint": "remove it before compiling",
    "super": "write the whole class out: it derives from NKIObject itself",
}  # fmt: skip
MATH = frozenset("pi e inf nan ceil floor gcd log2 log10 pow sqrt".split())
MATH_REWRITES = {
    "log": "`math.log2(x) / math.log2(math.e)`", "exp": "`math.pow(math.e, x)`", "prod": "multiply in a loop",
    "log1p": "`math.log2(1 + x) / math.log2(math.e)`", "isqrt": "`int(math.sqrt(x))`", "tau": "`2 * math.pi`",
}  # fmt: skip
HOST_PACKAGES = frozenset("numpy scipy torch torch_neuronx torch_xla jax ml_dtypes pandas tensorflow einops".split())
# Calls of NumPy that kernel code can do without: {arg} is the first argument.
NUMPY_REWRITES = {
    **{f"{kind}{bits}": "write `{arg}`: a number of Python is enough" for kind in ("float", "int", "uint")
       for bits in (8, 16, 32, 64)},
    **{name: f"write `math.{name}({{arg}})`" for name in ("ceil", "floor", "log2", "log10", "sqrt")},
    **dict.fromkeys(("identity", "eye"),
                    "write `nl.shared_identity_matrix({arg}, dtype=nl.float32)`, which is in SBUF"),
    "dtype": "write a dtype of nl, such as `nl.float32`",
}  # fmt: skip
KERNEL_MODULES = frozenset("math typing typing_extensions enum dataclasses abc __future__".split())
TENSOR_TYPES = (f"{LANGUAGE}.ndarray", f"{LANGUAGE}.tensor", "nki.NkiTensor", "nki.tensor.NkiTensor")
ISINSTANCE_BUILTINS = frozenset("bool int float str tuple list dict slice".split())
RANGE_HINTS = tuple(f"{LANGUAGE}.{name}" for name in ("affine_range", "sequential_range", "static_range"))


@check("builtin", ast.Name)
def builtin(scope, node):
    name = scope.builtin(node)
    if name is None or not isinstance(node.ctx, ast.Load) or name in KNOWN_BUILTINS | ALSO_TAKEN:
        return
    value = getattr(builtins, name, None)
    exception = isinstance(value, type) and issubclass(value, BaseException)
    if callable(value) and not exception:
        yield hit(node, name=name, rewrite=BUILTIN_REWRITES.get(name, "move it to host code and pass the result"))


def is_loop_header(scope, node):
    parent = scope.parents.get(node)
    return isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node


@check("range_value", ast.Call)
def range_value(scope, node):
    named = scope.builtin_called(node) == "range" or scope.called(node) == f"{LANGUAGE}.range"
    if named and not is_loop_header(scope, node):
        yield hit(node, text=text(node), rewrite="append the numbers to a list in a loop, or keep the bounds")


@check("range_hint", ast.Call)
def range_hint(scope, node):
    if scope.called(node) in RANGE_HINTS and not is_loop_header(scope, node):
        yield hit(node, text=text(node))


@check("min_max", ast.Call)
def min_max(scope, node):
    name = scope.builtin_called(node)
    if name not in ("min", "max") or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    if node.keywords:
        yield hit(node, text=text(node), rewrite="search in a loop")
    elif len(node.args) > 2:
        nested = code(node.args[-1])
        for arg in reversed(node.args[:-1]):
            nested = f"{name}({code(arg)}, {nested})"
        yield hit(node, text=text(node), rewrite=f"write `{nested}`")


@check("isinstance_types", ast.Call)
def isinstance_types(scope, node):
    if scope.builtin_called(node) != "isinstance" or len(node.args) != 2:
        return
    value, given = node.args
    types = given.elts if isinstance(given, ast.Tuple) else union(given)
    if types:
        either = " or ".join(f"isinstance({code(value)}, {code(one)})" for one in types)
        yield hit(node, text=text(node), rewrite=f"write `{either}`")
    elif scope.dotted(given) in TENSOR_TYPES:
        yield hit(node, text=text(node), rewrite="ask for what else it may be: `is None`, or a number with isinstance")
    elif (scope.builtin(given) and given.id not in ISINSTANCE_BUILTINS) or is_host(scope.dotted(given)):
        yield hit(node, text=text(node), rewrite="compare an attribute of the value instead")


def union(node):
    """The types of `A | B`."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)):
        return []
    return [*(union(node.left) or [node.left]), node.right]


@check("math_function", ast.Attribute, ast.Name)
def math_function(scope, node):
    package, _, name = (scope.dotted(node) or "").rpartition(".")
    if package == "math" and name not in MATH:
        yield hit(node, name=name, rewrite=MATH_REWRITES.get(name, "write it with those that exist"))


def is_host(name):
    top = (name or "").split(".")[0]
    return top in HOST_PACKAGES or (top in sys.stdlib_module_names and top not in KERNEL_MODULES)


@check("host_module", ast.Call, ast.Attribute)
def host_module(scope, node):
    name = scope.called(node) if isinstance(node, ast.Call) else scope.dotted(node)
    if isinstance(node, ast.Attribute) and name != "os.environ":  # a number or a string of a host module is taken
        return
    if is_host(name) and not (isinstance(node, ast.Call) and (name or "").startswith("os.environ.")):
        yield hit(node, text=text(node), module=name.split(".")[0], rewrite=host_rewrite(name, node))


def host_rewrite(name, node):
    package, _, function = name.rpartition(".")
    rewrite = NUMPY_REWRITES.get(function) if package == "numpy" and isinstance(node, ast.Call) and node.args else None
    if rewrite is None:
        return "call it in host code and pass the result as an argument"
    return rewrite.replace("{arg}", code(node.args[0]))
