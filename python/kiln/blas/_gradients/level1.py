"""Gradients of level 1."""

from .. import level1
from .tools import conj, only


def axpy(g, _, wanted, alpha, x, y):
    return only(wanted, x=lambda: level1.scal(conj(alpha), g), y=lambda: g)


def scal(g, _, wanted, alpha, x):
    return only(wanted, x=lambda: level1.scal(conj(alpha), g))


def copy(g, _, wanted, x):
    return {"x": g}


def swap(g, _, wanted, x, y):
    return {"x": g[1], "y": g[0]}


def _times(g, x):
    """The number g times a vector."""
    return level1.scal(g.to(x.dtype), x)


def dot(g, _, wanted, x, y):
    return only(wanted, x=lambda: _times(g, conj(y).reshape(x.shape)), y=lambda: _times(g, conj(x).reshape(y.shape)))


dotu = dsdot = dot


def dotc(g, _, wanted, x, y):
    return only(wanted, x=lambda: _times(conj(g), y.reshape(x.shape)), y=lambda: _times(g, x.reshape(y.shape)))


def sdsdot(g, _, wanted, alpha, x, y):
    return {**dot(g, _, wanted, x, y), **only(wanted, alpha=lambda: g.to(alpha.dtype).reshape(alpha.shape))}


def nrm2(g, result, wanted, x):
    return {"x": _times(g / result, x) if result != 0 else x * 0}


def asum(g, _, wanted, x):
    import torch
    if x.is_complex():
        return {"x": _times(g, torch.complex(x.real.sign(), x.imag.sign()))}
    return {"x": _times(g, x.sign())}


def _product(x, g, like):
    """The gradient of a real factor of x: of sum(conj(x) g) the real part, like the factor."""
    return level1.dotc(x, g).real.to(like.dtype).reshape(like.shape)


def rot(g, _, wanted, x, y, c, s):
    first, second = level1.rot(*g, c, -s)
    return only(wanted, x=lambda: first, y=lambda: second,
                c=lambda: _product(x, g[0], c) + _product(y, g[1], c),
                s=lambda: _product(y, g[0], s) - _product(x, g[1], s))


# Which of h11, h21, h12, h22 the flag of a modified rotation leaves to its parameters, and what the others are.
_GIVEN = {-2: (0, 0, 0, 0), -1: (1, 1, 1, 1), 0: (0, 1, 1, 0), 1: (1, 0, 0, 1)}
_FIXED = {-2: (1, 0, 0, 1), -1: (0, 0, 0, 0), 0: (1, 0, 0, 1), 1: (0, -1, 1, 0)}


def rotm(g, _, wanted, x, y, param):
    import torch
    values = [float(v) for v in param]
    given, fixed = _GIVEN[int(values[0])], _FIXED[int(values[0])]
    h11, h21, h12, h22 = (v if own else f for v, own, f in zip(values[1:], given, fixed))
    first, second = level1.rotm(*g, [-1.0, h11, h12, h21, h22])

    def of_param():
        sums = [level1.dot(v, w) for v in (x, y) for w in g]
        return torch.stack([0 * sums[0], *(v * own for v, own in zip(sums, given))]).to(param.dtype)

    return only(wanted, x=lambda: first, y=lambda: second, param=of_param)


def rotg(g, result, wanted, a, b):
    """Of real numbers: they are four functions of two numbers, which torch differentiates where they are smooth."""
    import torch
    if result[0].is_complex():
        raise NotImplementedError("a: rotg of complex numbers has no gradient so far")
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        inputs = [v if again and v.requires_grad else v.detach().requires_grad_()
                  for v in (torch.as_tensor(a), torch.as_tensor(b))]
        r = torch.hypot(*inputs) * (1 if result[0] >= 0 else -1)
        c, s = inputs[0] / r, inputs[1] / r
        z = s if abs(a) > abs(b) else 1 / c if c != 0 else torch.ones_like(s)
        total = sum(w * v for w, v in zip(g, (r, z, c, s)))
        found = torch.autograd.grad(total, inputs, create_graph=again)
    return {name: value for name, value in zip("ab", found) if name in wanted}
