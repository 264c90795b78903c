"""torch's automatic differentiation: a routine on tensors that want a gradient is one node of its graph, whose backward
pass is routines again, on the backend of the call."""

import functools
import inspect
import sys

from kiln._kiln import blas as native

_FUNCTIONS = {}  # by the module torch: the class of nodes


def wants_gradient(values):
    """Whether one of some arguments is a tensor that wants a gradient, now."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled() and any(
        isinstance(v, torch.Tensor) and v.requires_grad for v in values)


def differentiable(function):
    """A routine whose gradient stands in _gradients under its name."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not wants_gradient([*args, *kwargs.values()]):
            return function(*args, **kwargs)
        torch = sys.modules["torch"]
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return _node(torch).apply(_Call(torch, function, call, bound.arguments), *_Call.tensors(torch, bound.arguments))

    call.has_gradient = True
    return call


def require_gradient(function, values):
    """Refuses tensors that want a gradient where a routine has none: it would be lost without a word."""
    if not getattr(function, "has_gradient", False) and wants_gradient(values):
        raise NotImplementedError(f"{function.__name__}: it has no gradient so far; detach its tensors")


class _Call:
    """A routine and its arguments, tensors apart."""

    def __init__(self, torch, function, routine, arguments):
        self.name = function.__name__
        self.function = function
        self.routine = routine  # the same as a node of the graph, for gradients of gradients
        self.names = [n for n, v in arguments.items() if isinstance(v, torch.Tensor)]
        self.others = {n: v for n, v in arguments.items() if n not in self.names}
        self.backend = native.scope_choice()  # of the with statement around the call, if there is one

    @staticmethod
    def tensors(torch, arguments):
        return [v for v in arguments.values() if isinstance(v, torch.Tensor)]

    def arguments(self, tensors):
        return {**self.others, **dict(zip(self.names, tensors))}


def _node(torch):
    """The class of nodes; made when torch is first seen."""
    if torch not in _FUNCTIONS:

        class Routine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, call, *tensors):
                result = call.function(**call.arguments([t.detach() for t in tensors]))
                ctx.call = call
                ctx.results = len(result) if isinstance(result, tuple) else 0
                ctx.save_for_backward(*tensors, *(result if ctx.results else (result,)))
                return result

            @staticmethod
            def backward(ctx, *gradients):
                from . import _backend, _gradients
                count = max(1, ctx.results)
                tensors, results = ctx.saved_tensors[:-count], ctx.saved_tensors[-count:]
                wanted = {n for n, w in zip(ctx.call.names, ctx.needs_input_grad[1:]) if w}
                with _backend.scope(ctx.call.backend or None):
                    found = _gradients.gradients(ctx.call, gradients if ctx.results else gradients[0],
                                                 results if ctx.results else results[0], wanted,
                                                 ctx.call.arguments(tensors))
                return None, *(found[n] if n in wanted else None for n in ctx.call.names)

        _FUNCTIONS[torch] = Routine
    return _FUNCTIONS[torch]
