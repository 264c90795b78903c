"""Views alias, results are written back, numbers are copies: as in NumPy."""

import numpy as np
import pytest

import kiln
from against_numpy import check, sample

G = sample(np.float32, (6, 8), 1, False)


def slice_adds(a):
    v = a[2:5]
    v += 1
    return a


def transposed_is_written(a):
    v = a.T
    v[0] = 5
    return a, v


def flat_view(a):
    a.reshape(-1)[3] = 9
    a.ravel()[5] = 1
    a.flat[7] = 2
    return a


def reshape_that_copies(a):
    v = a.T.reshape(-1)
    v[3] = 9
    return a, v


def view_of_view(a):
    v = a[0]
    w = v[1:4]
    w[:] = 0
    a[0, 0] = 3
    return v, w


def element_is_a_number(a):
    v = a[0, 0]
    v += 1
    w = a[1, 1]
    a[1, 1] = 7
    return a, v, w


def copy_does_not_alias(a):
    v = a[1:3]
    b = v.copy()
    v *= 2
    return a, b


def argument_alone(a):
    a += 1


def whole_assignment(a):
    a[...] = a[::-1]


def overlapping(a):
    a[1:] = a[:-1]
    return a


def pieces(a):
    x, y = np.split(a, 2)
    x -= y
    return a


def number_is_not_shared(a):
    s = a.sum()
    t = s
    s += 1
    return s, t


def array_made_inside(a):
    b = np.zeros((3, 4))
    c = b[1]
    c[:] = a[0, :4]
    b[2, 1:3] = a[1, 1]
    return b


def rows_of_a_loop(a):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        out[i] = a[i] * i
    for row in a:
        row *= 2
    return out


def out_is_a_view(a):
    np.multiply(a[0], 2, out=a[1])
    np.add(a, 1, out=a, where=a > 0)
    a.clip(-1, 1, out=a)
    return np.sum(a, axis=0, out=np.zeros(8, np.float32))


def sorted_in_place(a):
    a.sort(axis=1)
    a[0].fill(3)


def diagonal_sees_changes(a):
    d = np.diagonal(a)
    a[0, 0] = 100
    return d


def rows_change_places(a):
    a[0], a[1] = a[1].copy(), a[0].copy()
    return a


def swapped_and_cut(a):
    b = a.swapaxes(0, 1)[2:4]
    b[...] = -1
    return a[..., None].squeeze(-1)


def many_operators(a):
    a /= 2
    a **= 2
    a -= 1
    a *= a
    return a


def bits(a):
    v = a.view(np.int32)
    v[0] = 0
    return a, v


def broadcast_then_copied(a):
    b = np.broadcast_to(a[0], (3, 8)).copy()
    b[1] = 0
    return b


def squeezed(a):
    b = np.expand_dims(a, 1)
    np.squeeze(b)[0] = 4
    return a


@pytest.mark.parametrize("function", [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__
                                      and callable(f)], ids=lambda f: f.__name__)
def test_alias(function):
    check(function, G)


def test_results_that_are_arguments_are_them():
    x = G.copy()
    assert kiln.jit(lambda a: a)(x) is x
    turned = kiln.jit(lambda a: a.T[1:])(x)
    assert np.shares_memory(turned, x)
    fresh = kiln.jit(lambda a: a + 0)(x)
    assert not np.shares_memory(fresh, x)


def test_equal_results_do_not_share_memory():
    def f(a, i):
        a[i] = 1
        return a.copy()

    x = G.copy()
    y = kiln.jit(f)(x, np.int32(2))
    assert not np.shares_memory(x, y)
    np.testing.assert_array_equal(x, y)


def test_the_same_array_twice():
    def f(a, b):
        a += 1
        return a + b

    x, y = G.copy(), G.copy()
    np.testing.assert_array_equal(kiln.jit(f)(x, x), f(y, y))
    np.testing.assert_array_equal(x, y)


def test_arguments_that_overlap_are_refused_when_written():
    def f(a, b):
        a += 1
        return b * 2

    x = G.copy()
    with pytest.raises(ValueError, match="share no memory"):
        kiln.jit(f)(x[1:], x[:-1])
    np.testing.assert_array_equal(x, G)
    np.testing.assert_array_equal(kiln.jit(lambda a, b: a + b)(x[1:], x[:-1]), x[1:] + x[:-1])


def test_arguments_with_any_strides():
    check(slice_adds, np.asfortranarray(G))
    check(flat_view, np.asfortranarray(G))
    check(lambda a: a * 2, G[::2, ::-1])
    x = np.zeros((12, 8), np.float32)
    kiln.jit(argument_alone)(x[::2])
    np.testing.assert_array_equal(x[:4, 0], [1, 0, 1, 0])


def test_read_only_stays():
    x = G.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        kiln.jit(argument_alone)(x)
    with pytest.raises(ValueError, match="read-only"):
        kiln.jit(lambda a: np.broadcast_to(a[0], (3, 8)).__setitem__(0, 1))(G.copy())


def row_of_the_run(a, t):
    row = a[t]
    row += 1
    column = a[:, t + 1]
    column[1:3] = 7
    part = a[t, 2:5]
    a[t] *= 2
    return part, column


def row_of_a_table(a, t):
    table = np.zeros((6, 8), np.float32)
    row = table[t]
    row[:] = a[0]
    table[1] = 3
    return table, row


def loop_over_rows(a, t):
    def body(i, x):
        row = x[i]
        row += i
        row[2:] *= 2
        return x

    return kiln.fori_loop(0, 6, body, a)


def numbers_are_their_own(a, t):
    total = a.sum()
    one, other = t.reshape(1, 1), total[None]
    one += 5
    other += 1
    return t, one, total, other


@pytest.mark.parametrize("function", [row_of_the_run, row_of_a_table, numbers_are_their_own])
@pytest.mark.parametrize("options", [{}, {"backend": "native"}, {"kernel_ops": 2}])
def test_indices_of_the_run_give_views(function, options):
    check(function, np.round(G * 4), np.int32(3), **options)


def test_rows_of_a_loop_are_views():
    x = np.round(G * 4)
    want = x.copy()
    for i in range(6):
        want[i] += i
        want[i, 2:] *= 2
    np.testing.assert_array_equal(kiln.jit(loop_over_rows)(x, np.int32(0)), want)


def test_an_index_that_is_an_array_gives_a_copy():
    check(row_of_the_run, np.round(G * 4)[:, :4].copy(), np.array(3, np.int32)[()])

    def row(a, t):
        part = a[t]
        part += 1
        return a, part

    check(row, G, np.array(2, np.int32))


@pytest.mark.parametrize("order", [np.asfortranarray, lambda x: x[::-1], lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
@pytest.mark.parametrize("options", [{}, {"kernel_ops": 1}])
def test_arguments_of_any_order_are_written(order, options):
    def write(x, t):
        x[t, 1:3] = 4
        x[:, t] = 5
        return x.max()

    x, want = order(G.copy()), order(G.copy())
    kiln.jit(write, **options)(x, np.int32(2))
    write(want, 2)
    np.testing.assert_array_equal(x, want)
