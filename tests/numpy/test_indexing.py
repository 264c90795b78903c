"""Reading and writing by every kind of index, against NumPy."""

import numpy as np
import pytest

from against_numpy import check, sample

G, T, V = (
    sample(np.float32, (6, 8), 1, False),
    sample(np.float32, (3, 4, 5), 2, False),
    sample(np.float32, (9,), 3, False),
)
J, K = np.array([2, 0, -1], np.int32), np.array([[1], [3]], np.int32)
ROWS = np.array([1, 0, 1, 1, 0, 0], bool)


def _compiled(expression, *names):
    return eval(f"lambda {', '.join(names)}: {expression}", {"np": np, "ROWS": ROWS, "put": _put})


def _put(x, key, value):
    x[key] = value
    return x


@pytest.mark.parametrize("key", [
    "0", "-1", "1:3", ":, 2", "::2", "::-1", "4:1:-2", "1:100", "..., 0", "None", "0, None, 1:", "[0, 2, 5]", "[-1],",
    "[[0, 1], [2, 3]]", ":, [1, 3, -1]", "[0, 1], [2, 3]", "0, [1, 2]", "[1, 2], 0", "3:3", "np.array([], int)", "ROWS",
    "np.newaxis, ..., None", "np.int64(2)", "(2, 3)", "...", "slice(None), slice(0, 0)", "-7", "7, 0", "100:, 1",
    "[0, 1, 2], [0, 1]", "9", "0, 0, 0", "np.arange(40) % 6"])
def test_read(key):
    check(_compiled(f"x[{key}]", "x"), G)


@pytest.mark.parametrize("key", [
    "0, :, 1", "..., 1:3", "0, [1, 2], :", "[0, 1], :, [2, 3]", ":, [1, 2], [0, 4]", "0, :, [1, 2]",
    "[[0], [2]], :, [1, 4]", ":, None, [0, 1]", "1, ..., [0]", "np.ix_([0, 2], [1, 3], [0])", "[0, 2], ..., ::-1",
    "np.ones((3, 4), bool)", "[True, False, True]", "[0, 1], None, [1, 2]", "0, [1], [2], ..."])
def test_read_of_three_dimensions(key):
    check(_compiled(f"x[{key}]", "x"), T)


@pytest.mark.parametrize(
    "key",
    [
        "j",
        ":, j",
        "j, j",
        "j, 1",
        "1, j",
        "k, j",
        "..., j",
        "j, 1:3",
        "None, j",
        "j[0]",
        ":, j[0]",
        "j[0], j[1]",
        "j[:, None], j",
        "-1 * j",
        "1:4, j",
        "j, ::2",
        "[0, 1, 2], j",
    ],
)
def test_read_by_indices_of_the_run(key):
    check(_compiled(f"x[{key}]", "x", "j", "k"), G, J, K)


@pytest.mark.parametrize(
    "key", ["j, :, j", "0, j", ":, j", ":, :, j", "j, ..., 0", ":, j, j", "j[0], :, j[1]", "j, None, j"]
)
def test_read_of_three_dimensions_by_indices_of_the_run(key):
    check(_compiled(f"x[{key}]", "x", "j"), T, J)


@pytest.mark.parametrize("value", ["7", "np.float32(2.5)", "1.5", "True", "x[0, 0]"])
@pytest.mark.parametrize(
    "key",
    [
        "0",
        "-1",
        "slice(1, 3)",
        "np.s_[:, 2]",
        "np.s_[::2]",
        "np.s_[::-1]",
        "np.s_[4:1:-2]",
        "np.s_[1:100]",
        "np.s_[..., 0]",
        "[0, 2, 5]",
        "np.s_[:, [1, 3, -1]]",
        "np.s_[[0, 1], [2, 3]]",
        "np.s_[0, [1, 2]]",
        "np.s_[3:3]",
        "np.s_[1:5:2, 2:7:3]",
        "np.array([0, 1, 0])",
        "ROWS",
        "x < 0",
        "np.s_[..., None]",
        "np.s_[ROWS, 1:3]",
    ],
)
def test_write(key, value):
    check(_compiled(f"put(x, {key}, {value})", "x"), G)


@pytest.mark.parametrize(
    "key, value",
    [
        ("np.s_[1:4]", "v[:8]"),
        ("np.s_[:, 2]", "v[:6]"),
        ("np.s_[::2, ::2]", "v[:4]"),
        ("np.s_[0, ::-1]", "v[:8]"),
        ("np.s_[[1, 3, 1], 2:5]", "v.reshape(3, 3)"),
        ("np.s_[1:3, 1:4]", "v[:3].reshape(1, 1, 3)"),
        ("np.s_[2]", "np.arange(8)"),
        ("np.s_[0]", "[v[0]] * 8"),
        ("j", "v[:8]"),
        ("np.s_[:, j]", "v[:3]"),
        ("(j, j)", "v[:3]"),
        ("(slice(1, 5), j)", "v[:3]"),
        ("(2, j)", "v[:3]"),
        ("j[0]", "v[:8]"),
        ("np.s_[:, j[0]]", "v[:6]"),
        ("j - 3", "1"),
        ("(j[:, None], j)", "v.reshape(3, 3)"),
        ("np.s_[1:4]", "v[:5]"),
        ("np.s_[j[0], 2:5]", "v[:3]"),
    ],
)
def test_write_of_arrays(key, value):
    check(_compiled(f"put(x, {key}, {value})", "x", "v", "j"), G, V, J)


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.int8, np.uint8, np.bool_])
def test_other_dtypes(dtype):
    x, v = sample(dtype, (6, 8), 1), sample(np.float32, (8,), 2, False)
    check(lambda x, v, j: (x[::2, 1:], x[j], x[:, [0, 3]], x[::-1, ::-3]), x, v, J)
    check(lambda x, v, j: _put(x, np.s_[::2, 1::3], 1), x, v, J)
    check(lambda x, v, j: _put(x, j, v > 0), x, v, J)
    check(lambda x, v, j: _put(x, np.s_[1:3], v), x, v, J)


def _add_masked(x, m):
    x[m] += 1
    x[~m] *= 2
    return x


def test_masks_of_the_run():
    m = G > 0
    check(_add_masked, G, m)
    check(lambda x, y, m: _put(x, m, y[m]), G, G * 2, m)
    check(
        lambda x, m: (x[m].sum(), x[m].mean(), np.sum(x[m]), x[m].any(), np.sqrt(x[m]).max() if False else x[m].std()),
        G,
        m,
    )
    check(lambda x, r, v: _put(x, r, v), G, G[:, 0] > 0, V[:8])
    check(lambda x: _put(x, x > 100, 0), G)
