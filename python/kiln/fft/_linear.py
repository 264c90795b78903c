"""Linear: a transform along one axis of an array, and its adjoint; on torch tensors a node of the graph.

`on_tensor` takes whatever is called with an array, has an adjoint() and a backend."""

import dataclasses

import numpy as np

from kiln._kiln import blas as _choice
from kiln.blas._arrays import to_numpy
from kiln.blas._backend import NOTHING, scope

from ._rows import FORWARD, INVERSE, WHOLE, fit, transform


def _weights(n):
    """What the numbers of half a spectrum stand for: themselves, and all but the first and the middle one another."""
    w = np.full(n // 2 + 1, 2.0, np.float32)
    w[0] = 1
    if n % 2 == 0:
        w[-1] = 1
    return w


@dataclasses.dataclass(slots=True)
class Linear:
    """scale Σ_j x(j) e^(± 2 pi i j k / n) along an axis that is cut or filled up with zeros first."""

    kind: int
    n: int
    axis: int
    positive: bool
    scale: float
    mode: str
    given: int  # numbers along the axis of x
    weighted: bool = False  # FORWARD: times the weights at the end; INVERSE: divided by them at the start
    kept: int | None = None  # numbers of the result
    backend: str = ""
    in_single: bool = False  # natively, as torch computes float32

    def __call__(self, x):
        is_last = self.axis == x.ndim - 1
        x = x if is_last else np.moveaxis(x, self.axis, -1)
        x = fit(x, -1, self.n // 2 + 1 if self.kind == INVERSE else self.n)
        if self.weighted and self.kind == INVERSE:
            x = x / _weights(self.n)
        with scope(self.backend) if self.backend else NOTHING:
            y = transform(x, self.n, self.kind, self.positive, self.scale, self.mode, self.in_single)
        if self.weighted and self.kind == FORWARD:
            y = y * _weights(self.n)
        if self.kept is not None:
            y = fit(y, -1, self.kept)
        return y if is_last else np.moveaxis(y, -1, self.axis)

    def adjoint(self):
        length = self.kept if self.kept is not None else self.n // 2 + 1 if self.kind == FORWARD else self.n
        kind = {WHOLE: WHOLE, FORWARD: INVERSE, INVERSE: FORWARD}[self.kind]
        return dataclasses.replace(self, kind=kind, positive=not self.positive, kept=self.given, given=length,
                                   weighted=self.kind != WHOLE and not self.weighted)


_NODES = {}


def on_tensor(torch, linear, tensor):
    """The transform of a tensor, complex where it has to be."""
    if torch not in _NODES:

        class Node(torch.autograd.Function):
            @staticmethod
            def forward(ctx, linear, x):
                ctx.linear = linear
                y = linear(to_numpy(x, "input"))
                return torch.from_numpy(np.ascontiguousarray(y)).to(x.device)

            @staticmethod
            def backward(ctx, gradient):
                return None, Node.apply(ctx.linear.adjoint(), gradient)

        _NODES[torch] = Node
    linear = dataclasses.replace(linear, backend=linear.backend or _choice.scope_choice())
    return _NODES[torch].apply(linear, tensor)
