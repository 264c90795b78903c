"""x[key] and x[key] = value: views by integers and slices, copies by arrays of integers and of bool."""

import operator

import numpy as np

from kiln.numpy import _dtypes, _layouts, _lenses
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, has_array, host_cast, known_of, node_of, stacked
from kiln.numpy._masked import Masked
from kiln.numpy._dtypes import INT32
from kiln.numpy._rules import CASTING, DYNAMIC_SHAPE, INDEX, refuse


class _Axis:
    """One item of a key: `kind` is slice, new, int, array (of integers), or gap, an ellipsis for no dimension, which
    stands between arrays all the same; `axis` that it is about."""

    __slots__ = ("axis", "kind", "value")

    def __init__(self, kind, axis, value):
        self.kind, self.axis, self.value = kind, axis, value


def _items(array, key):
    """The items of a key, one for each dimension and each None. Bool arrays become arrays of integers, or stay: the
    mask that is known at run time alone."""
    key = key if isinstance(key, tuple) else (key,)
    taken = 0
    parsed = []
    for item in key:
        item = _plain(item)
        parsed.append(item)
        if item is None or item is Ellipsis:
            continue
        taken += item.ndim if _is_bool(item) else 1
    if sum(item is Ellipsis for item in parsed) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if taken > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {taken} were indexed")
    is_open = not any(item is Ellipsis for item in parsed)
    if is_open:
        parsed.append(Ellipsis)
    out, axis = [], 0
    for item in parsed:
        if item is Ellipsis:
            if taken == array.ndim and not is_open:
                out.append(_Axis("gap", axis, None))
            for _ in range(array.ndim - taken):
                out.append(_Axis("slice", axis, slice(None)))
                axis += 1
        elif item is None:
            out.append(_Axis("new", axis, None))
        elif isinstance(item, slice):
            out.append(_Axis("slice", axis, item))
            axis += 1
        elif isinstance(item, int):
            out.append(_Axis("int", axis, _checked(item, array.shape[axis], axis)))
            axis += 1
        elif _is_bool(item):
            axis = _mask_items(array, item, axis, out)
        else:
            known = known_of(item)
            if known is not None:
                item = np.asarray([_checked(int(i), array.shape[axis], axis) for i in known.reshape(-1)],
                                  np.int64).reshape(known.shape)
            out.append(_Axis("array", axis, item))
            axis += 1
    return out


def _mask_items(array, mask, axis, out):
    known = known_of(mask)
    if tuple(mask.shape) != array.shape[axis:axis + mask.ndim]:
        raise IndexError(f"boolean index did not match indexed array along axis {axis}; shape is "
                         f"{array.shape[axis:axis + mask.ndim]} but the index is {tuple(mask.shape)}")
    if known is None:
        refuse(DYNAMIC_SHAPE, "a mask of bool that is known at run time alone, beside other indices", kind=IndexError)
    if mask.ndim == 0:
        refuse(INDEX, "an index of bool without dimensions", kind=IndexError)
    for found in np.nonzero(known):
        out.append(_Axis("array", axis, found))
        axis += 1
    return axis


def _plain(item):
    """An item of a key as int, slice, None, Ellipsis, ndarray or Array that is not known."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, (list, tuple)):
        item = stacked(item) if has_array(item) else np.asarray(item)
        if item.size == 0:
            item = host_cast(np.asarray(item), np.intp)
    if isinstance(item, Masked):
        item.refuse("an index")
    if isinstance(item, Array):
        known = item._known()
        if known is None:
            if item.dtype.kind not in "iub":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            return item
        item = known
    if isinstance(item, np.ndarray) and item.dtype.kind in "iub":
        return int(item) if item.ndim == 0 and item.dtype.kind != "b" else item
    try:
        return operator.index(item)
    except TypeError:
        refuse(INDEX, f"an index of type {type(item).__name__}"
                      + (f" with {item.dtype}" if hasattr(item, "dtype") else ""), kind=IndexError)


def _is_bool(item):
    return hasattr(item, "dtype") and item.dtype.kind == "b"


def _checked(index, extent, axis):
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index % extent


def _is_runtime_mask(item):
    return isinstance(item, Array) and item.dtype.kind == "b" and item._known() is None and item.ndim > 0


def _is_number(item):
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _spelled_out(key, rank):
    """The items of a key with slices in place of the ellipsis, given or not."""
    key = list(key) if isinstance(key, tuple) else [key]
    taken = sum(item.ndim if _is_runtime_mask(item) else item is not None and item is not Ellipsis for item in key)
    at = next((i for i, item in enumerate(key) if item is Ellipsis), len(key))
    return key[:at] + [slice(None)] * (rank - taken) + key[at + 1:]


def _runtime_mask(array, key):
    """x[mask], x[:, mask], x[mask, 2] and the like with a mask that is known at run time alone, as a Masked of the view
    that the mask chooses from; None for other keys."""
    items = key if isinstance(key, tuple) else (key,)
    if sum(map(_is_runtime_mask, items)) != 1:
        return None
    items = _spelled_out(key, array.ndim)
    if not all(i is None or isinstance(i, slice) or _is_number(i) or _is_runtime_mask(i) for i in items):
        return None
    at = next(i for i, item in enumerate(items) if _is_runtime_mask(item))
    together = [i for i, item in enumerate(items) if i == at or _is_number(item)]
    if together != list(range(together[0], together[-1] + 1)):
        return None  # a number counts as an array, and apart from the mask both go to the front
    mask = items[at]
    axis = sum(item is not None for item in items[:at])
    if mask.shape != array.shape[axis:axis + mask.ndim]:
        raise IndexError(f"boolean index did not match indexed array along axis {axis}; shape is {array.shape} but the "
                         f"index is {mask.shape}")
    if all(isinstance(item, slice) and item.start is item.stop is item.step is None for i, item in enumerate(items)
           if i != at):
        view = array
    else:
        view = _basic(array, _items(array, (*items[:at], *[slice(None)] * mask.ndim, *items[at + 1:])))[0]
    return Masked(view, mask, sum(not _is_number(item) for item in items[:at]))


def _basic(array, items):
    """The view by ints and slices; arrays leave their dimension whole. And the arrays with their dimension in it.
    `with_ints`: ints are arrays, too."""
    starts, sizes, steps, shape, key, arrays = [], [], [], [], [], []
    with_ints = any(i.kind == "array" and np.ndim(i.value) > 0 for i in items)
    gaps = 0  # how often something else stands between arrays
    for item in items:
        if item.kind == "gap":
            gaps += 1
            continue
        n = array.shape[item.axis] if item.kind != "new" else 1
        if item.kind == "new":
            key.append(None)
            shape.append(1)
            gaps += 1
            continue
        is_array = item.kind == "array" or (item.kind == "int" and with_ints)
        if item.kind == "slice":
            start, stop, step = item.value.indices(n)
            count = len(range(start, stop, step))
            key.append(item.value)
            gaps += 1
        elif is_array:
            start, step, count = 0, 1, n
            arrays.append((len(shape), item.value, gaps))
            key.append(slice(None))
        else:
            start, step, count = item.value, 1, 1
            key.append(item.value)
        starts.append(start)
        sizes.append(count)
        steps.append(step)
        if item.kind != "int" or is_array:
            shape.append(count)
    is_whole = len(shape) == array.ndim and all(
        s == 0 and t == 1 and c == n for s, t, c, n in zip(starts, steps, sizes, array.shape)) and None not in key
    if is_whole and arrays:
        return array, arrays
    starts = [0 if c == 0 else s for s, c in zip(starts, sizes)]
    return array._view(_lenses.Slices(tuple(key), starts, sizes, steps, tuple(shape)), shape), arrays


def _without_bools(array, key):
    """Without True and False, which are an axis more with one element, or none: an array of indices."""
    key = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(item, (bool, np.bool_)) for item in key):
        return array, key
    taken = sum(np.ndim(i) if _is_bool(i) and np.ndim(i) else i is not None and i is not Ellipsis and
                not isinstance(i, (bool, np.bool_)) for i in key)
    shape, made, axis = [], [], 0
    for item in key:
        is_new = isinstance(item, (bool, np.bool_))
        if is_new:
            shape.append(1)
            made.append(np.zeros(int(item), np.intp))
            continue
        made.append(item)
        width = array.ndim - taken if item is Ellipsis else 0 if item is None else max(
            1, np.ndim(item) if _is_bool(item) else 1)
        shape += array.shape[axis:axis + width]
        axis += width
    return array.reshape([*shape, *array.shape[axis:]]), tuple(made)


def read(array, key):
    array, key = _without_bools(array, key) if _has_bool(key) else (array, key)
    chosen = _runtime_mask(array, key)
    if chosen is not None:  # a copy: what is written later does not change it
        return Masked(_number(chosen.source), _number(chosen.mask), chosen.ahead)
    items = _items(array, key)
    view, arrays = _basic(array, items)
    if not arrays:
        is_number = not view.shape and items and not (isinstance(key, tuple) and Ellipsis in [
            k for k in key if k is Ellipsis]) and key is not Ellipsis
        return _number(view) if is_number else view
    if len(view.shape) > len(arrays) and all(_is_runtime_number(index) for _, index, _ in arrays):
        return _at(view, arrays)
    known = view._known()
    if known is not None and all(not isinstance(value, Array) for _, value, _ in arrays):
        return Array(const=array._known()[_host_key(key)])
    return _layouts.chosen(Array(gather(view._get(), arrays)), view, arrays)


def _is_runtime_number(index):
    return isinstance(index, Array) and not index.shape and not index._is_cell


def _at(view, arrays):
    """The view by integers of the run."""
    for axis, index, _ in sorted(arrays, key=lambda each: -each[0]):
        shape = view.shape
        view = view._view(_lenses.At(axis, _from_zero(index, shape[axis])), shape[:axis] + shape[axis + 1:])
    return view


def _number(view):
    known = view._known()
    return Array(const=np.array(known)) if known is not None else Array(view._get())


def _host_key(key):
    def plain(k):
        if isinstance(k, Array):
            return k._known()
        return [plain(i) for i in k] if isinstance(k, list) else k

    return tuple(map(plain, key)) if isinstance(key, tuple) else plain(key)


def _has_bool(key):
    return isinstance(key, (bool, np.bool_)) or (
        type(key) is tuple and any(type(item) is bool or type(item) is np.bool_ for item in key))


def write(array, key, value):
    array._require_here()
    array, key = _without_bools(array, key) if _has_bool(key) else (array, key)
    chosen = _runtime_mask(array, key)
    if isinstance(value, Masked):
        if chosen is None or not chosen.is_like(value):
            value.refuse("an assignment to elements of another mask")
        if value.source.shape != chosen.source.shape:
            refuse(DYNAMIC_SHAPE, f"x[mask] = y[mask] with x of shape {chosen.source.shape} and y of shape "
                                  f"{value.source.shape}", kind=ValueError)
        _write_masked(chosen, value.source)
        return
    if chosen is not None:
        _write_masked(chosen, _spread_over_mask(chosen, value))
        return
    view, arrays = _basic(array, _items(array, key))
    if not arrays:
        _store(view, value)
        return
    if array._known() is not None and known_of_value(value) is not None and \
            all(not isinstance(index, Array) for _, index, _ in arrays):
        array._known()[_host_key(key)] = known_of_value(value)
        return
    base = view._get()
    view_dtype = base.dtype
    part = node_of(value, _target_dtype(value, view_dtype))
    if view._known() is not None:
        view._root._loosen()
    view._set(scatter(view._get(), arrays, part))


def combine(array, key, value, mode):
    """Adds, multiplies, ... the values at the indices, as often as each is there."""
    view, arrays = _basic(array, _items(array, key))
    if view._known() is not None:
        view._root._loosen()
    if arrays:
        view._set(scatter(view._get(), arrays, node_of(value, _dtypes.narrow(array.dtype)), mode))
        return
    op = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}[mode]
    _store(view, op(view, value))


def known_of_value(value):
    return value._known() if isinstance(value, Array) else None if has_array(value) else np.asarray(value)


def _target_dtype(value, dtype):
    """The dtype of the array that is written to; Python integers have to fit."""
    if isinstance(value, int) and not isinstance(value, bool) and dtype.kind in "iu":
        low, high = _dtypes.finite_range(dtype)
        if not low <= value <= high:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    if isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c":
        refuse(CASTING, "complex numbers", kind=TypeError)
    return dtype


def _store(view, value):
    """view[...] = value, broadcast and cast."""
    known, now = view._known(), known_of_value(value)
    if known is not None and now is not None:
        known[...] = now
        return
    dtype = _dtypes.narrow(view.dtype)
    node = node_of(value, _target_dtype(value, dtype))
    node = _fitted(node, view.shape)
    if view._known() is not None:
        view._root._loosen()
    view._set(node)


def _fitted(node, shape):
    """Broadcast to the shape; leading dimensions of extent 1 may be too many."""
    while node.ndim > len(shape) and node.shape[0] == 1:
        node = ops.reshape(node, node.shape[1:])
    try:
        fits = np.broadcast_shapes(node.shape, shape) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {node.shape} into shape {tuple(shape)}")
    return ops.broadcast_to(node, shape)


def _spread_over_mask(chosen, value):
    """A value for x[mask], with the dimensions of the mask where it has one for the elements that are chosen."""
    shape = np.shape(value)
    behind = chosen.source.ndim - chosen.ahead - chosen.mask.ndim
    if len(shape) <= behind:
        return value
    at = len(shape) - 1 - behind
    if shape[at] != 1 or len(shape) > chosen.ahead + 1 + behind:
        refuse(DYNAMIC_SHAPE, f"x[mask] = y with y of shape {shape}",
               "write x[...] = np.where(mask, y, x) with y of the shape of x", kind=ValueError)
    return np.reshape(as_array(value), (*shape[:at], *(1,) * chosen.mask.ndim, *shape[at + 1:]))


def _write_masked(chosen, value):
    array = chosen.source
    if array._known() is not None:
        array._root._loosen()
    node = array._get()
    part = node_of(value, _target_dtype(value, node.dtype))
    made = ops.where(chosen.whole_mask()._get(), _lenses.bool_to_number(part), _lenses.bool_to_number(node))
    array._set(ops.cast(ops.broadcast_to(made, node.shape), node.dtype))


# Arrays as indices.

def index_node(index):
    """Indices of the host or of the program as int32; negative ones count from the end."""
    return ops.cast(index._get(), INT32) if isinstance(index, Array) else ops.constant(np.asarray(index), INT32)


def _from_zero(index, extent):
    node = index_node(index)
    return node if index.dtype.kind == "u" else ops.where(ops.less(node, 0), ops.add(node, extent), node)


def _each_axis(arrays, shape):
    """(an index for each dimension up to the last that an array is about, their common shape). They have the dimensions
    of the result: those of the arrays stand together where they were, or in front."""
    last = max(a for a, _, _ in arrays)
    given = {axis: value for axis, value, _ in arrays}
    common = np.broadcast_shapes(*(np.shape(value) for value in given.values()))
    others = [i for i in range(last) if i not in given]
    together = len({gaps for _, _, gaps in arrays}) == 1
    ahead = len(others) if together else 0
    rank = len(others) + len(common)
    made = []
    for axis in range(last + 1):
        if axis in given:
            part = given[axis]
            place = (1,) * (ahead + len(common) - np.ndim(part)) + tuple(np.shape(part)) + (1,) * (len(others) - ahead)
        else:
            part, at = np.arange(shape[axis]), others.index(axis) + (0 if together else len(common))
            place = (1,) * at + (shape[axis],) + (1,) * (rank - at - 1)
        made.append(ops.reshape(index_node(part), place))
    extents = [shape[i] for i in others]
    return made, ((*extents, *common) if together else (*common, *extents))


def _few(arrays, limit):
    """The known indices of the only array, when there are few; None otherwise."""
    if len(arrays) != 1 or isinstance(arrays[0][1], Array) or np.ndim(arrays[0][1]) != 1:
        return None
    index = np.asarray(arrays[0][1])
    return index if 0 < index.size and 1 + np.count_nonzero(np.diff(index) != 1) <= limit else None


def gather(node, arrays):
    """Elements by arrays [(axis, index, gaps)]."""
    axis, index, _ = arrays[0]
    if len(arrays) == 1 and np.ndim(index) == 0 and isinstance(index, Array):
        made = ops.dynamic_slice(node, _from_zero(index, node.shape[axis]), axis, 1)
        return ops.reshape(made, node.shape[:axis] + node.shape[axis + 1:])
    few = _few(arrays, 32)
    if few is not None:
        return _joined_runs(node, axis, few)
    indices, common = _each_axis(arrays, node.shape)
    rest = node.shape[len(indices):]
    if 0 in common or 0 in rest:
        return ops.full((*common, *rest), 0, node.dtype)
    number = _lenses.bool_to_number(node)
    if len(arrays) == 1:
        return ops.cast(ops.take(number, index_node(index), axis), node.dtype)
    return ops.cast(ops.gather_nd(number, indices), node.dtype)


def _joined_runs(node, axis, index):
    """Elements along an axis by known indices: slices, one for each run that counts up."""
    ends = [0, *(np.flatnonzero(np.diff(index) != 1) + 1).tolist(), index.size]
    number = _lenses.bool_to_number(node)
    parts = [ops.cut(number, axis, int(index[a]), int(index[a]) + b - a) for a, b in zip(ends, ends[1:])]
    return ops.cast(ops.concat(parts, axis), node.dtype)


def scatter(node, arrays, part, mode="set"):
    """`node` with elements by arrays changed, one index after the other."""
    axis, index, _ = arrays[0]
    if len(arrays) == 1 and np.ndim(index) == 0 and isinstance(index, Array) and mode == "set":
        shape = (*node.shape[:axis], 1, *node.shape[axis + 1:])
        part = ops.reshape(_fitted(part, shape[:axis] + shape[axis + 1:]), shape)
        return ops.update_slice(node, part, _from_zero(index, node.shape[axis]), axis)
    indices, common = _each_axis(arrays, node.shape)
    part = _fitted(part, (*common, *node.shape[len(indices):]))
    if part.size == 0:
        return node
    few = _few(arrays, 16) if mode == "set" else None
    if few is not None and len(few) <= 16:
        return _assigned_rows(node, axis, few, part)
    number, part = _lenses.bool_to_number(node), _lenses.bool_to_number(part)
    if len(arrays) == 1 and np.ndim(index) == 1:
        return ops.cast(ops.scatter(number, index_node(index), part, axis, mode), node.dtype)
    indices = [ops.broadcast_to(i, common) for i in indices]
    return ops.cast(ops.scatter_nd(number, part, indices, mode), node.dtype)


def _assigned_rows(node, axis, index, part):
    for i, at in enumerate(index.tolist()):
        starts, sizes = [0] * node.ndim, list(node.shape)
        starts[axis], sizes[axis] = at, 1
        node = _lenses.assign(node, starts, sizes, [1] * node.ndim, ops.cut(part, axis, i, i + 1))
    return node
