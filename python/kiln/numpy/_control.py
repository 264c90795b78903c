"""Loops and branches of the program: a body is traced once, as a program of its own. What it reads of the function
around it goes in beside its state."""

import dataclasses

import numpy as np

from kiln.numpy import _arguments, _dtypes
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, node_of
from kiln.numpy._dtypes import BOOL, INT32
from kiln.numpy._rules import ARGUMENT, refuse
from kiln.numpy._trace import Node, Trace, active


class Leaves:
    """The arrays and numbers of a structure, and the way back."""

    def __init__(self, structure):
        self.values = []
        self.structure = self._flat(structure)

    def _flat(self, x):
        if isinstance(x, (Array, np.ndarray, np.generic, int, float)):
            self.values.append(x)
            return _arguments.Leaf(len(self.values) - 1)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(self._flat, x))
        if type(x) in (tuple, list):
            return type(x)(map(self._flat, x))
        if isinstance(x, dict):
            return {k: self._flat(v) for k, v in x.items()}
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            return dataclasses.replace(x, **{f.name: self._flat(getattr(x, f.name)) for f in dataclasses.fields(x)})
        if x is None:
            return None
        return refuse(ARGUMENT, f"state of a loop that holds a {type(x).__name__}", "carry arrays and numbers alone",
                      kind=TypeError)

    def back(self, values):
        return _arguments.unflatten(self.structure, list(values))


def _same_structure(a, b, what):
    if repr_of(a.structure) != repr_of(b.structure):
        refuse(ARGUMENT, f"{what} return another structure than they get", "return what was passed in", kind=TypeError)


def repr_of(x):
    if isinstance(x, _arguments.Leaf):
        return "."
    if isinstance(x, (tuple, list)):
        return f"{type(x).__name__}({','.join(map(repr_of, x))})"
    if isinstance(x, dict):
        return f"dict({','.join(f'{k}:{repr_of(v)}' for k, v in x.items())})"
    if dataclasses.is_dataclass(x):
        return f"{type(x).__name__}({','.join(repr_of(getattr(x, f.name)) for f in dataclasses.fields(x))})"
    return repr(x)


class BodyTrace(Trace):
    """A body as it is traced. `outer`: nodes of the program around it that it reads, in order."""

    def __init__(self, name, types, captured=()):
        super().__init__(name)
        self.inside = [self.input(f"s{i}", dtype, shape) for i, (dtype, shape) in enumerate(types)]
        self.outer = []
        self._inner = {}  # value of the outer program -> node here
        for node in captured:
            self.capture(node)

    def capture(self, node):
        around = self.around
        if node.trace is not around:
            if around is None or not around.is_inside(node.trace):
                refuse(ARGUMENT, "a value of the body of a loop or branch, used outside of it",
                       "return it from the body", kind=ValueError)
            node = around.capture(node)
        if node.value not in self._inner:
            self._inner[node.value] = self.input(f"r{len(self.outer)}", node.dtype, node.shape)
            self.outer.append(node)
        return self._inner[node.value]


def _traced(name, types, captured, function):
    """(the trace, its results as nodes with their structure) of a body of nodes."""
    trace = BodyTrace(name, types, captured)
    with trace:
        leaves = Leaves(function(*(_cell(n) for n in trace.inside)))
        nodes = [node_of(v) for v in leaves.values]
        nodes = [trace.own(n) for n in nodes]
        for i, node in enumerate(nodes):
            trace.graph.output(f"o{i}", node.value)
    return trace, nodes, leaves


def _cell(node):
    made = Array(node)
    made._is_cell = True
    return made


def _like(arrays, given):
    """Arrays of a body: those that stand for numbers are numbers, too."""
    for array, value in zip(arrays, given):
        is_array = value._is_cell or value.shape if type(value) is Array else isinstance(value, np.ndarray)
        array._is_cell = bool(is_array)
    return arrays


def _types(nodes):
    return [(n.dtype, n.shape) for n in nodes]


def _add(op, operands, bodies, **attributes):
    """The results of an op with bodies."""
    trace = active()
    trace.at_user_line()
    values = [trace.own(n).value for n in operands]
    value = trace.graph.add(op, *values, bodies=[b.graph for b in bodies], **attributes)
    outputs = bodies[-1].results
    made = [Node(value, *outputs[0], trace)]
    return made + [trace.push("result", (made[0],), i) for i in range(1, len(outputs))]


def _start(leaves):
    """Nodes of the first state."""
    return [node_of(v, None if isinstance(v, Array) else _dtypes.narrow(np.asarray(v).dtype)) for v in leaves.values]


def _settled(leaves, start, body):
    """The first state in the dtypes that a pass gives it back in: Python numbers take them."""
    trace, nodes, after = body(_types(start))
    _same_structure(leaves, after, "bodies")
    made = []
    for given, before, node in zip(leaves.values, start, nodes):
        if node.shape != before.shape:
            refuse(ARGUMENT, f"state of shape {before.shape} that is {node.shape} after a pass", "keep its shape",
                   kind=ValueError)
        if node.dtype != before.dtype and not isinstance(given, (int, float)):
            refuse(ARGUMENT, f"state in {before.dtype} that is {node.dtype} after a pass", "cast it in the body",
                   kind=TypeError)
        made.append(ops.cast(before, node.dtype))
    return made


def for_loop(count, body, carry):
    """carry = body(i, carry), count times."""
    leaves = Leaves(carry)
    if not leaves.values:
        refuse(ARGUMENT, "a loop without state", "carry an array")
    start = _start(leaves)

    def traced(types, captured=()):
        return _traced("body", [(INT32, ()), *types], captured, lambda *state: body(
            *_like(state[:1], [0]), leaves.back(_like(state[1:], leaves.values))))

    start = _settled(leaves, start, traced)
    trace, nodes, _ = traced(_types(start))
    trace.results = _types(nodes)
    made = _add("for_loop", [*start, *trace.outer], [trace], count=count, carried=len(start))
    return leaves.back(_like([_cell(n) for n in made], leaves.values))


def while_loop(condition, body, carry):
    """carry = body(carry) while condition(carry) holds."""
    leaves = Leaves(carry)
    start = _start(leaves)

    def traced(types, captured=()):
        return _traced("body", types, captured, lambda *state: body(leaves.back(_like(state, leaves.values))))

    start = _settled(leaves, start, traced)
    test, nodes, _ = _traced("condition", _types(start), (), lambda *s: as_array(condition(leaves.back(s))))
    if len(nodes) != 1 or nodes[0].size != 1:
        refuse(ARGUMENT, "a condition that is no single value", "reduce it with np.any or np.all", kind=ValueError)
    if nodes[0].dtype != BOOL or nodes[0].shape:
        test, nodes, _ = _traced("condition", _types(start), (),
                                 lambda *s: (as_array(condition(leaves.back(s))) != 0).reshape(()))
    test.results = _types(nodes)
    trace, nodes, _ = traced(_types(start), test.outer)
    trace.results = _types(nodes)
    for node in trace.outer[len(test.outer):]:
        test.capture(node)
    made = _add("while_loop", [*start, *trace.outer], [test, trace], carried=len(start))
    return leaves.back(_like([_cell(n) for n in made], leaves.values))


def _is_weak(x):
    return isinstance(x, (int, float)) and not isinstance(x, (bool, np.generic))


def _dtype_of_two(a, node, b, other):
    """The dtype that Python numbers among two results take: the other's, or that of a float; None where none does."""
    if node.dtype == other.dtype or not (_is_weak(a) or _is_weak(b)):
        return None
    if _is_weak(a) and _is_weak(b):
        return _dtypes.FLOAT32
    return other.dtype if _is_weak(a) else node.dtype


def _in_dtypes(structure, dtypes):
    """A structure whose Python numbers have become arrays of these dtypes; those without one stay."""
    if not any(dtypes):
        return structure
    leaves = Leaves(structure)
    return leaves.back(np.asarray(v, d) if d is not None and _is_weak(v) else v for v, d in zip(leaves.values, dtypes))


def branch(condition, then, otherwise, operands):
    """then(*operands) or otherwise(*operands); what both give has the same shapes and dtypes."""
    leaves = Leaves(operands)
    start = _start(leaves)

    def traced(function, captured=(), like=()):
        return _traced("branch", _types(start), captured, lambda *s: _in_dtypes(
            function(*leaves.back(_like(s, leaves.values))), like))

    yes, nodes, result = traced(then)
    no, others, result_of_no = traced(otherwise, yes.outer)
    _same_structure(result, result_of_no, "the two branches")
    like = [_dtype_of_two(*each) for each in zip(result.values, nodes, result_of_no.values, others)]
    if any(like):
        yes, nodes, result = traced(then, like=like)
        no, others, result_of_no = traced(otherwise, yes.outer, like)
    if [n.shape for n in nodes] != [n.shape for n in others]:
        refuse(ARGUMENT, "two branches with results of different shapes", "give both the same shape", kind=ValueError)
    if [n.dtype for n in nodes] != [n.dtype for n in others]:
        refuse(ARGUMENT, "two branches with results of different dtypes", "cast them", kind=TypeError)
    if not nodes:
        return result.structure
    yes.results, no.results = _types(nodes), _types(others)
    for node in no.outer[len(yes.outer):]:
        yes.capture(node)
    made = _add("branch", [condition, *start, *no.outer], [yes, no])
    return result.back([_cell(n) for n in made])
