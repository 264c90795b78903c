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
    """Four functions of two numbers, which torch differentiates where they are smooth."""
    import torch
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        inputs = [v if again and v.requires_grad else v.detach().requires_grad_()
                  for v in (torch.as_tensor(a), torch.as_tensor(b))]
        outputs = _rotation_of_complex(*inputs) if result[0].is_complex() else _rotation(*inputs, result[0] >= 0)
        found = torch.autograd.grad(outputs, inputs, g, create_graph=again, allow_unused=True)
    return {name: value for name, value in zip("ab", found) if name in wanted}


def _rotation(a, b, is_positive):
    import torch
    r = torch.hypot(a, b) * (1 if is_positive else -1)
    c, s = a / r, b / r
    z = s if abs(a) > abs(b) else 1 / c if c != 0 else torch.ones_like(s)
    return r, z, c, s


def _rotation_of_complex(a, b):
    """z is b as it was; of a = 0 the rotation takes b to itself."""
    import torch
    a, b = a.to(torch.promote_types(a.dtype, b.dtype)), b.to(torch.promote_types(a.dtype, b.dtype))
    if a == 0:
        return b * 1, b * 1, a.real * 0, a * 0 + 1
    size = torch.sqrt(a.abs() ** 2 + b.abs() ** 2)
    direction = a / a.abs()
    return direction * size, b * 1, a.abs() / size, direction * b.conj() / size


def rotmg(g, result, wanted, d1, d2, x1, y1, dtype):
    """As rotg; powers of 4096 that bring numbers into range count as constants."""
    import torch
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        inputs = [v if again and v.requires_grad else v.detach().requires_grad_()
                  for v in (torch.as_tensor(v, dtype=result[0].dtype) for v in (d1, d2, x1, y1))]
        numbers, matrix = _modified_rotation(*inputs, int(result[3][0]))
        scaled = [v * _factor(r, v) for v, r in zip([*numbers, *matrix], [*result[:3], *result[3][1:]])]
        outputs = [*scaled[:3], torch.stack([0 * scaled[0], *scaled[3:]])]
        found = torch.autograd.grad(outputs, inputs, g, create_graph=again, allow_unused=True)
    return {name: value for name, value in zip(("d1", "d2", "x1", "y1"), found) if name in wanted}


def _factor(result, value):
    return float(result) / float(value) if value != 0 else 0.0


def _modified_rotation(d1, d2, x1, y1, flag):
    """((d1, d2, x1), (h11, h21, h12, h22)) before they are scaled; all zero where there is no rotation."""
    zero = 0 * d1
    if flag == -2:
        return (d1, d2, x1), (zero, zero, zero, zero)
    one = zero + 1
    if abs(d1 * x1 * x1) > abs(d2 * y1 * y1):
        h21, h12 = -y1 / x1, d2 * y1 / (d1 * x1)
        u = 1 - h12 * h21
        return (d1 / u, d2 / u, x1 * u), (one, h21, h12, one)
    h11, h22 = d1 * x1 / (d2 * y1), x1 / y1
    u = 1 + h11 * h22
    return (d2 / u, d1 / u, y1 * u), (h11, -one, one, h22)
