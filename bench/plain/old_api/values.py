"""Values of the old API. An instruction returned its result there and the assignment said where it goes, so a result
waits until it is assigned; when the next call comes first, it gets a tile of its own. That keeps the order of the
text."""

import numpy as np

from kiln import _kiln
from kiln._trace import memory
from kiln.nki import isa as nisa

from . import indexing
from .notes import NOTES, NotRewritten

DIMENSIONS = 5  # of a tile
_waiting = []  # the result that has no place yet, if any


def start():
    """Forgets what an earlier kernel left when it failed."""
    _waiting.clear()


def settle():
    """Gives the waiting result a tile of its own."""
    if _waiting:
        _waiting[0].settle()


class Origin:
    """What the views of one tensor share. `unset`: zeros in PSUM that no instruction has written, because the first
    product overwrites; `summed`: written by something else than a product."""

    def __init__(self, unset=False):
        self.unset, self.summed = unset, False

    def fill(self, view):
        if self.unset:
            self.unset, self.summed = False, True
            nisa.memset(view, 0.0)


class Value:
    """A tensor or a part of one."""

    __array_ufunc__ = None  # a NumPy scalar times a Value asks the Value

    def __init__(self, view, origin=None, root=None):
        self._view, self.origin = view, origin or Origin()
        self.root = view if root is None else root

    @property
    def target(self):
        """Where to write."""
        return self._view

    @property
    def view(self):
        """What to read."""
        self.origin.fill(self.root)
        return self._view

    @property
    def shape(self):
        return tuple(self._view.shape)

    @property
    def dtype(self):
        return self._view.dtype

    @property
    def buffer(self):
        return self._view.buffer

    @property
    def ndim(self):
        return len(self.shape)

    def __getitem__(self, key):
        settle()
        return Value(indexing.part(self._view, key), self.origin, self.root)

    def __setitem__(self, key, value):
        assign(Value(indexing.part(self._view, key), self.origin, self.root), value)

    def reshape(self, shape):
        settle()
        return Value(self.target.reshape(tuple(int(n) for n in shape)), self.origin, self.root)

    def broadcast_to(self, shape):
        from . import language
        return language.broadcast_to(self, shape=shape)

    def astype(self, dtype):
        from . import language
        return language.copy(self, dtype=dtype)

    def __iadd__(self, other):
        from . import operators
        if isinstance(other, Pending) and other.is_waiting and other.accumulate and memory.is_psum(self.buffer):
            if not self.origin.summed:
                self.origin.unset = False
                other.accumulate(self._view)
                return self
        result = operators.elementwise("add", self, other)
        result.into(self._view, self.origin)
        return self


class Wide(Value):
    """A tile of more dimensions than a view has: indices lead straight to a view of its flat memory."""

    def __init__(self, view, shape, origin=None):
        super().__init__(view, origin)
        self._shape = tuple(shape)

    @property
    def shape(self):
        return self._shape

    def __getitem__(self, key):
        settle()
        return Value(indexing.part_of_flat(self._view, self._shape, key), self.origin, self.root)

    def __setitem__(self, key, value):
        assign(self[key], value) if not isinstance(value, Pending) else \
            assign(Value(indexing.part_of_flat(self._view, self._shape, key), self.origin, self.root), value)


class Pending(Value):
    """A result without a place. `emit(dst)` issues its instruction; `accumulate(dst)`, if any, adds it to PSUM."""

    def __init__(self, shape, dtype, emit, buffer=memory.sbuf, accumulate=None, places=(memory.sbuf,)):
        settle()
        self._made, self._shape, self._dtype, self._buffer = None, tuple(shape), plain_dtype(dtype), buffer
        self._emit, self._accumulate, self._places = emit, accumulate, places
        self.origin, self.root = Origin(), None
        _waiting.append(self)

    @property
    def is_waiting(self):
        return bool(_waiting) and _waiting[0] is self

    @property
    def accumulate(self):
        return self._accumulate and self._add

    def _add(self, dst):
        _waiting.clear()
        self._accumulate(dst)

    def settle(self):
        if self._made is None:
            _waiting.clear()
            made = _kiln.new_tensor(two_dimensional(self._shape), self._dtype, self._buffer, "result")
            self._emit(made)
            self._made = self.root = made

    def into(self, target, origin=None):
        """Writes the result to where it is assigned, through a tile of its own where the instruction cannot."""
        if self.is_waiting and any(target.buffer == p for p in self._places):
            _waiting.clear()
            if origin:
                origin.unset, origin.summed = False, self._accumulate is None
            self._emit(fitted(target, two_dimensional(self._shape)))
        else:
            assign(Value(target, origin), Value(self._view))

    @property
    def _view(self):
        self.settle()
        return self._made

    @property
    def shape(self):
        return two_dimensional(self._shape)

    @property
    def dtype(self):
        return self._dtype if self._made is None else self._made.dtype

    @property
    def buffer(self):
        return self._buffer


def plain_dtype(dtype):
    """A dtype as Kiln takes it: NumPy's by name."""
    return np.dtype(dtype).name if isinstance(dtype, (type, np.dtype)) else dtype


def two_dimensional(shape):
    shape = tuple(int(n) for n in shape)
    return shape if len(shape) > 1 else (*shape, 1)


def fitted(view, shape):
    """A view in a shape that differs by dimensions of size 1 or by flattening."""
    if tuple(view.shape) == tuple(shape) or int(np.prod(view.shape)) != int(np.prod(shape)):
        return view
    return view.reshape(tuple(shape))


def assign(target, value):
    if isinstance(value, Pending) and value.is_waiting:
        return value.into(target.target, target.origin)
    settle()
    if not isinstance(value, Value):
        target.origin.unset = False
        return nisa.memset(target.target, value)
    if _same(target.target, value.target):
        return None  # t[i] += x assigns what it has added to
    NOTES["copies of assignments"] += 1
    target.origin.unset, target.origin.summed = False, True
    return move(target.target, value.view)


def move(dst, src):
    """Copies between any two memories that the text names."""
    if memory.is_hbm(dst.buffer) or memory.is_hbm(src.buffer):
        src = on_sbuf(src)
        if memory.is_on_chip(src.buffer):
            return nisa.dma_copy(fitted(dst, src.shape), src)
        return nisa.dma_copy(dst, fitted(src, dst.shape))
    return nisa.tensor_copy(dst, fitted(src, dst.shape))


def on_sbuf(view):
    """A view that DMA and the tensor engine can read: the old compiler copied tiles out of PSUM by itself."""
    if not memory.is_psum(view.buffer):
        return view
    NOTES["copies out of PSUM"] += 1
    copy = _kiln.new_tensor(view.shape, view.dtype, memory.sbuf, "evacuated")
    nisa.tensor_copy(copy, view)
    return copy


def _same(a, b):
    return (a.tensor_id, a.offset, tuple(a.shape), tuple(a.strides)) == \
        (b.tensor_id, b.offset, tuple(b.shape), tuple(b.strides))


class Blocks:
    """A tensor with dimensions in front of the partition: a tile of its own for each of their indices."""

    def __init__(self, shape, first, dtype, buffer, fill, turns=None, tiles=None, prefix=()):
        self.shape, self.dtype, self.buffer = tuple(shape), dtype, buffer
        self._first, self._fill, self._turns, self._prefix = first, fill, turns, prefix
        self._tiles = {} if tiles is None else tiles

    def tile(self, index):
        """The tile of an index; tiles that take turns in the same memory are one."""
        if self._turns:
            index = tuple(i % n for i, n in zip(index, self._turns))
        if index not in self._tiles:
            self._tiles[index] = new_tile(self.shape[self._first:], self.dtype, self.buffer, self._fill)
        return self._tiles[index]

    def _split(self, key):
        key = key if isinstance(key, tuple) else (key,)
        if key == (Ellipsis,):
            key = ()
        whole = self._prefix + key
        for i in whole[:self._first]:
            if not isinstance(i, (int, np.integer)):
                raise NotRewritten(f"blocks of tiles indexed by {i!r}")
        return tuple(int(i) for i in whole[:self._first]), whole[self._first:]

    def __getitem__(self, key):
        block, rest = self._split(key)
        if len(block) < self._first:
            return Blocks(self.shape, self._first, self.dtype, self.buffer, self._fill, self._turns, self._tiles, block)
        tile = self.tile(block)
        return tile[rest] if rest else tile

    def __setitem__(self, key, value):
        block, rest = self._split(key)
        self.tile(block)[rest or (Ellipsis,)] = value


def new_tile(shape, dtype, buffer, fill=None):
    """A tensor, filled with a number unless it is None; zeros in PSUM wait for a product."""
    shape = tuple(int(n) for n in shape)
    flat = shape if len(shape) <= DIMENSIONS else (shape[0], int(np.prod(shape[1:])))
    view = _kiln.new_tensor(flat, dtype, buffer, "")
    lazy = fill == 0 and memory.is_psum(view.buffer)
    if fill is not None and not lazy:
        nisa.memset(view, fill)
    origin = Origin(unset=lazy)
    return Value(view, origin) if flat == shape else Wide(view, shape, origin)
