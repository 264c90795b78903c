"""t.rearrange against NumPy: split, permute and merge by name."""

import itertools

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def rearranged(x, src, dst, sizes):
    """What x.rearrange means: NumPy's reshape, transpose, reshape; `sizes` has all names."""
    flat = [n for g in src for n in g]
    order = [flat.index(n) for g in dst for n in g]
    split = x.reshape([sizes[n] for n in flat]).transpose(order)
    return split.reshape([int(np.prod([sizes[n] for n in g])) for g in dst])


def run_rearrange(x, src, dst, fixed, on_chip):
    def kernel(x):
        source = x
        if on_chip:
            source = nl.ndarray(x.shape, dtype=x.dtype)
            nisa.dma_copy(source, x)
        view = source.rearrange(src, dst, fixed)
        out = nl.ndarray(view.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, view)
        return out

    return nki.simulate(kernel)(x)


def as_pattern(groups):
    """A dimension of one name is the name or a tuple of it."""
    return tuple(g[0] if len(g) == 1 else tuple(g) for g in groups)


@pytest.mark.parametrize("on_chip", [False, True])
def test_splits_and_permutations(on_chip):
    sizes = dict(p=4, a=2, b=3, c=5)
    src = [["p"], ["a", "b"], ["c"]]
    x = np.arange(4 * 6 * 5, dtype=np.float32).reshape(4, 6, 5)
    for free in itertools.permutations("abc"):
        dst = [["p"], *([n] for n in free)]
        for fixed in ({"a": 2}, {"b": 3}, {"a": 2, "b": 3, "p": 4}):
            got = run_rearrange(x, as_pattern(src), as_pattern(dst), fixed, on_chip)
            np.testing.assert_array_equal(got, rearranged(x, src, dst, sizes))


@pytest.mark.parametrize(("src", "dst", "shape", "sizes"), [
    ([["p"], ["a"], ["b"]], [["p"], ["a", "b"]], (4, 6, 5), dict(p=4, a=6, b=5)),
    ([["n", "p"], ["f"]], [["p"], ["n"], ["f"]], (8, 5), dict(n=2, p=4, f=5)),
    ([["p"], ["a", "b", "c"]], [["p"], ["b"], ["c"], ["a"]], (4, 24), dict(p=4, a=2, b=3, c=4)),
    ([["p"], ["a"], ["b"], ["c"]], [["p"], ["c"], ["a", "b"]], (4, 2, 3, 5), dict(p=4, a=2, b=3, c=5)),
])
def test_splits_and_merges_in_hbm(src, dst, shape, sizes):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    got = run_rearrange(x, as_pattern(src), list(as_pattern(dst)), sizes, False)
    np.testing.assert_array_equal(got, rearranged(x, src, dst, sizes))


@pytest.mark.parametrize(("arguments", "match"), [
    ((("p", "a", "b"), ("p", "b", "c")), "names p, a, b on one side and p, b, c on the other"),
    ((("p", "a", "a"), ("p", "a", "a")), "the name a twice"),
    ((("p", "a"), ("a", "p")), "a pattern of 2 dimensions for a tensor of 3"),
    ((("p", ("a", "c"), "b"), ("p", "c", "a", "b")), "no sizes for a and c"),
    ((("p", ("a", "c"), "b"), ("p", "c", "a", "b"), {"a": 4}), "the product of the sizes"),
    ((("p", ("a", "c"), "b"), ("p", "c", "a", "b"), {"a": 0}), "the product of the sizes"),
    ((("p", "a", "b"), ("p", "b", "a"), {"z": 4}), "a size for z"),
    ((("p", "a", "b"), ("p", "b", "a"), [2]), "fixed_sizes of type list"),
    ((("p", "a", "b"), ("a", "p", "b")), "puts dimension 1 first"),
    ((("p", "a", "b"), ("p", ("b", "a"))), "do not follow each other in memory"),
    (((("q", "p"), "a", "b"), ("q", "p", "a", "b"), {"q": 2}), "reshape_dim of dimension 0"),
    (("p a b", "p b a"), "a pattern of type str"),
    (((1, "a", "b"), (1, "b", "a")), "a name of type int"),
    ((("p", (), "b"), ("p", "b")), "a dimension without a name"),
])  # fmt: skip
def test_bad_patterns_are_refused(arguments, match):
    def kernel(x):
        tile = nl.ndarray((4, 6, 5), dtype=nl.float32)
        tile.rearrange(*arguments)
        return x

    with pytest.raises(kiln.NkiValidationError, match=match):
        nki.simulate(kernel)(np.ones((2, 2), np.float32))
