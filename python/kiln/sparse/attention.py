"""Block-sparse attention: softmax(scale Q K^T, where a pattern has it) V, forward and backward by kernels."""

import ml_dtypes
import numpy as np

from kiln._kiln import sparse as _sparse
from kiln.blas._arrays import to_numpy, torch_of

from . import _values as v
from ._autograd import node, wants_gradient
from ._backend import current_backend, routine
from ._backend import scope as chosen
from ._native import Held, form_of
from .formats import BSRMatrix

__all__ = ["AttentionPattern", "block_sparse_attention", "block_sparse_attention_backward",
           "block_sparse_attention_tiled"]

TILE = 128
_MASKED = -(2.0 ** 126)
_ELEMENTS = {np.dtype(np.float32): 0, np.dtype(ml_dtypes.bfloat16): 1, np.dtype(np.float64): 2}


class AttentionPattern:
    """What queries attend to, in tiles of 128 x 128: which tiles are stored, and masks inside of them. Made once, it
    serves any number of calls.

    `pattern` is a BSRMatrix, of which only the places of blocks count; or a function of (query, key), two arrays of
    indices that broadcast, that is True where a query attends to a key. `mask`, what counts besides, is such a function
    too, or with a BSRMatrix an array [n_blocks, block_size, block_size] of what counts inside of the blocks.
    """

    def __init__(self, pattern, queries, keys=None, mask=None):
        self.queries = v.size_of(queries, "queries")
        self.keys = self.queries if keys is None else v.size_of(keys, "keys")
        self._starts, self._columns, self._mask, masks = [0], [], [], {}
        rows_of = _rows_of_function(pattern, mask) if callable(pattern) else _rows_of_blocks(pattern, self, mask)
        for row in range(0, self.queries, TILE):
            height = min(TILE, self.queries - row)
            for column, counts in rows_of(row, height, self.keys):
                if counts is None or counts.all():
                    self._mask.append(-1)
                elif counts.any():
                    self._mask.append(masks.setdefault(_padded(counts), len(masks)))
                else:
                    continue
                self._columns.append(column)
            self._starts.append(len(self._columns))
        self._starts, self._columns, self._mask = (np.array(a, np.int64) for a in (
            self._starts, self._columns, self._mask))
        bits = [np.frombuffer(m, np.bool_).reshape(TILE, TILE) for m in masks]
        self._masks = np.where(np.array(bits).reshape(-1, TILE, TILE), 0.0, _MASKED).astype(np.float32)

    @property
    def tiles(self):
        """The number of stored tiles."""
        return len(self._columns)

    @property
    def density(self):
        """The share of tiles that are stored."""
        return self.tiles / max(1, -(-self.queries // TILE) * -(-self.keys // TILE))

    def counts(self):
        """[tiles, 128, 128]: which elements of the stored tiles count."""
        inside = np.ones((self.tiles, TILE, TILE), bool)
        has_mask = self._mask >= 0
        inside[has_mask] = self._masks[self._mask[has_mask]] == 0
        key = self._columns[:, None, None] * TILE + np.arange(TILE)
        return inside & (key < self.keys)

    def call(self, held, heads, head, scale):
        has_masks = len(self._masks) > 0
        return (heads, self.queries, self.keys, head, held(self._starts), held(self._columns),
                held(self._mask) if has_masks else 0, held(self._masks) if has_masks else 0, len(self._masks), scale)


def _padded(counts):
    whole = np.ones((TILE, TILE), bool)
    whole[:counts.shape[0], :counts.shape[1]] = counts
    return whole.tobytes()


def _rows_of_function(function, mask):
    """Tiles of a row: (column, what counts)."""
    if mask is not None and not callable(mask):
        raise TypeError(f"mask: {type(mask).__name__}, expected a function, as the pattern is one")
    functions = (function,) if mask is None else (function, mask)

    def rows_of(row, height, keys):
        query = np.arange(row, row + height)[:, None]
        for column in range(-(-keys // TILE)):
            key = np.arange(column * TILE, min(keys, (column + 1) * TILE))[None, :]
            yield column, np.logical_and.reduce([_told(f, query, key) for f in functions])

    return rows_of


def _told(function, query, key):
    """What a function of the caller says of a tile."""
    counts, shape = np.asarray(function(query, key), bool), (len(query), key.shape[1])
    try:
        return np.broadcast_to(counts, shape)
    except ValueError:
        raise v.ShapeError(f"pattern: for queries {query.shape} and keys {key.shape} it gives {counts.shape}, "
                           f"which is no {shape}") from None


def _rows_of_blocks(blocks, pattern, mask):
    """The same for a BSRMatrix, whose blocks may have any size."""
    if not isinstance(blocks, BSRMatrix):
        raise TypeError(f"mask_bsr: {type(blocks).__name__}, expected a BSRMatrix or a function")
    v.require(blocks.shape == (pattern.queries, pattern.keys),
              f"mask_bsr: its shape is {blocks.shape}, expected {(pattern.queries, pattern.keys)}")
    b, (block_rows, block_columns) = blocks.block_size, blocks.grid
    inside = _inside(blocks, mask)
    if b == TILE and inside is None:
        def whole_rows(row, _, __):
            first, last = blocks._starts[row // TILE:row // TILE + 2]
            return ((int(c), None) for c in np.unique(blocks._columns[first:last]))
        return whole_rows
    at = np.full((block_rows, block_columns), -1, np.int64)
    at[v.ids_of(blocks._starts), blocks._columns] = np.arange(blocks.n_blocks)

    def rows_of(row, height, keys):
        query = np.arange(row, row + height)[:, None]
        touched = np.unique(np.nonzero(at[row // b:(row + height - 1) // b + 1] >= 0)[1])
        columns = {c for t in touched for c in range(t * b // TILE, (min(keys, (t + 1) * b) - 1) // TILE + 1)}
        for column in sorted(columns):
            key = np.arange(column * TILE, min(keys, (column + 1) * TILE))[None, :]
            block = at[query // b, key // b]
            counts = block >= 0
            if inside is not None:
                counts = counts & inside(block, query, key)
            yield column, counts

    return rows_of


def _inside(blocks, mask):
    """What counts inside of blocks, as a function of (block, query, key)."""
    if mask is None:
        return None
    if callable(mask):
        return lambda block, query, key: _told(mask, query, key)
    b = blocks.block_size
    array = np.asarray(mask, bool)
    v.require(array.shape == (blocks.n_blocks, b, b), f"mask: its shape is {array.shape}, expected "
              f"{(blocks.n_blocks, b, b)}")
    return lambda block, query, key: array[block, query % b, key % b]


def _elements(form):
    """The dtype that a call computes in: native has no bfloat16, and kernels no float64."""
    if form.is_bfloat16 and current_backend() != "native":
        return form.dtype
    return form.compute


def _forward(pattern, scale, Q, K, V, statistics):
    """The result, and (unrounded, lse): with `statistics` what the backward pass needs besides, the result before it
    was rounded to Q's dtype (None where it was not) and -ln of the sums."""
    form = form_of(Q, "Q")
    dtype = _elements(form)
    held = Held()
    q, k, values = (_array(form, a, name, dtype) for a, name in ((Q, "Q"), (K, "K"), (V, "V")))
    heads, head = int(np.prod(q.shape[:-2])), q.shape[-1]
    out = np.zeros(q.shape, dtype)
    lse = np.zeros(q.shape[:-1], form.compute)
    unrounded = out if dtype == form.compute else np.zeros(q.shape if statistics else 0, form.compute)
    if out.size and k.size:
        _sparse.attention(pattern.call(held, heads, head, scale), _ELEMENTS[dtype], held(q), held(k), held(values),
                          held(out), held(lse) if statistics else 0, held(unrounded) if statistics else 0)
    return form.result(out), (None if form.dtype == form.compute else unrounded, lse)


def _array(form, value, name, dtype):
    """An operand in the dtype that kernels take it in."""
    return form.array(value, name).astype(dtype, copy=False)


def _backward(pattern, scale, Q, K, V, out, kept, dout):
    """(dQ, dK, dV), for the result and what _forward returned besides."""
    form = form_of(Q, "Q")
    dtype = _elements(form)
    held = Held()
    q, k, values, do = (_array(form, a, name, dtype) for a, name in ((Q, "Q"), (K, "K"), (V, "V"), (dout, "dout")))
    unrounded, lse = kept
    if unrounded is None:
        unrounded = form.array(out, "out")
    heads, head = int(np.prod(q.shape[:-2])), q.shape[-1]
    dq, dk, dv = np.zeros(q.shape, dtype), np.zeros(k.shape, dtype), np.zeros(k.shape, dtype)
    if dq.size and dk.size:
        _sparse.attention_backward(pattern.call(held, heads, head, scale), _ELEMENTS[dtype], held(q), held(k),
                                   held(values), held(unrounded), held(lse), held(do), held(dq), held(dk), held(dv))
    return form.result(dq), form.result(dk), form.result(dv)


def _attend(pattern, scale, Q, K, V):
    statistics = wants_gradient(Q, K, V)

    def forward(Q, K, V):
        return _forward(pattern, scale, Q, K, V, statistics)

    def backward(g, kept, _, Q, K, V):
        if wants_gradient(g, Q, K, V):  # somebody wants to differentiate again
            torch = torch_of(Q)
            leaves = [t if t.requires_grad else t.detach().requires_grad_() for t in (Q, K, V)]
            return torch.autograd.grad(_composed(pattern, scale, *leaves), leaves, g, create_graph=True)
        return _backward(pattern, scale, Q, K, V, *kept, g)

    return node(forward, backward, Q, K, V)


def _composed(pattern, scale, Q, K, V):
    """The same of operations that can be differentiated any number of times: the scores and weights of all stored
    tiles are there at once."""
    from .ops import _bsr_sddmm, _bsr_spmm
    torch = torch_of(Q)
    tiles = BSRMatrix(np.broadcast_to(np.float32(0), (pattern.tiles, TILE, TILE)), pattern._columns, pattern._starts,
                      (pattern.queries, pattern.keys), TILE)
    rows, count = torch.from_numpy(v.ids_of(pattern._starts)), len(pattern._starts) - 1
    counts = torch.from_numpy(pattern.counts())

    def of_head(q, k, values):
        scores = _bsr_sddmm(tiles, q, k) * scale
        bottom = torch.full((count, TILE), -torch.inf, dtype=q.dtype)
        tops = scores.detach().masked_fill(~counts, -torch.inf).amax(-1)
        largest = bottom.scatter_reduce(0, rows[:, None].expand_as(tops), tops, "amax")[rows][..., None]
        e = torch.exp(torch.where(counts, scores - largest, 0.0)) * counts
        sums = torch.zeros_like(bottom).index_add(0, rows, e.sum(-1))[rows][..., None]
        return _bsr_spmm(tiles, e / torch.where(sums == 0, 1.0, sums), values)

    heads = [t.reshape(-1, *t.shape[-2:]).unbind() for t in (Q, K, V)]
    return torch.stack([of_head(*head) for head in zip(*heads)]).reshape(Q.shape)


def _arrays(**named):
    return (v.array_of(value, name) for name, value in named.items())


def _checked(Q, K, V, scale):
    shapes = [tuple(a.shape) for a in (Q, K, V)]
    v.require(len(shapes[0]) >= 2 and shapes[0][-1] > 0, f"Q: its shape is {shapes[0]}, expected (..., queries, head)")
    v.require(shapes[1] == shapes[2], f"V: its shape is {shapes[2]}, that of K {shapes[1]}")
    v.require(shapes[0][:-2] == shapes[1][:-2] and shapes[0][-1] == shapes[1][-1],
              f"K: its shape is {shapes[1]}, that of Q {shapes[0]}")
    if isinstance(scale, (str, bytes)):
        raise TypeError(f"scale: {scale!r}, expected a number")
    return float(shapes[0][-1] ** -0.5 if scale is None else scale)


@routine
def block_sparse_attention(Q, K, V, pattern, scale=None, mask=None):
    """Attention where a pattern has it. Q is [..., queries, head], K and V are [..., keys, head]; leading dimensions
    are batches and heads, which share the pattern: a BSRMatrix, a function of (query, key), or an AttentionPattern.
    Rows that attend to nothing are zero."""
    Q, K, V = _arrays(Q=Q, K=K, V=V)
    scale = _checked(Q, K, V, scale)
    return _attend(_pattern(pattern, Q, K, mask), scale, Q, K, V)


def _pattern(pattern, Q, K, mask):
    if not isinstance(pattern, AttentionPattern):
        pattern = AttentionPattern(pattern, Q.shape[-2], K.shape[-2], mask)
    elif mask is not None:
        raise TypeError("mask: the pattern is an AttentionPattern, which takes it when it is made")
    v.require((pattern.queries, pattern.keys) == (Q.shape[-2], K.shape[-2]),
              f"pattern: it is for {pattern.queries} queries and {pattern.keys} keys")
    return pattern


@routine
def block_sparse_attention_backward(Q, K, V, dO, pattern, scale=None, mask=None):
    """(dQ, dK, dV) for the gradient dO of block_sparse_attention: what torch's graph computes, for arrays that are no
    part of one."""
    Q, K, V, dO = _arrays(Q=Q, K=K, V=V, dO=dO)
    scale = _checked(Q, K, V, scale)
    v.require(tuple(dO.shape) == tuple(Q.shape), f"dO: its shape is {tuple(dO.shape)}, that of Q {tuple(Q.shape)}")
    pattern = _pattern(pattern, Q, K, mask)
    return _backward(pattern, scale, Q, K, V, *_forward(pattern, scale, Q, K, V, True), dO)


@routine
def block_sparse_attention_tiled(Q, K, V, mask_bsr, scale=None):
    """Attention over the blocks that mask_bsr stores; what they hold does not count. The scale is head ** -0.5 where
    none is given."""
    Q, K, V = _arrays(Q=Q, K=K, V=V)
    scale = _checked(Q, K, V, scale)
    return _attend(AttentionPattern(mask_bsr, Q.shape[-2], K.shape[-2]), scale, Q, K, V)


def _statistics(Q, lse, block_size):
    """(row_max, row_denom) as trnsparse has them: here the logarithm of the sum, and ones. float32 in bfloat16 too."""
    rows = -(-lse.shape[-1] // block_size) * block_size
    largest = np.zeros(rows, lse.dtype)
    largest[:lse.shape[-1]] = -lse.reshape(-1)
    largest = largest.reshape(-1, block_size)
    torch = torch_of(Q)
    return tuple(a if torch is None else torch.from_numpy(a).to(Q.device) for a in (largest, np.ones_like(largest)))


def with_statistics(Q, K, V, mask_bsr, scale, return_stats=True):
    """Attention without a graph; with the statistics of its rows."""
    pattern = AttentionPattern(mask_bsr, Q.shape[-2], K.shape[-2])
    out, (_, lse) = _forward(pattern, _checked(Q, K, V, scale), Q, K, V, True)
    return (out, *_statistics(Q, lse, mask_bsr.block_size)) if return_stats else out


def _block_sparse_attn_pytorch(Q, K, V, mask_bsr, scale, return_stats=False):
    """The same, natively."""
    with chosen("native"):
        return with_statistics(Q, K, V, mask_bsr, scale, return_stats)


def _block_sparse_attn_backward(*args, **kwargs):
    """(dQ, dK, dV), natively."""
    with chosen("native"):
        return backward_with_statistics(*args, **kwargs)


def backward_with_statistics(Q, K, V, O, dO, mask_bsr, scale, row_max=None, row_denom=None):  # noqa: E741
    """(dQ, dK, dV). The statistics are those that with_statistics returned; None: computed again."""
    scale = _checked(Q, K, V, scale)
    pattern = AttentionPattern(mask_bsr, Q.shape[-2], K.shape[-2])
    if row_max is None or row_denom is None:
        O, kept = _forward(pattern, scale, Q, K, V, True)  # noqa: E741
    else:
        sums = to_numpy(row_max, "row_max") + np.log(to_numpy(row_denom, "row_denom"))
        kept = None, np.ascontiguousarray(-sums.reshape(-1)[:Q.shape[-2]], form_of(Q, "Q").compute)
    return _backward(pattern, scale, Q, K, V, O, kept, dO)
