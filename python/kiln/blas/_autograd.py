"""torch's automatic differentiation: a routine on tensors that want a gradient is one node of its graph, whose backward
pass is routines again, on the backend of the call."""

import functools
import inspect
import sys

from kiln._kiln import blas as native

_FUNCTIONS = {}  # by the module torch: the class of nodes


def differentiable(function):
    """A routine whose gradient stands in _gradients.py under its name."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        torch = sys.modules.get("torch")
        if torch is None or not torch.is_grad_enabled():
            return function(*args, **kwargs)
        values = [*args, *kwargs.values()]
        if not any(isinstance(v, torch.Tensor) and v.requires_grad for v in values):
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return _node(torch).apply(_Call(torch, function, bound.arguments), *_Call.tensors(torch, bound.arguments))

    call.has_gradient = True
    return call


def require_gradient(function, values):
    """Refuses tensors that want a gradient where a routine has none: it would be lost without a word."""
    torch = sys.modules.get("torch")
    if torch is None or getattr(function, "has_gradient", False) or not torch.is_grad_enabled():
        return
    if any(isinstance(v, torch.Tensor) and v.requires_grad for v in values):
        raise NotImplementedError(f"{function.__name__}: it has no gradient so far; detach its tensors")


class _Call:
    """A routine and its arguments, tensors apart."""

    def __init__(self, torch, function, arguments):
        for name in ("alpha", "beta", "c", "s"):
            if isinstance(arguments.get(name), torch.Tensor) and arguments[name].requires_grad:
                raise NotImplementedError(f"{name}: {function.__name__} has no gradient by its factors")
        self.function = function
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
                ctx.save_for_backward(*tensors, result)
                return result

            @staticmethod
            def backward(ctx, gradient):
                from . import _backend, _gradients
                *tensors, result = ctx.saved_tensors
                wanted = [n for n, w in zip(ctx.call.names, ctx.needs_input_grad[1:]) if w]
                with _backend.scope(ctx.call.backend or None):
                    found = getattr(_gradients, ctx.call.function.__name__)(
                        gradient, result, set(wanted), **ctx.call.arguments(tensors))
                return None, *(found[n] if n in wanted else None for n in ctx.call.names)

        _FUNCTIONS[torch] = Routine
    return _FUNCTIONS[torch]
