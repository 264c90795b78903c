"""torch's automatic differentiation: an operation on tensors that want a gradient is one node of its graph, whose
backward pass is operations again, on the backend of the call."""

import sys

from kiln._kiln import blas as native

from ._backend import scope

_NODES = {}  # by the module torch


def wants_gradient(*values):
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled() and any(
        isinstance(v, torch.Tensor) and v.requires_grad for v in values)


def node(forward, backward, *tensors):
    """forward(*tensors) as a node where a tensor wants a gradient. backward(gradient, result, wanted, *tensors) gives
    one gradient per tensor, None where `wanted` does not ask. What forward returns besides the result is kept."""
    if not wants_gradient(*tensors):
        return forward(*tensors)[0]
    torch = sys.modules["torch"]
    return _node(torch).apply((forward, backward, native.scope_choice()), *tensors)


def _node(torch):
    if torch not in _NODES:

        class Operation(torch.autograd.Function):
            @staticmethod
            def forward(ctx, call, *tensors):
                result, kept = call[0](*(t.detach() if isinstance(t, torch.Tensor) else t for t in tensors))
                ctx.call, ctx.kept = call, kept
                ctx.is_tensor = [isinstance(t, torch.Tensor) for t in tensors]
                ctx.others = [None if is_tensor else t for t, is_tensor in zip(tensors, ctx.is_tensor)]
                ctx.save_for_backward(*(t for t in tensors if isinstance(t, torch.Tensor)), result)
                return result

            @staticmethod
            def backward(ctx, gradient):
                *saved, result = ctx.saved_tensors
                saved = iter(saved)
                tensors = [next(saved) if is_tensor else other for is_tensor, other in zip(ctx.is_tensor, ctx.others)]
                with scope(ctx.call[2] or None):
                    found = ctx.call[1](gradient, (result, ctx.kept), ctx.needs_input_grad[1:], *tensors)
                return None, *(g if w else None for g, w in zip(found, ctx.needs_input_grad[1:]))

        _NODES[torch] = Operation
    return _NODES[torch]
