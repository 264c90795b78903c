"""Block-sparse attention and its gradients against float64: patterns, head sizes, odd sequences, both dtypes."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import kiln
from cases import PATTERNS, attention64, dense_mask, generator, gradients64, relative
from kiln import sparse

HEADS = (16, 64, 100, 128, 256, 512)
SEQUENCES = (300, 129, 200, 257, 130, 140)
BOUND = {np.dtype(np.float32): 1e-5, np.dtype(ml_dtypes.bfloat16): 2e-2, np.dtype(np.float64): 1e-12}


def check(backend, Q, K, V, dO, pattern, mask, scale=None):
    wanted = Q.shape[-1] ** -0.5 if scale is None else scale
    bound = BOUND[Q.dtype]
    got = sparse.block_sparse_attention(Q, K, V, pattern, scale, backend=backend)
    assert got.dtype == Q.dtype and relative(got, attention64(Q, K, V, mask, wanted)[0]) <= bound
    found = sparse.block_sparse_attention_backward(Q, K, V, dO, pattern, scale, backend=backend)
    for name, g, want in zip("QKV", found, gradients64(Q, K, V, dO, mask, wanted)):
        assert g.dtype == Q.dtype and relative(g, want) <= bound, f"d{name}: {relative(g, want)}"


def arrays(rng, shape, dtype=np.float32, keys=None):
    key_shape = shape if keys is None else (*shape[:-2], keys, shape[-1])
    return [rng.standard_normal(s).astype(dtype) for s in (shape, key_shape, key_shape, shape)]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_patterns_and_heads(pattern, dtype):
    function = PATTERNS[pattern]
    for head, sequence in zip(HEADS, SEQUENCES):
        rng = generator(head)
        check("simulator", *arrays(rng, (sequence, head), dtype), function, dense_mask(function, sequence, sequence))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_natively(pattern):
    function, rng = PATTERNS[pattern], generator()
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
        check("native", *arrays(rng, (2, 270, 20), dtype), function, dense_mask(function, 270, 270), 0.3)


@pytest.mark.parametrize("backend", ["native", "simulator"])
@pytest.mark.parametrize("sequence", [140, 300])
@pytest.mark.parametrize("head", [64, 128, 200])
def test_weights_that_are_nearly_1(backend, sequence, head):
    """Every query has one key of its own that takes 99 % and more: gradients are small differences of dO V and dO out,
    which would be lost in a result that was rounded to bfloat16."""
    rng = generator(head, sequence)
    Q, K, V, dO = arrays(rng, (2, sequence, head), ml_dtypes.bfloat16)
    Q = (rng.uniform(20, 30, (2, sequence, 1)) / head * K.astype(np.float32)).astype(ml_dtypes.bfloat16)
    mask = dense_mask(PATTERNS["causal"], sequence, sequence)
    assert (attention64(Q, K, V, mask, 1)[1].max(-1) > 0.99).mean() > 0.9
    check(backend, Q, K, V, dO, PATTERNS["causal"], mask, 1)


@pytest.mark.parametrize("backend", ["native", "simulator"])
@pytest.mark.parametrize("head, dtype", [(64, np.float32), (200, np.float32), (512, np.float32),
                                         (64, ml_dtypes.bfloat16)])
def test_rows_with_one_key_have_no_gradient_of_scores(backend, head, dtype):
    """Their one weight is 1 whatever the score is: nothing is left of the products that cancel out."""
    rng = generator(head)
    blocks = PATTERNS["random blocks"]  # the last tile has one key, and a row of tiles only that

    def and_few_alone(i, j):
        return blocks(i, j) & ((i % 5 != 0) | (i == j) | (j == 256))

    for function in (blocks, and_few_alone):
        Q, K, V, dO = arrays(rng, (2, 257, head), dtype)
        mask = dense_mask(function, 257, 257)
        got = sparse.block_sparse_attention_backward(Q, K, V, dO, function, backend=backend)
        want = gradients64(Q, K, V, dO, mask, head ** -0.5)
        alone = mask.sum(1) == 1
        assert alone.sum() >= 128 and not got[0][:, alone].any()
        assert all(relative(g, w) < BOUND[Q.dtype] / 3 for g, w in zip(got, want))


def test_weights_that_are_nearly_1_in_float32():
    """Half of the queries have a second key, of hardly any weight: dout v and dout out are the same but for rounding,
    and that cancels where both are added up in the same order."""
    rng = generator()
    Q, K, V, dO = arrays(rng, (257, 512))
    Q[::2] = 20 / 512 ** 0.5 * K[256]

    def function(i, j):
        return (j == 256) | (j == i // 128) | (i % 2 == 1)

    got = sparse.block_sparse_attention_backward(Q, K, V, dO, function, backend="simulator")
    want = gradients64(Q, K, V, dO, dense_mask(function, 257, 257), 512 ** -0.5)
    errors = (got[0] - want[0])[::2]
    assert np.sqrt((errors ** 2).mean()) < 2.3e-7  # 1.2e-7 to 1.6e-7; one after the other 3.4e-7 to 4.8e-7
    assert relative(got[2], want[2]) < 1e-6


@pytest.mark.parametrize("target", ["trn1", "trn3"])
def test_other_chips(target):
    before = sparse.get_target()
    sparse.set_target(target)
    for pattern, (head, sequence), dtype in itertools.product(
            ("causal", "global", "empty rows"), ((64, 300), (256, 130)), (np.float32, ml_dtypes.bfloat16)):
        function = PATTERNS[pattern]
        check("simulator", *arrays(generator(head), (sequence, head), dtype), function,
              dense_mask(function, sequence, sequence))
    sparse.set_target(before)


@pytest.mark.parametrize("backend", ["native", "simulator"])
def test_batches_heads_and_other_numbers_of_keys(backend):
    rng = generator()
    function = PATTERNS["causal"]
    check(backend, *arrays(rng, (2, 3, 150, 32), keys=290), function, dense_mask(function, 150, 290))


@pytest.mark.parametrize("backend", ["native", "simulator"])
@pytest.mark.parametrize("block_size", [16, 48, 128, 256])
def test_blocks_of_any_size_with_masks_inside(backend, block_size):
    rng = generator(block_size)
    sequence = 300
    grid = -(-sequence // block_size)
    stored = rng.random((grid, grid)) < 0.4
    stored[grid // 2] = False
    mask = np.kron(stored, np.ones((block_size, block_size)))[:sequence, :sequence] > 0
    blocks = sparse.BSRMatrix.from_dense(mask.astype(np.float32), block_size)
    check(backend, *arrays(rng, (sequence, 24)), blocks, mask)
    Q, K, V, _ = arrays(rng, (sequence, 24))
    causal = mask & dense_mask(PATTERNS["causal"], sequence, sequence)
    got = sparse.block_sparse_attention(Q, K, V, blocks, mask=PATTERNS["causal"], backend=backend)
    assert relative(got, attention64(Q, K, V, causal, 24 ** -0.5)[0]) < 1e-5
    inside = rng.random(blocks.blocks.shape) < 0.5
    counts = sparse.BSRMatrix(inside.astype(np.float32), blocks.block_col_indices, blocks.block_row_ptrs, blocks.shape,
                              block_size).to_dense() > 0
    got = sparse.block_sparse_attention(Q, K, V, blocks, mask=inside, backend=backend)
    assert relative(got, attention64(Q, K, V, counts, 24 ** -0.5)[0]) < 1e-5


@pytest.mark.parametrize("backend", ["native", "simulator"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 0.0, -0.4])
def test_any_scale(backend, scale):
    function = PATTERNS["local"]
    check(backend, *arrays(generator(), (260, 16)), function, dense_mask(function, 260, 260), scale)


@pytest.mark.parametrize("backend", ["native", "simulator"])
@pytest.mark.parametrize("sequence", [200, 270])
def test_large_scores_do_not_overflow(backend, sequence):
    rng = generator()
    Q, K, V, dO = arrays(rng, (sequence, 32))
    function = PATTERNS["causal"]
    got = sparse.block_sparse_attention(100 * Q, 100 * K, V, function, backend=backend)
    want = attention64(100 * Q, 100 * K, V, dense_mask(function, sequence, sequence), 32 ** -0.5)[0]
    assert relative(got, want) < 1e-2


def block_pattern(rng, tiles, share):
    """Tiles at random, and the function that says so; some rows of tiles may be empty."""
    stored = rng.random((tiles, tiles)) < share
    return lambda i, j: stored[i // 128, j // 128]


@pytest.mark.parametrize("head, dtype", [(40, ml_dtypes.bfloat16), (64, np.float32), (64, ml_dtypes.bfloat16),
                                         (128, np.float32), (128, ml_dtypes.bfloat16), (200, np.float32),
                                         (256, ml_dtypes.bfloat16), (512, np.float32)])
@pytest.mark.parametrize("target", ["trn1", "trn2"])
def test_many_tiles_of_queries(head, dtype, target):
    """Groups of queries that meet tiles of keys in any way; scores that make sums too small and too large."""
    before = sparse.get_target()
    sparse.set_target(target)
    for number, share in enumerate((0.2, 0.6)):
        rng = generator(head, number)
        function = block_pattern(rng, 8, share)
        Q, K, V, dO = arrays(rng, (930, head), dtype)
        check("simulator", Q, K, V, dO, function, dense_mask(function, 930, 930))
    # Every row has a score of about +-90 and others below: exp() of them is out of the range of float32.
    for sign in (-1, 1):
        K[:, 0], Q[:, 0] = sign, 90 * head ** 0.5
        got = sparse.block_sparse_attention(Q, K, V, function, backend="simulator")
        want = attention64(Q, K, V, dense_mask(function, 930, 930), head ** -0.5)[0]
        assert relative(got, want) <= (2e-2 if dtype == ml_dtypes.bfloat16 else 1e-4)
    sparse.set_target(before)


def test_large_values_do_not_overflow():
    rng = generator()
    function = PATTERNS["full"]
    Q, K, V, _ = arrays(rng, (300, 16))
    Q, V = 15 * Q, 1e30 * V
    got = sparse.block_sparse_attention(Q, K, V, function, backend="simulator")
    want = attention64(Q, K, V, dense_mask(function, 300, 300), 0.25)[0]
    assert relative(got / 1e30, want / 1e30) < 1e-4


def test_one_pattern_for_many_calls():
    pattern = sparse.AttentionPattern(PATTERNS["causal"], 300)
    assert pattern.tiles == 6 and pattern.density == pytest.approx(6 / 9)
    Q, K, V, _ = arrays(generator(), (300, 16))
    got = sparse.block_sparse_attention(Q, K, V, pattern, backend="simulator")
    assert relative(got, attention64(Q, K, V, dense_mask(PATTERNS["causal"], 300, 300), 0.25)[0]) < 1e-5
    with pytest.raises(ValueError, match="^pattern:"):
        sparse.block_sparse_attention(Q[1:], K[1:], V[1:], pattern)


@pytest.mark.parametrize("backend", ["native", "simulator"])
def test_no_keys_and_no_queries(backend):
    for queries, keys in ((4, 0), (0, 4), (0, 0)):
        Q, K, V, dO = arrays(generator(), (2, queries, 8), keys=keys)
        got = sparse.block_sparse_attention(Q, K, V, PATTERNS["full"], backend=backend)
        np.testing.assert_array_equal(got, np.zeros((2, queries, 8)))
        found = sparse.block_sparse_attention_backward(Q, K, V, dO, PATTERNS["full"], backend=backend)
        for gradient, of in zip(found, (Q, K, V)):
            np.testing.assert_array_equal(gradient, np.zeros(of.shape))


def test_a_mask_beside_a_function():
    Q, K, V, _ = arrays(generator(), (150, 16))
    mask = dense_mask(PATTERNS["causal"], 150, 150) & dense_mask(PATTERNS["strided"], 150, 150)
    got = sparse.block_sparse_attention(Q, K, V, PATTERNS["causal"], mask=PATTERNS["strided"])
    assert relative(got, attention64(Q, K, V, mask, 0.25)[0]) < 1e-5


@pytest.mark.parametrize("pattern, options, name", [
    (PATTERNS["causal"], {"mask": np.ones((1, 20, 20))}, "mask"),
    (sparse.AttentionPattern(PATTERNS["causal"], 20), {"mask": PATTERNS["local"]}, "mask"),
    (lambda i, j: np.ones((3, 3)), {}, "pattern"),
    (PATTERNS["causal"], {"scale": "1"}, "scale"),
])
def test_what_no_pattern_takes(pattern, options, name):
    Q, K, V, _ = arrays(generator(), (20, 8))
    with pytest.raises((ValueError, TypeError), match=f"^{name}:"):
        sparse.block_sparse_attention(Q, K, V, pattern, **options)
    for wrong in (-4, 4.5, "a"):
        with pytest.raises((ValueError, TypeError), match="^queries:"):
            sparse.AttentionPattern(PATTERNS["causal"], wrong)


def test_time_goes_with_the_stored_tiles():
    Q, K, V, _ = arrays(generator(), (2048, 64))
    times = []
    for w in (0, 3, 20):
        sparse.block_sparse_attention(Q, K, V, lambda i, j, w=w: abs(i // 128 - j // 128) <= w, backend="native")
        times.append(sparse.last_call().predicted_ns)
    assert times[0] < times[1] / 2 and times[1] < times[2] / 1.5


@pytest.mark.parametrize("change, name", [
    (lambda a: a.update(K=a["K"][1:]), "V"),
    (lambda a: a.update(K=a["K"][:, 1:], V=a["V"][:, 1:]), "K"),
    (lambda a: a.update(V=a["V"][:5]), "V"),
    (lambda a: a.update(Q=a["Q"][0]), "Q"),
    (lambda a: a.update({name: a[name][:, :0] for name in "QKV"}), "Q"),
    (lambda a: a.update(mask_bsr=np.ones((20, 20))), "mask_bsr"),
    (lambda a: a.update(mask_bsr=sparse.BSRMatrix.from_dense(np.ones((9, 9), np.float32))), "mask_bsr"),
])
def test_wrong_arguments_are_named(change, name):
    blocks = sparse.BSRMatrix.from_dense(np.ones((20, 20), np.float32))
    a = dict(zip("QKV", arrays(generator(), (20, 8))), mask_bsr=blocks)
    change(a)
    with pytest.raises((ValueError, TypeError), match=f"^{name}:"):
        sparse.block_sparse_attention_tiled(**a)


def test_heads_that_are_too_long_are_refused_by_kernels():
    Q, K, V, _ = arrays(generator(), (20, 600))
    with pytest.raises(kiln.NkiValidationError, match="sparse.R2"):
        sparse.block_sparse_attention(Q, K, V, PATTERNS["full"], backend="simulator")
    assert sparse.block_sparse_attention(Q, K, V, PATTERNS["full"], backend="native").shape == (20, 600)


@pytest.mark.parametrize("head", [32, 128, 300])
def test_statistics_of_blocks(head):
    """The kernel that trnsparse launches by name, with its blocks gathered; rows with fewer blocks repeat block 0."""
    from kiln import nki
    from kiln.sparse.nki import dispatch, kernels
    rng = np.random.default_rng(head)
    Q, K, V = (rng.standard_normal((384, head)).astype(np.float32) for _ in range(3))
    pattern = sparse.BSRMatrix(np.ones((4, 128, 128), np.float32), [1, 0, 2, 1], [0, 1, 3, 4], (384, 384))
    q, keys, values, slots, blocks = dispatch._attn_gather(Q, K, V, pattern, 0.125)
    assert q.shape == (3, 128, head) and keys.shape == values.shape == (3, 2, 128, head) and (slots, blocks) == (2, 3)
    columns = [[1, 0], [0, 2], [1, 0]]
    np.testing.assert_array_equal(values, V.reshape(3, 128, head)[columns])
    largest, total = nki.simulate(kernels._attn_stats_kernel)(q, keys)
    scores = np.einsum("bqd,bskd->bsqk", 0.125 * Q.reshape(3, 128, head).astype(np.float64),
                       K.reshape(3, 128, head)[columns].astype(np.float64))
    np.testing.assert_allclose(largest[..., 0], scores.max(-1), atol=1e-4)
    np.testing.assert_allclose(total[..., 0], np.exp(scores - scores.max(-1, keepdims=True)).sum(-1), rtol=1e-4)


@pytest.mark.parametrize("step, heads, head", [(2, 5, 31), (3, 3, 128), (2, 9, 128)])
def test_small_groups_of_queries(step, heads, head):
    """Tiles of queries that stand alone: more of them than there are banks share few keys, in one head and the next."""
    rng = generator(step, heads, head)
    Q, K, V, dO = arrays(rng, (heads, 128 * 11 - 5, head), ml_dtypes.bfloat16, keys=60)
    mask = np.repeat(np.arange(11) % step == 0, 128)[:Q.shape[1], None] & np.ones((1, 60), bool)
    rows = np.arange(0, 11, step)
    pattern = sparse.BSRMatrix(np.ones((len(rows), 128, 128), np.float32), np.zeros(len(rows), int),
                               np.searchsorted(rows, np.arange(12)), (Q.shape[1], 60))
    check("simulator", Q, K, V, dO, pattern, mask)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_many_heads(dtype):
    """Heads in a row, and more of them than follow each other without a loop, with rows of tiles left empty."""
    rng = generator(11)
    heads, tiles = 11, 14
    Q, K, V, dO = arrays(rng, (heads, 128 * tiles, 32), dtype)
    places = rng.random((tiles, tiles)) < 0.8
    places[5] = False
    rows, columns = np.nonzero(places)
    pattern = sparse.BSRMatrix(np.ones((len(rows), 128, 128), np.float32), columns,
                               np.searchsorted(rows, np.arange(tiles + 1)), (128 * tiles, 128 * tiles))
    check("simulator", Q, K, V, dO, pattern, places.repeat(128, 0).repeat(128, 1))
    assert "loop" in str(sparse.last_call().program)
