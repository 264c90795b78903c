"""Masked: what stands for x[mask] while a function is traced. Its operators are given to it in _array.py."""

import numpy as np

from kiln.numpy._axes import axes_of
from kiln.numpy._rules import DYNAMIC_SHAPE, refuse


class Masked:
    """x[mask] with a mask that is known at run time alone: how many elements it has is not known. Elementwise functions
    go through, sums and the like too, and it may be assigned to elements of the same mask."""

    __slots__ = ("ahead", "mask", "source")
    __hash__ = None

    def __init__(self, source, mask, ahead=0):
        self.source, self.mask = source, mask
        self.ahead = ahead  # dimensions of the source in front of those of the mask

    def whole_mask(self):
        """The mask with the dimensions of the source."""
        behind = self.source.ndim - self.mask.ndim - self.ahead
        return self.mask.reshape((1,) * self.ahead + self.mask.shape + (1,) * behind)

    def is_like(self, other):
        """Whether its elements stand where those of the other do."""
        return self.ahead == other.ahead and same_mask(self.mask, other.mask)

    @property
    def dtype(self):
        return self.source.dtype

    def refuse(self, what):
        refuse(DYNAMIC_SHAPE, f"{what}: x[mask] has as many elements as the mask holds at run time", kind=IndexError)

    def __getattr__(self, name):
        self.refuse(f"x[mask].{name}")

    def __array__(self, dtype=None, copy=None):
        self.refuse("np.asarray(x[mask])")

    def __getitem__(self, key):
        self.refuse("x[mask][...]; index first, as in x[:, 1][mask],")

    def __len__(self):
        return self.refuse("len(x[mask])") or 0

    def __iter__(self):
        self.refuse("a loop over x[mask]")

    def __bool__(self):
        return bool(self.refuse("the truth of x[mask]"))

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or kwargs:
            self.refuse(f"{ufunc.__name__}.{method}")
        for x in inputs:
            if isinstance(x, Masked) and not x.is_like(self):
                self.refuse("two different masks")
            if not isinstance(x, Masked) and np.ndim(x) > 0:
                self.refuse("an array beside x[mask]")
        return Masked(ufunc(*(x.source if isinstance(x, Masked) else x for x in inputs)), self.mask, self.ahead)

    def __array_function__(self, func, types, args, kwargs):
        name = func.__name__
        if name in _OF_MASKED and len(args) == 1 and isinstance(args[0], Masked):
            return getattr(self, {"amax": "max", "amin": "min"}.get(name, name))(**kwargs)
        self.refuse(f"np.{name}(x[mask])")

    def _reduce(self, name, axis=None, keepdims=False, **kwargs):
        """Over axes of x[mask], in which the dimensions of the mask are one."""
        mask = np.broadcast_to(self.whole_mask(), self.source.shape)
        if axis is None and not keepdims:
            return getattr(np, name)(self.source, where=mask, **kwargs)
        more = self.mask.ndim - 1
        axes = axes_of(axis, self.source.ndim - more)
        if self.ahead not in axes:
            self.refuse(f"x[mask].{name}(axis={axis})")
        if keepdims:
            self.refuse(f"x[mask].{name}(keepdims=True)")
        whole = [*range(self.ahead, self.ahead + more + 1)]
        axes = whole + [a if a < self.ahead else a + more for a in axes if a != self.ahead]
        return getattr(np, name)(self.source, axis=tuple(axes), where=mask, **kwargs)

    @property
    def size(self):
        return np.count_nonzero(np.broadcast_to(self.whole_mask(), self.source.shape))

    def sum(self, axis=None, **kwargs):
        return self._reduce("sum", axis, **kwargs)

    def prod(self, axis=None, **kwargs):
        return self._reduce("prod", axis, **kwargs)

    def mean(self, axis=None, **kwargs):
        return self._reduce("mean", axis, **kwargs)

    def var(self, axis=None, **kwargs):
        return self._reduce("var", axis, **kwargs)

    def std(self, axis=None, **kwargs):
        return self._reduce("std", axis, **kwargs)

    def any(self, axis=None, **kwargs):
        return self._reduce("any", axis, **kwargs)

    def all(self, axis=None, **kwargs):
        return self._reduce("all", axis, **kwargs)

    def max(self, axis=None, **kwargs):
        return self._extreme("max", axis, **kwargs)

    def min(self, axis=None, **kwargs):
        return self._extreme("min", axis, **kwargs)

    def _extreme(self, name, axis, **kwargs):
        """Where no element is chosen, which NumPy refuses: NaN, and of integers the last that any other would beat."""
        if "initial" in kwargs:
            return self._reduce(name, axis, **kwargs)
        made = self._reduce(name, axis, initial=_beaten(self.dtype, name), **kwargs)
        if np.dtype(self.dtype).kind in "iub":
            return made
        is_any = Masked(np.ones(self.source.shape, bool), self.mask, self.ahead).any(axis)
        return np.where(is_any, made, np.asarray(np.nan, self.dtype))

    def astype(self, dtype, **kwargs):
        return Masked(self.source.astype(dtype, **kwargs), self.mask, self.ahead)


_OF_MASKED = ("sum", "prod", "mean", "var", "std", "any", "all", "max", "min", "amax", "amin")


def _beaten(dtype, name):
    """What every element is at least, for max, or at most, for min."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return name == "min"
    if kind not in "iu":
        return -np.inf if name == "max" else np.inf
    return int(np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max)


def same_mask(a, b):
    return a is b or (a._known() is None and b._known() is None and a._get().value == b._get().value)
