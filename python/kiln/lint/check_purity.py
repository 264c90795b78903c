"""What makes a cached kernel stale, and what kernels are called with."""

import ast

from .check_calls import is_host
from .reach import ENTRY_CALLS
from .registry import check, hit, module_check
from .syntax import code, text

STATEFUL = ("os.environ", "os.getenv", "random", "numpy.random", "secrets", "time", "uuid", "os.urandom", "datetime")
NUMPY_DTYPES = {
    "float32": "nl.float32", "float16": "nl.float16", "int8": "nl.int8", "int16": "nl.int16", "int32": "nl.int32",
    "uint8": "nl.uint8", "uint16": "nl.uint16", "uint32": "nl.uint32", "bool_": "nl.bool_", "bool": "nl.bool_",
    "float64": "nl.float32", "int64": "nl.int32", "uint64": "nl.uint32", "single": "nl.float32", "half": "nl.float16",
}  # fmt: skip
DTYPE_PACKAGES = ("numpy", "ml_dtypes", "jax.numpy")
ML_DTYPES = {
    "bfloat16": "nl.bfloat16", "float8_e5m2": "nl.float8_e5m2", "float8_e4m3": "nl.float8_e4m3",
    "float8_e4m3fn": "nl.float8_e4m3fn", "float8_e8m0fnu": "nl.float8_e8m0fnu",
}  # fmt: skip


@check("mutable_global", ast.Name)
def mutable_global(scope, node):
    if node.id in scope.locals or node.id in scope.imports or not isinstance(node.ctx, ast.Load):
        return
    line = scope.module.changed_variables().get(node.id)
    if line is not None:
        yield hit(node, name=node.id, line=line)


@check("outside_state", ast.Call, ast.Attribute)
def outside_state(scope, node):
    name = scope.called(node) if isinstance(node, ast.Call) else scope.dotted(node)
    if isinstance(node, ast.Attribute) and name != "os.environ":
        return
    if name and is_host(name) and any(name == one or name.startswith(one + ".") for one in STATEFUL):
        if name == "os.environ" or not name.startswith("os.environ"):  # os.environ.get(…) is found at os.environ
            yield hit(node, text=text(node))


def nki_dtype(name):
    """The NKI dtype for a NumPy one, by full name."""
    package, _, last = (name or "").rpartition(".")
    if package not in DTYPE_PACKAGES:
        return None
    return NUMPY_DTYPES.get(last) or ML_DTYPES.get(last)


def is_host_call(scope, node):
    """Whether a node calls a host library, which is refused as a whole."""
    return isinstance(node, ast.Call) and is_host(scope.called(node))


@check("numpy_dtype", ast.Attribute, ast.Name)
def numpy_dtype(scope, node):
    rewrite = nki_dtype(scope.dotted(node))
    parent = scope.parents.get(node)
    while isinstance(parent, (ast.Tuple, ast.List, ast.keyword)):
        parent = scope.parents.get(parent)
    called = isinstance(parent, ast.Call) and (parent.func is node or is_host_call(scope, parent))
    if rewrite and not called and not isinstance(parent, ast.Attribute):
        yield hit(node, text=text(node), rewrite=rewrite)


@module_check("list_argument")
def list_argument(module, reach):
    for name, call in kernel_calls(module, reach):
        for arg in passed(call):
            if isinstance(arg, (ast.List, ast.ListComp)):
                inner = code(arg)[1:-1]
                comma = "," if isinstance(arg, ast.List) and len(arg.elts) == 1 else ""
                rewrite = f"tuple({code(arg)})" if isinstance(arg, ast.ListComp) else f"({inner}{comma})"
                yield hit(arg, kernel=name, rewrite=rewrite)


@module_check("numpy_dtype")
def numpy_dtype_argument(module, reach):
    for _, call in kernel_calls(module, reach):
        for arg in passed(call):
            rewrite = nki_dtype(module.dotted(arg, module.imports_near(call)))
            if rewrite:
                yield hit(arg, text=text(arg), rewrite=rewrite)


def passed(call):
    """The arguments of a call, and what stands in the tuples and dicts among them."""
    stack = [*call.args, *(keyword.value for keyword in call.keywords)]
    while stack:
        node = stack.pop(0)
        if isinstance(node, ast.Tuple):
            stack = [*node.elts, *stack]
        elif isinstance(node, ast.Dict):
            stack = [*node.values, *stack]
        else:
            yield node


def kernel_calls(module, reach):
    """(kernel, call) in host code: `kernel(…)`, `kernel[2](…)`, `nki.simulate(kernel)(…)`."""
    kernels = {unit.function.name for unit in reach.units.values() if unit.entry and unit.module is module}
    inside = {id(node) for unit in reach.units.values() if unit.module is module for node in ast.walk(unit.function)}
    for node in module.all_nodes:
        if not isinstance(node, ast.Call) or id(node) in inside:
            continue
        called = node.func
        while isinstance(called, (ast.Subscript, ast.Call)):
            if isinstance(called, ast.Call):
                name = module.dotted(called.func, module.imports_near(node))
                called = called.args[0] if called.args and name in ENTRY_CALLS else None
            else:
                called = called.value
        if isinstance(called, ast.Name) and called.id in kernels:
            yield called.id, node
