"""Products: dot, einsum, tensordot and their like, as matrix products with batches."""

import itertools
import operator

import numpy as np

from kiln.numpy import _dtypes
from kiln.numpy._array import Array, as_array
from kiln.numpy._axes import axis_of
from kiln.numpy._dispatch import _kind, implements, write_out


@implements(np.dot)
def dot(a, b, out=None):
    x, y = as_array(a), as_array(b)
    if x.ndim == 0 or y.ndim == 0:
        made = np.multiply(x, y)
    elif x.ndim <= 2 and y.ndim <= 2:
        made = np.matmul(x, y)
    else:
        made = np.tensordot(x, y, axes=(x.ndim - 1, max(y.ndim - 2, 0)))
    return made if out is None else write_out(made, out, "dot", "no")


@implements(np.vdot)
def vdot(a, b, /):
    return np.matmul(as_array(a).reshape(-1), as_array(b).reshape(-1))


@implements(np.inner)
def inner(a, b, /):
    x, y = as_array(a), as_array(b)
    if x.ndim == 0 or y.ndim == 0:
        return np.multiply(x, y)
    return np.tensordot(x, y, axes=(x.ndim - 1, y.ndim - 1))


@implements(np.outer)
def outer(a, b, out=None):
    made = np.multiply(as_array(a).reshape(-1, 1), as_array(b).reshape(1, -1))
    return made if out is None else write_out(made, out, "outer")


@implements(np.linalg.outer)
def linalg_outer(x1, x2, /):
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x.ndim} and x2.ndim={y.ndim}.")
    return outer(x, y)


@implements(np.linalg.matmul)
def linalg_matmul(x1, x2, /):
    return np.matmul(x1, x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1, x2, /, *, axis=-1):
    return np.vecdot(np.moveaxis(as_array(x1), axis, -1), np.moveaxis(as_array(x2), axis, -1))


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a, b, axes=2, **kwargs):
    x, y = as_array(a), as_array(b)
    if np.ndim(axes) == 0:
        n = operator.index(axes)
        ax, ay = list(range(x.ndim - n, x.ndim)), list(range(n))
    else:
        ax, ay = ([operator.index(p)] if np.ndim(p) == 0 else [operator.index(i) for i in p] for p in axes)
    ax, ay = [axis_of(i, x.ndim) for i in ax], [axis_of(i, y.ndim) for i in ay]
    if len(ax) != len(ay) or any(x.shape[i] != y.shape[j] for i, j in zip(ax, ay)):
        raise ValueError("shape-mismatch for sum")
    keep_x = [i for i in range(x.ndim) if i not in ax]
    keep_y = [i for i in range(y.ndim) if i not in ay]
    inner_size = int(np.prod([x.shape[i] for i in ax], dtype=int))
    left = x.transpose([*keep_x, *ax]).reshape(-1 if x.size else int(np.prod([x.shape[i] for i in keep_x], dtype=int)),
                                               inner_size)
    right = y.transpose([*ay, *keep_y]).reshape(inner_size, -1 if y.size else int(
        np.prod([y.shape[i] for i in keep_y], dtype=int)))
    return np.matmul(left, right).reshape([x.shape[i] for i in keep_x] + [y.shape[i] for i in keep_y])


@implements(np.kron)
def kron(a, b):
    x, y = as_array(a), as_array(b)
    rank = max(x.ndim, y.ndim)
    xs, ys = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - y.ndim) + y.shape
    left = x.reshape([n for m in xs for n in (m, 1)])
    right = y.reshape([n for m in ys for n in (1, m)])
    return np.multiply(left, right).reshape([m * n for m, n in zip(xs, ys)])


@implements(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = np.moveaxis(as_array(a), axisa, -1), np.moveaxis(as_array(b), axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    if x.shape[-1] == 2 and y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    x, y = (v if v.shape[-1] == 3 else np.concatenate([v, np.zeros_like(v[..., :1])], axis=-1) for v in (x, y))
    (x0, x1, x2), (y0, y1, y2) = ([v[..., i] for i in range(3)] for v in (x, y))
    made = np.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], axis=-1)
    return np.moveaxis(made, -1, axisc)


@implements(np.linalg.cross)
def linalg_cross(x1, x2, /, *, axis=-1):
    return cross(x1, x2, axis=axis)


# einsum.

def _letters(used):
    return (c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in used)


def _interleaved(operands):
    """einsum(x, [0, 1], y, [1, 2], [0, 2]) as a formula."""
    names = {}
    letters = _letters("")
    arrays, terms, result = [], [], None
    items = list(operands)
    while items:
        x = items.pop(0)
        if not items:
            result = x
            break
        arrays.append(x)
        terms.append(items.pop(0))

    def text(term):
        return "".join("..." if i is Ellipsis else names.setdefault(i, None) or _named(names, i, letters) for i in term)

    for t in terms:
        for i in sorted(i for i in t if i is not Ellipsis):
            if i not in names:
                names[i] = None
    for i in sorted(names):
        names[i] = next(letters)
    formula = ",".join(map(text, terms))
    return (formula if result is None else f"{formula}->{text(result)}"), arrays


def _named(names, i, letters):
    names[i] = next(letters)
    return names[i]


def _parsed(formula, arrays):
    """(labels of each operand, labels of the result), without dots."""
    formula = formula.replace(" ", "")
    inputs, arrow, output = formula.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise ValueError(
            "more operands provided to einstein sum function than specified in the subscripts string"
            if len(terms) < len(arrays)
            else "fewer operands provided to einstein sum function than specified"
        )
    free = _letters(formula)
    most = 0
    for t, a in zip(terms, arrays):
        if "..." in t:
            most = max(most, a.ndim - len(t.replace("...", "")))
    dots = "".join(next(free) for _ in range(most))
    made = []
    for t, a in zip(terms, arrays):
        if "..." in t:
            count = a.ndim - len(t.replace("...", ""))
            if count < 0:
                raise ValueError("einstein sum subscripts string contains too many subscripts for operand")
            t = t.replace("...", dots[most - count:])
        if len(t) != a.ndim:
            raise ValueError(f"operand has {a.ndim} dimensions, but the subscripts `{t}` have {len(t)}")
        made.append(t)
    if arrow:
        output = output.replace("...", dots)
    else:
        counts = "".join(made)
        output = dots + "".join(sorted(c for c in set(counts) if counts.count(c) == 1 and c not in dots))
    for c in output:
        if output.count(c) > 1 or all(c not in t for t in made):
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{c}' which never appeared in an "
                "input, or twice"
            )
    return made, output


def _diagonals(x, labels):
    """Repeated labels of one operand: its diagonal."""
    for c in dict.fromkeys(labels):
        while labels.count(c) > 1:
            i, j = labels.index(c), labels.index(c, labels.index(c) + 1)
            if x.shape[i] != x.shape[j]:
                raise ValueError(f"dimensions in single operand for collapsing index '{c}' don't match")
            x = np.moveaxis(np.diagonal(x, axis1=i, axis2=j), -1, i)
            labels = labels[:j] + labels[j + 1:]
    return x, labels


def _summed(x, labels, keep):
    gone = tuple(i for i, c in enumerate(labels) if c not in keep)
    return (np.sum(x, axis=gone, dtype=x.dtype) if gone else x), "".join(c for c in labels if c in keep)


def _pair(x, xl, y, yl, keep, output):
    """The product of two operands with labels, summed over those that nobody needs any more."""
    x, xl = _summed(x, xl, set(yl) | set(keep))
    y, yl = _summed(y, yl, set(xl) | set(keep))
    shared = [c for c in xl if c in yl]
    extents = {c: x.shape[xl.index(c)] for c in xl}
    for c in shared:
        m, n = extents[c], y.shape[yl.index(c)]
        if m != n and 1 not in (m, n):
            raise ValueError(f"operands could not be broadcast together: `{c}` is {m} and {n}")
    uneven = any(x.shape[xl.index(c)] != y.shape[yl.index(c)] for c in shared)
    inner_labels = [c for c in shared if c not in keep]
    if not inner_labels or uneven:
        return _elementwise(x, xl, y, yl, keep)
    if output and output[-1] in xl and output[-1] not in yl:  # so that the product lies as it is asked for
        x, xl, y, yl = y, yl, x, xl
    batch = [c for c in shared if c in keep]
    mine, yours = [c for c in xl if c not in shared], [c for c in yl if c not in shared]
    ahead = _ahead(output, mine, yours) if mine else []
    left = _ordered(x, xl, [batch, mine, inner_labels])
    left = left.reshape([*left.shape[:-2], *(1 for _ in ahead), *left.shape[-2:]])
    behind = [c for c in yours if c not in ahead]
    right = _ordered(y, yl, [batch + ahead, inner_labels, behind])
    made = np.matmul(left, right)
    sizes = {**{c: x.shape[xl.index(c)] for c in xl}, **{c: y.shape[yl.index(c)] for c in yl}}
    labels = "".join(batch + ahead + mine + behind)
    return made.reshape([sizes[c] for c in labels]), labels


def _ahead(output, mine, yours):
    """Labels of the second operand that stand before those of the first and behind them too: many equal products."""
    order = [c for c in output if c in mine or c in yours]
    first = list(itertools.takewhile(lambda c: c in yours, order))
    return first if order and order[-1] in yours and len(first) < len(order) else []


def _ordered(x, labels, groups):
    """Labels in groups, each of which is one dimension; the first stays apart."""
    turned = x.transpose([labels.index(c) for g in groups for c in g])
    sizes = [[x.shape[labels.index(c)] for c in g] for g in groups]
    return turned.reshape([*sizes[0], *(int(np.prod(s, dtype=int)) for s in sizes[1:])])


def _elementwise(x, xl, y, yl, keep):
    labels = "".join(dict.fromkeys(xl + yl))

    def spread(a, al):
        a = a.transpose([al.index(c) for c in labels if c in al])
        sizes = iter(a.shape)
        return a.reshape([next(sizes) if c in al else 1 for c in labels])

    return _summed(np.multiply(spread(x, xl), spread(y, yl)), labels, keep)


@implements(np.einsum)
def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    formula, arrays = (operands[0], operands[1:]) if isinstance(operands[0], str) else _interleaved(operands)
    arrays = [as_array(a) for a in arrays]
    kind = _kind(arrays[0])
    for a in arrays[1:]:
        kind = _dtypes.loop(np.multiply, (kind, _kind(a)))[0]
    kind = _dtypes.narrow(kind) if dtype is None else _dtypes.requested(dtype)
    terms, output = _parsed(formula, arrays)
    work = [_diagonals(a if a.dtype == kind else a.astype(kind), t) for a, t in zip(arrays, terms)]
    while len(work) > 1:
        (x, xl), (y, yl) = work.pop(0), work.pop(0)
        needed = set(output).union(*(t for _, t in work))
        work.insert(0, _pair(x, xl, y, yl, needed, output))
    x, labels = _summed(*work[0], set(output))
    made = x.transpose([labels.index(c) for c in output])
    made = made.copy() if made._parent is not None and not len(arrays) == 1 else made
    return made if out is None else write_out(made, out, "einsum", casting)


@implements(np.einsum_path)
def einsum_path(*operands, optimize="greedy", einsum_call=False):
    """Of shapes alone."""
    def plain(x):
        return np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, Array) else x

    return np.einsum_path(*map(plain, operands), optimize=optimize)
