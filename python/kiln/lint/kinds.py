"""What a name or an expression surely is: a tensor, a register, a list, …

A name has a kind only when everything that is bound to it in the function has that kind, so that a finding that rests
on a kind is no guess.
"""

import ast

from kiln._old_forms import COLLECTIVES, ISA, LANGUAGE, METHODS

from .signatures import TENSOR_ATTRIBUTES, TENSOR_VIEWS
from .syntax import FUNCTIONS, parameters, target_names

TENSOR, REGISTER, INSTRUCTION = "tensor", "register", "instruction"
LIST, DICT, STR, TUPLE = "list", "dict", "str", "tuple"

# Functions of nki.language that return no tile.
NO_TILE = frozenset(
    "affine_range sequential_range static_range dynamic_range range fori_loop while_loop no_reorder ds store "
    "program_id num_programs program_ndim is_hbm is_on_chip is_psum is_sbuf device_print random_seed par_dim nc "
    "spmd_dim arange mgrid NKIObject MemoryRegion".split()
)
# Functions of nki.isa that write no dst, or whose result is a value.
NO_INSTRUCTION = frozenset("get_nc_version get_nc_sub_version register_alloc".split())
REGISTER_SOURCES = frozenset([
    f"{ISA}.register_alloc", f"{COLLECTIVES}.rank_id",
    f"{COLLECTIVES}.collective_permute_implicit_current_processing_rank_id",
])  # fmt: skip
TENSOR_ANNOTATIONS = frozenset([f"{LANGUAGE}.ndarray", f"{LANGUAGE}.NkiTensor", f"{LANGUAGE}.tensor"])
TENSOR_EVIDENCE = frozenset("dtype shape buffer ap".split())
BUILTIN_KINDS = {"list": LIST, "sorted": LIST, "dict": DICT, "str": STR, "tuple": TUPLE}
DYNAMIC_RANGE = f"{LANGUAGE}.dynamic_range"


class Kinds:
    """The kinds of the names of a function; `dotted` resolves imported names."""

    def __init__(self, unit, local_names, dotted):
        self.dotted = dotted
        self.locals = local_names
        self.module = unit.module
        self.names = {}
        bindings = self._bindings(unit)
        for _ in range(3):  # a = nl.load(x); b = a; c = b
            self.names = {
                name: kind
                for name, values in bindings.items()
                if (kind := self._common([value for value in values if not is_view_of(value, name)]))
            }

        self._tiles = {
            name
            for name, values in bindings.items()
            if all(self._is_tile_call(value) for value in values if not is_view_of(value, name))
        }

    def is_tile(self, node):
        """Is it surely a tensor of nki, not an object of the author's with the same methods?"""
        return node.id in self._tiles if isinstance(node, ast.Name) else self._is_tile_call(node)

    def _is_tile_call(self, node):
        return isinstance(node, ast.Call) and (self.dotted(node.func) or "").startswith(f"{LANGUAGE}.")

    def _common(self, values):
        kinds = {value if isinstance(value, str) else self.of(value) for value in values if not is_none(value)}
        return kinds.pop() if len(kinds) == 1 else None

    def _bindings(self, unit):
        """name -> expressions (or kinds) that are bound to it."""
        found = {}
        nodes = unit.module.nodes(unit.function)
        self.attributes = {}  # name -> attributes that are read off it
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                self.attributes.setdefault(node.value.id, set()).add(node.attr)
        for function in [node for node in nodes if isinstance(node, (*FUNCTIONS, ast.Lambda))]:
            for arg in parameters(function):
                found.setdefault(arg.arg, []).append(self._parameter(unit, function, arg))
        for node in nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    bind(found, target, node.value)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                bind(found, node.target, node.value)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                dynamic = isinstance(node.iter, ast.Call) and self.dotted(node.iter.func) == DYNAMIC_RANGE
                for name in target_names(node.target):
                    found.setdefault(name, []).append(REGISTER if dynamic else "")
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                bind(found, node.optional_vars, None)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                for name in node.names:
                    found.setdefault(name, []).append("")
        return found

    def _parameter(self, unit, function, arg):
        if not unit.entry or function is not unit.function:  # helpers get views of their own kinds as "tensors"
            return ""
        seen = self.attributes.get(arg.arg, set())
        if not seen <= TENSOR_ATTRIBUTES | set(METHODS):
            return ""  # an object of the author's that looks like a tensor
        if arg.annotation is not None:
            return TENSOR if self.dotted(arg.annotation) in TENSOR_ANNOTATIONS else ""
        return TENSOR if seen & TENSOR_EVIDENCE else ""

    def of(self, node):
        """The kind of an expression, or None."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id) if node.id in self.locals else self._of_global(node.id)
        if isinstance(node, (ast.List, ast.ListComp)):
            return LIST
        if isinstance(node, (ast.Dict, ast.DictComp)):
            return DICT
        if isinstance(node, ast.Tuple):
            return TUPLE
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return STR
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Subscript):
            return TENSOR if self.of(node.value) == TENSOR else None
        if isinstance(node, ast.BinOp):
            return self._of_operation(node)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self.of(node.operand)
        if isinstance(node, ast.IfExp):
            return self._common([node.body, node.orelse])
        return None

    def _of_global(self, name):
        values = self.module.values.get(name, [])
        if len(values) == 1 and name not in self.module.imports:
            if isinstance(values[0], (ast.List, ast.Dict, ast.Tuple, ast.Constant, ast.JoinedStr)):
                return self.of(values[0])
        return None

    def _of_call(self, node):
        function = node.func
        if isinstance(function, ast.Name) and function.id in BUILTIN_KINDS and self.is_builtin(function.id):
            return BUILTIN_KINDS[function.id]
        name = self.dotted(function)
        if name in REGISTER_SOURCES:
            return REGISTER
        package, _, last = (name or "").rpartition(".")
        if package == LANGUAGE:
            return None if last in NO_TILE else TENSOR
        if package == ISA and last.islower():
            return None if last in NO_INSTRUCTION else INSTRUCTION
        if isinstance(function, ast.Attribute) and self.of(function.value) == TENSOR and function.attr in TENSOR_VIEWS:
            return TENSOR
        return None

    def _of_operation(self, node):
        left, right = self.of(node.left), self.of(node.right)
        if TENSOR in (left, right):
            return TENSOR
        if REGISTER in (left, right):
            return REGISTER
        return left if left == right and isinstance(node.op, ast.Add) else None

    def is_builtin(self, name):
        module = self.module
        return not (name in self.locals or name in module.imports or name in module.functions
                    or name in module.classes or name in module.values)  # fmt: skip


def bind(found, target, value):
    if isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(value if value is not None else "")
    elif isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for place, part in enumerate(target.elts):
            bind(found, part, value.elts[place] if same else None)
    elif isinstance(target, ast.Starred):
        bind(found, target.value, None)


def is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def is_view_of(node, name):
    """`x = x[…]` and `x = x.reshape(…)` leave the kind of x as it is."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Attribute) and node.func.attr in TENSOR_VIEWS):
                return False
            node = node.func.value
        else:
            node = node.value
        if isinstance(node, ast.Name) and node.id == name:
            return True
    return False
