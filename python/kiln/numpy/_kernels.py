"""call_kernel: an NKI kernel as a part of a function that is compiled."""

import numpy as np

from kiln._trace import simulate, views
from kiln._trace.kernel import Kernel
from kiln._trace.specs import Spec
from kiln._trace.traced_kernel import NkiTensor, TracedKernel
from kiln.numpy import _dtypes
from kiln.numpy._array import Array, as_array, node_of
from kiln.numpy._rules import KERNEL, refuse
from kiln.numpy._trace import Node, active


def call_kernel(kernel, *args, **kwargs):
    """Calls an NKI kernel, or a plain function that is one, with arrays of the function and with Python values. Returns
    what the kernel returns; arguments that it writes to have their new values afterwards. Outside of a function that is
    compiled it runs by the simulator."""
    function, lnc, schedule = kernel, 1, ()
    if isinstance(kernel, Kernel):
        function, lnc, schedule = kernel.func, kernel.lnc, kernel.schedule
    if not callable(function):
        raise TypeError(f"call_kernel takes a kernel or a function, not {type(kernel).__name__}")
    if active() is None:
        return simulate.run(function, lnc, args, kwargs, schedule)
    if lnc != 1:
        refuse(KERNEL, f"`{function.__name__}` is for {lnc} cores", "call it without [2]: a program has one core here")
    return _Call(function, schedule, args, kwargs).results()


class _Call:
    """A kernel that was traced for the shapes of its arguments, and the op that calls it."""

    def __init__(self, function, schedule, args, kwargs):
        self._given = {}  # id of a Spec -> the array that it stands for
        self._specs = []  # alive as long as their ids are keys
        args = [self._spec(x) for x in args]
        kwargs = {name: self._spec(x) for name, x in kwargs.items()}
        self._core = TracedKernel(function, args, kwargs, active().target, schedule=schedule)
        self._program = self._core.program()
        border = self._program.border
        self._outputs = [t for t in border if t["role"] == "output"] + [t for t in border if t["role"] == "inout"]
        if not self._outputs:
            refuse(KERNEL, f"`{function.__name__}` returns no tensor and writes to none of its arguments",
                   "return what it computes")

    def _spec(self, x):
        """An array as the shape that kernels are traced with; everything else as it is."""
        if isinstance(x, (tuple, list)) and type(x) in (tuple, list):
            return type(x)(map(self._spec, x))
        if isinstance(x, dict) and type(x) is dict:
            return {k: self._spec(v) for k, v in x.items()}
        if not isinstance(x, (Array, np.ndarray)):
            return x
        array = as_array(x)
        for spec in self._specs:
            if self._given[id(spec)] is array:  # the same tensor, as in a call with arrays
                return spec
        spec = Spec(array.shape, _dtypes.NAME[node_of(array).dtype])
        self._specs.append(spec)
        self._given[id(spec)] = array
        return spec

    def _operand(self, name):
        argument = self._core.arguments[name][0]
        array = self._given.get(id(argument.value))
        return node_of(array) if array is not None else active().constant(argument.array)

    def results(self):
        """What the kernel returns, in arrays of the function."""
        trace = active()
        trace.at_user_line()
        operands = [t["name"] for t in self._program.border if t["role"] in ("input", "inout")]
        values = [trace.own(self._operand(name)).value for name in operands]
        first = self._outputs[0]
        made = [Node(trace.graph.add("kernel", *values, program=self._program), _dtypes.OF_NAME[first["dtype"]],
                     tuple(first["shape"]), trace)]
        made += [trace.push("result", (made[0],), i) for i in range(1, len(self._outputs))]
        self._arrays = {}
        for told, node in zip(self._outputs, made):
            array = Array(node)
            if told["role"] == "inout":
                mine = self._given[id(self._core.arguments[told["name"]][0].value)]
                mine[...] = array
                array = mine
            self._arrays[told["name"]] = array
        return self._returned(self._core.result)

    def _returned(self, value):
        if isinstance(value, NkiTensor):
            return self._seen(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self._returned, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(self._returned, value))
        if isinstance(value, dict):
            return {k: self._returned(v) for k, v in value.items()}
        return value

    def _seen(self, tensor):
        """The tensor of a result: an output, or an argument."""
        array = self._arrays.get(tensor.name)
        if array is None:
            array = self._given[id(self._core.arguments[tensor.name][0].value)]
        if tuple(tensor.shape) != array.shape or tensor.offset != 0 or not views.is_contiguous(tensor):
            refuse(KERNEL, f"a view of `{tensor.name}` is returned", "return the whole tensor, take the view outside")
        return array
