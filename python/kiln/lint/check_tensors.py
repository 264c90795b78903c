"""What tensors are asked to do: operators, items, attributes, indices, and where outputs live."""

import ast

from kiln._old_forms import ISA, LANGUAGE, METHODS

from .kinds import TENSOR, is_none
from .registry import check, hit
from .rewrites import argument, instruction_call
from .signatures import TENSOR_ATTRIBUTES
from .syntax import FUNCTIONS, code, text

FUNCTION_OF_OPERATOR = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Pow: "power", ast.Mod: "mod",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.LShift: "left_shift",
    ast.RShift: "right_shift", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.USub: "negative", ast.Invert: "invert",
}  # fmt: skip
OLD_ATTRIBUTES = frozenset("dtype shape address offset pattern reshape ap buffer view name address_name".split())
MATMULS = (f"{ISA}.nc_matmul", f"{LANGUAGE}.matmul")
PRIVATE_BUFFERS = (f"{LANGUAGE}.hbm", f"{LANGUAGE}.private_hbm")


@check("tensor_item", ast.Assign)
def tensor_item(scope, node):
    for target in node.targets:
        if isinstance(target, ast.Subscript) and scope.kind(target.value) == TENSOR:
            yield hit(target, text=text(target), rewrite=item_rewrite(scope, code(target), node.value))


def item_rewrite(scope, place, value):
    package, _, name = (scope.called(value) or "").rpartition(".")
    if package == ISA:
        return f"write `{instruction_call(scope, name, value, place)}`"
    if package == LANGUAGE and name == "load" and len(value.args) == 1:
        return f"write `nisa.dma_copy(dst={place}, src={code(value.args[0])})`"
    if package == LANGUAGE:  # its result is on chip
        source = value.args[0] if name == "copy" and value.args else value
        return f"write `nisa.tensor_copy(dst={place}, src={code(source)})`"
    if isinstance(value, ast.Constant):
        return f"write `nisa.memset(dst={place}, value={code(value)})`"
    given = f"dst={place}, src={code(value)}"
    return f"write `nisa.tensor_copy({given})` on chip, `nisa.dma_copy({given})` to or from HBM"


@check("tensor_arithmetic", ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)
def tensor_arithmetic(scope, node):
    if isinstance(node, ast.AugAssign):
        yield from augmented(scope, node)
        return
    parent = scope.parents.get(node)
    if isinstance(parent, (ast.BinOp, ast.UnaryOp)) and scope.kind(parent) == TENSOR:
        return  # the whole expression is shown once
    if isinstance(node, ast.Compare):
        yield from compared(scope, node)
    elif isinstance(node, ast.UnaryOp):
        if not isinstance(node.op, ast.Not) and scope.kind(node.operand) == TENSOR:
            yield hit(node, text=text(node), rewrite=f"write `{as_call(scope, node)}`")
    elif scope.kind(node) == TENSOR and not isinstance(node.op, ast.MatMult):
        yield hit(node, text=text(node), rewrite=f"write `{as_call(scope, node)}`")


def augmented(scope, node):
    kinds = (scope.kind(node.target), scope.kind(node.value))
    if TENSOR not in kinds and scope.called(node.value) not in MATMULS:
        return
    if scope.called(node.value) in MATMULS:
        yield hit(node, text=text(node), rewrite=matmul_rewrite(scope, code(node.target), node.value))
        return
    function = FUNCTION_OF_OPERATOR.get(type(node.op), "…")
    target = code(node.target)
    rewrite = f"nisa.tensor_tensor(dst={target}, data1={target}, data2={code(node.value)}, op=nl.{function})"
    yield hit(node, text=text(node), rewrite=f"write `{rewrite}`")


def matmul_rewrite(scope, dst, call):
    """`dst += a product` as one instruction that adds into dst. nl.matmul takes x with the contraction in its last
    dimension unless transpose_x says otherwise; stationary has it in its first."""
    of_isa = scope.called(call) == MATMULS[0]
    x = argument(call, 0, "stationary" if of_isa else "x")
    y = argument(call, 1, "moving" if of_isa else "y")
    flag = argument(call, 2, "transpose_x")
    turned = of_isa or (isinstance(flag, ast.Constant) and flag.value is True)
    left = "…" if x is None else code(x) if turned else f"{x.id}_T" if isinstance(x, ast.Name) else "x_T"
    right = "…" if y is None else code(y)
    told = f"write `nisa.nc_matmul(dst={dst}, stationary={left}, moving={right}, accumulate=True)`"
    return told if turned or x is None else f"{told}, with the transpose of `{code(x)}` in `{left}` (nisa.nc_transpose)"


def compared(scope, node):
    operands = [node.left, *node.comparators]
    if any(is_none(operand) for operand in operands):
        return
    signs = tuple(FUNCTION_OF_OPERATOR)
    if all(isinstance(op, signs) for op in node.ops) and any(scope.kind(operand) == TENSOR for operand in operands):
        yield hit(node, text=text(node), rewrite=f"write `{as_call(scope, node)}`")


def as_call(scope, node):
    """The expression with nl functions in the place of operators."""
    if isinstance(node, ast.UnaryOp) and scope.kind(node) == TENSOR:
        name = FUNCTION_OF_OPERATOR.get(type(node.op))
        return f"nl.{name}({as_call(scope, node.operand)})" if name else as_call(scope, node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in FUNCTION_OF_OPERATOR:
        name = FUNCTION_OF_OPERATOR[type(node.ops[0])]
        return f"nl.{name}({as_call(scope, node.left)}, {as_call(scope, node.comparators[0])})"
    if isinstance(node, ast.BinOp) and scope.kind(node) == TENSOR:
        left, right = as_call(scope, node.left), as_call(scope, node.right)
        if isinstance(node.op, ast.Div):
            inverse = f"nl.reciprocal({right})" if scope.kind(node.right) == TENSOR else f"1.0 / {right}"
            return f"nl.multiply({left}, {inverse})"
        return f"nl.{FUNCTION_OF_OPERATOR.get(type(node.op), '…')}({left}, {right})"
    return code(node)


@check("tensor_attribute", ast.Attribute)
def tensor_attribute(scope, node):
    if scope.kind(node.value) != TENSOR or node.attr in TENSOR_ATTRIBUTES:
        return
    if node.attr in METHODS or scope.kinds.is_tile(node.value):
        rewrite = METHODS.get(node.attr, "see the attributes and views of nki.language.NkiTensor")
        yield hit(node, name=node.attr, rewrite=rewrite.format(tensor=text(node.value)))


@check("new_attribute", ast.Attribute)
def new_attribute(scope, node):
    if scope.kind(node.value) == TENSOR and node.attr in TENSOR_ATTRIBUTES - OLD_ATTRIBUTES:
        yield hit(node, name=node.attr)


def index_parts(scope, node):
    if scope.kind(node.value) != TENSOR:
        return []
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


@check("tensor_index", ast.Subscript)
def tensor_index(scope, node):
    for part in index_parts(scope, node):
        if is_none(part):
            yield hit(part, text="None", rewrite="write the new axis with `.expand_dim(dim)` or `.reshape(...)`")
        elif isinstance(part, (ast.Tuple, ast.List)):
            yield hit(part, text=text(part), rewrite="gather with `.ap(..., vector_offset=…)` or with one slice each")


@check("negative_index", ast.Subscript)
def negative_index(scope, node):
    for part in index_parts(scope, node):
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub) and isinstance(part.operand, ast.Constant):
            yield hit(part, text=text(part))


@check("output_buffer", ast.Return)
def output_buffer(scope, node):
    if not scope.unit.entry or scope.function in scope.reach.called or node.value is None:
        return  # a kernel that other kernels call may return what it likes
    if next(outer for outer in scope.ancestors(node) if isinstance(outer, FUNCTIONS)) is not scope.function:
        return
    for part in node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [node.value]:
        buffer = private_buffer(scope, part.id) if isinstance(part, ast.Name) else None
        if buffer:
            yield hit(part, name=part.id, buffer=buffer)


def private_buffer(scope, name):
    """The buffer of a tensor that is allocated once, in private HBM. What is returned on chip may be for a kernel of
    another file that calls this one."""
    made = [node.value for node in scope.nodes if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name) and target.id == name]  # fmt: skip
    if len(made) != 1 or not isinstance(made[0], ast.Call) or scope.kind(made[0]) != TENSOR:
        return None
    given = [keyword.value for keyword in made[0].keywords if keyword.arg == "buffer"] or made[0].args[2:3]
    return text(given[0]) if given and scope.dotted(given[0]) in PRIVATE_BUFFERS else None
