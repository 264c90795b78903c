"""Where results lie in memory: as NumPy's do, in any order of the arguments, so that the same reshapes are views."""

import numpy as np
import pytest

import kiln
from against_numpy import check, sample
from function_cases import CASES

PARTS = ("numpy.histogram2d", "numpy.histogramdd")  # NumPy's results are parts of larger arrays that nobody sees
LAYOUTS = ("C", "F", "outer axes swapped", "part of a larger one", "every second", "first axis second")


def _laid(x, layout):
    """The array in a layout."""
    if not isinstance(x, np.ndarray) or x.ndim < 2 or layout == "C":
        return x.copy() if isinstance(x, np.ndarray) else x
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "first axis second":
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, 1)), 1, 0)
    if layout == "outer axes swapped":
        return np.swapaxes(np.ascontiguousarray(np.swapaxes(x, 0, -1)), 0, -1)
    many = layout == "every second"
    base = np.zeros([n * 2 for n in x.shape[::-1]], x.dtype)
    view = base[tuple(slice(None, None, 2) if many else slice(n) for n in x.shape[::-1])].T
    view[...] = x
    return view


def _places(x):
    """How many elements apart neighbours along each axis lie; 0 along axes with one."""
    if isinstance(x, (tuple, list)):
        return [_places(item) for item in x]
    if not getattr(x, "shape", ()) or 0 in x.shape:
        return None
    return tuple(abs(s) // x.itemsize if n > 1 else 0 for s, n in zip(x.strides, x.shape))


def _of_kiln(function, arguments):
    """The places of what a function makes while it is traced; nothing where it refuses."""
    made = []

    def traced(*inside):
        made.append(_places(function(*inside)))
        return inside[0]

    try:
        kiln.jit(traced).lower(*arguments)
    except Exception:
        if not made:
            raise
    return made[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", sorted(set(CASES) - set(PARTS)))
def test_function(name, layout):
    for function, arguments in CASES[name]:
        arguments = [_laid(x, layout) for x in arguments]
        if not any(isinstance(x, np.ndarray) for x in arguments):
            continue
        with np.errstate(all="ignore"):
            try:
                want = _places(function(*arguments))
            except (TypeError, ValueError, IndexError):
                continue  # asked in test_functions.py
        assert _of_kiln(function, arguments) == want


X, Y = sample(np.float32, (4, 5, 6), 1, False), sample(np.float32, (4, 5, 6), 2, False)
INDEX = np.array([2, 0, 1], np.int32)
STEPS = [
    lambda x, y: x.T + 1,
    lambda x, y: x + y,
    lambda x, y: np.add(x, y, order="F"),
    lambda x, y: np.add(x.T, y.T, order="C"),
    lambda x, y: np.where(x.T > 0, y.T, 0),
    lambda x, y: x.astype(np.int32),
    lambda x, y: x.astype(np.int32, order="C"),
    lambda x, y: x.copy(),
    lambda x, y: x.copy(order="K"),
    lambda x, y: x.copy(order="A"),
    lambda x, y: np.copy(x),
    lambda x, y: np.copy(x, order="F"),
    lambda x, y: np.array(x),
    lambda x, y: np.array(x, order="F"),
    lambda x, y: np.array([x, y]),
    lambda x, y: np.asarray(x, order="F"),
    lambda x, y: np.ascontiguousarray(x.T),
    lambda x, y: np.asfortranarray(x),
    lambda x, y: np.zeros_like(x),
    lambda x, y: np.full_like(x.T, 3, order="F"),
    lambda x, y: np.zeros_like(x, order="C"),
    lambda x, y: np.ones_like(x, shape=(2, 3, 4)),
    lambda x, y: np.zeros((4, 5), order="F"),
    lambda x, y: x.sum(axis=0),
    lambda x, y: x.max(axis=1, keepdims=True),
    lambda x, y: np.cumsum(x, axis=1),
    lambda x, y: np.add.accumulate(x, axis=0),
    lambda x, y: np.logaddexp.reduce(x, axis=1),
    lambda x, y: np.sort(x, axis=0),
    lambda x, y: np.argsort(x, axis=0),
    lambda x, y: np.concatenate([x, y], axis=1),
    lambda x, y: np.stack([x, y], axis=2),
    lambda x, y: np.roll(x, 1, axis=0),
    lambda x, y: np.repeat(x, 2, axis=1),
    lambda x, y: np.pad(x, 1),
    lambda x, y: x @ y.swapaxes(1, 2),
    lambda x, y: np.einsum("ijk,ijl->kli", x, y),
    lambda x, y: np.broadcast_to(x[:, :1], (4, 5, 6)).astype(np.int32),
    lambda x, y: np.broadcast_to(x[0], (4, 5, 6)) * 2,
    lambda x, y: np.broadcast_to(x[0], (4, 5, 6)) + y.transpose(2, 1, 0).copy().transpose(2, 1, 0),
    lambda x, y: np.broadcast_to(x[:, :1], (4, 5, 6)).T * y.T,
    lambda x, y: x[:, :, :1].T - y.T,
    lambda x, y: x[:, INDEX],
    lambda x, y: x[INDEX],
    lambda x, y: x[:, :, INDEX],
    lambda x, y: x[INDEX, :, INDEX],
    lambda x, y: x[1:, INDEX, INDEX],
    lambda x, y: x[:, INDEX[:, None], INDEX],
    lambda x, y: x[:, 1, INDEX],
    lambda x, y: x.T[INDEX[None].T],
    lambda x, y: np.take(x, INDEX, axis=1),
    lambda x, y: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    lambda x, y: np.delete(x, [1, 2], axis=1),
    lambda x, y: np.gradient(x, axis=1),
    lambda x, y: np.diff(x, axis=0),
    lambda x, y: np.clip(x.T, -1, y.T),
    lambda x, y: x.transpose(1, 2, 0) ** 3,
    lambda x, y: np.isclose(x, y),
    lambda x, y: np.divmod(x, 2)[1],
    lambda x, y: np.modf(x.T)[0],
    lambda x, y: np.mean(x, axis=-1),
    lambda x, y: np.var(x, axis=0),
    lambda x, y: np.median(x, axis=0),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("step", range(len(STEPS)))
def test_what_is_written_through_a_reshape(step, layout):
    """A reshape of a result is written to, and an argument that the result may be a view of."""
    def function(x, y):
        made = STEPS[step](x, y)
        flat = made.reshape(-1)
        flat[1] = 1
        back = made.ravel(order="F")
        back[2] = 0
        x += 1
        return made.ravel(order="K"), flat, back, _places(made)

    x, y = (_laid(a, layout) for a in (X, Y))
    check(lambda x, y: function(x, y)[:3], x, y)
    assert _of_kiln(lambda x, y: STEPS[step](x, y), [x, y]) == _places(STEPS[step](x, y))
