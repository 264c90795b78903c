"""kiln.jit on ranks: NumPy functions with collectives, against NumPy on the whole problem."""

import numpy as np
import pytest

import kiln
import kiln.numpy as kn
from against_numpy import SEED

RANKS = 4


@pytest.fixture
def rng():
    print(f"KILN_SEED={SEED}")
    return np.random.default_rng(SEED)


def _parts(rng, *shape):
    """An array for each rank, of small integers: sums are exact in any order."""
    return [rng.integers(-9, 9, shape).astype(np.float32) for _ in range(RANKS)]


def _same(got, wanted, backend):
    assert len(got) == RANKS
    for mine, whole in zip(got, wanted):
        np.testing.assert_allclose(mine, whole, rtol=1e-5, atol=1e-5, err_msg=backend)


BACKENDS = ["simulator", "native"]
CORES = pytest.mark.parametrize("backend, lnc", [("simulator", 1), ("simulator", 2), ("native", 1)])


@CORES
def test_every_collective(backend, lnc, rng):
    x = _parts(rng, 8, 4)
    whole = np.stack(x)
    ring = [(r, (r + 1) % RANKS) for r in range(RANKS)]
    pairs = [[0, 2], [3, 1]]
    cases = [
        (lambda x: kn.all_reduce(x), [whole.sum(0)] * RANKS),
        (lambda x: kn.all_reduce(x, np.maximum), [whole.max(0)] * RANKS),
        (lambda x: kn.all_reduce(x, "min", groups=pairs), [whole[p].min(0) for p in ([0, 2], [3, 1], [0, 2], [3, 1])]),
        (lambda x: kn.all_gather(x), [np.concatenate(x)] * RANKS),
        (lambda x: kn.all_gather(x, -1), [np.concatenate(x, 1)] * RANKS),
        (lambda x: kn.reduce_scatter(x), np.split(whole.sum(0), RANKS)),
        (lambda x: kn.reduce_scatter(x, 1), np.split(whole.sum(0), RANKS, 1)),
        (lambda x: kn.all_to_all(x), [np.concatenate([np.split(a, RANKS)[r] for a in x]) for r in range(RANKS)]),
        (lambda x: kn.all_to_all(x, 0, 1), [np.concatenate([np.split(a, RANKS)[r] for a in x], 1)
                                            for r in range(RANKS)]),
        (lambda x: kn.collective_permute(x, ring), [x[(r - 1) % RANKS] for r in range(RANKS)]),
    ]
    for function, wanted in cases:
        _same(kiln.jit(function, ranks=RANKS, backend=backend, lnc=lnc)(kiln.per_rank(x)), wanted, backend)


@CORES
def test_tensor_parallel_mlp(backend, lnc, rng):
    """Columns of the first matrix and rows of the second on each rank, one sum at the end."""
    x, up, down = (rng.standard_normal(s).astype(np.float32) / 8 for s in ((16, 32), (32, 64), (64, 32)))

    def mlp(x, up, down):
        return kn.all_reduce(np.maximum(x @ up, 0) @ down)

    got = kiln.jit(mlp, ranks=RANKS, backend=backend, lnc=lnc)(x, kiln.per_rank(np.split(up, RANKS, 1)),
                                                                kiln.per_rank(np.split(down, RANKS)))
    wanted = np.maximum(x.astype(np.float64) @ up, 0) @ down
    for mine in got:
        np.testing.assert_allclose(mine, wanted, rtol=2e-3, atol=2e-3)


@CORES
def test_in_loops_and_branches(backend, lnc, rng):
    x = _parts(rng, 6, 4)
    ring = [(r, (r + 1) % RANKS) for r in range(RANKS)]

    def around(x):
        """Every rank sees the part of every other one."""
        def step(i, state):
            part, total = state
            return kn.collective_permute(part, ring), total + part * (i + 1)

        return kiln.fori_loop(0, RANKS, step, (x, x * 0))[1]

    def until(x):
        return kiln.while_loop(lambda s: kn.all_reduce(np.max(np.abs(s)), "max") > 1, lambda s: s / 2, x)

    largest = max(np.abs(a).max() for a in x)
    halvings = int(np.ceil(np.log2(largest)))
    cases = [
        (around, [sum(x[(r - i) % RANKS] * (i + 1) for i in range(RANKS)) for r in range(RANKS)]),
        (until, [a / 2**halvings for a in x]),
    ]
    for function, wanted in cases:
        _same(kiln.jit(function, ranks=RANKS, backend=backend, lnc=lnc)(kiln.per_rank(x)), wanted, backend)


def test_ranks_that_leave_a_loop(rng):
    def doubled(x):
        return kiln.while_loop(lambda s: s[0] < 9, lambda s: kn.all_reduce(s), x)

    x = [np.full(4, v, np.float32) for v in (1, 1, 10, 1)]
    for backend, code in (("native", "tensor.R24"), ("simulator", "run.R17")):
        with pytest.raises(kiln.NkiValidationError) as error:
            kiln.jit(doubled, ranks=RANKS, backend=backend)(kiln.per_rank(x))
        assert code in str(error.value) and "rank 2" in str(error.value)


def test_transpose_of_a_matrix_in_parts(rng):
    whole = rng.standard_normal((8, 8)).astype(np.float32)
    turned = kiln.jit(lambda rows: kn.all_to_all(rows, 1, 0).T, ranks=RANKS)
    got = turned(kiln.per_rank(np.split(whole, RANKS)))
    np.testing.assert_array_equal(np.concatenate(got), whole.T)


def test_arguments_that_are_written(rng):
    x = _parts(rng, 3, 5)
    mine = [a.copy() for a in x]

    def average(x):
        x[...] = kn.all_reduce(x) / RANKS

    kiln.jit(average, ranks=RANKS)(kiln.per_rank(mine))
    for a in mine:
        np.testing.assert_allclose(a, np.sum(x, 0) / RANKS, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_are_exact(backend, rng):
    """Ranks reduce in float32, so integers are gathered and reduced on the core; sums wrap."""
    x = [rng.integers(-(2**31), 2**31, (8, 3), dtype=np.int64).astype(np.int32) for _ in range(RANKS)]
    with np.errstate(over="ignore"):
        total = np.sum(x, 0, dtype=np.int32)
    pairs = [[2, 0], [1, 3]]
    cases = [
        (lambda x: kn.all_reduce(x), [total] * RANKS),
        (lambda x: kn.reduce_scatter(x), np.split(total, RANKS)),
        (lambda x: kn.all_reduce(x, "max"), [np.max(x, 0)] * RANKS),
        (lambda x: kn.reduce_scatter(x.T, 1, "min", groups=pairs),
         [np.split(np.min([x[r] for r in group], 0).T, 2, 1)[group.index(r)]
          for r in range(RANKS) for group in pairs if r in group]),
    ]
    for function, wanted in cases:
        got = kiln.jit(function, ranks=RANKS, backend=backend)(kiln.per_rank(x))
        for mine, whole in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(mine, whole, err_msg=f"{backend}, KILN_SEED={SEED}")


def test_time_of_ranks():
    lowered = kiln.jit(lambda x: kn.all_reduce(x), ranks=RANKS).lower("float32[128,512]")
    told = lowered.time().as_dict()
    assert told["topology"] == "trn2.48xlarge" and [r["name"] for r in told["ranks"]] == ["ranks 0-3"]
    assert "all_reduce(" in lowered.ir and "all_reduce(" in lowered.nki


def test_refusals(rng):
    x = _parts(rng, 4, 4)
    for function, ranks, code in [
        (lambda x: kn.all_reduce(x), None, "numpy.R20"),
        (lambda x: kn.all_reduce(x, groups=[[0, 1]]), RANKS, "numpy.R21"),
        (lambda x: kn.all_reduce(x, groups=3), RANKS, "numpy.R21"),
        (lambda x: kn.all_reduce(x, "multiply"), RANKS, "numpy.R21"),
        (lambda x: kn.collective_permute(x, [(0, 1), (1, 2), (2, 3), (3, 3)]), RANKS, "numpy.R21"),
        (lambda x: kn.reduce_scatter(x[:3]), RANKS, "tensor.R23"),
    ]:
        with pytest.raises(kiln.NkiValidationError) as error:
            kiln.jit(function, ranks=ranks)(kiln.per_rank(x) if ranks else x[0])
        assert code in str(error.value)
    with pytest.raises(kiln.NkiValidationError, match="rank 2"):
        kiln.jit(lambda x: kn.all_reduce(x), ranks=RANKS)(kiln.per_rank([x[0], x[1], x[2][:2], x[3]]))
