"""kiln.jit on ranks: steps around rings, numbers of ranks, parts of any size, against NumPy on the whole problem."""

import numpy as np
import pytest

import kiln
import kiln.numpy as kn
from against_numpy import SEED

RANKS = 4
TWO_RINGS = [[2, 0], [1, 3]]
CORES = pytest.mark.parametrize("backend, lnc", [("simulator", 1), ("simulator", 2), ("native", 1)])


@pytest.fixture
def rng():
    print(f"KILN_SEED={SEED}")
    return np.random.default_rng(SEED)


def _parts(rng, *shape, ranks=RANKS, dtype=np.float32):
    return [rng.integers(-9, 9, shape).astype(dtype) for _ in range(ranks)]


def _same(got, wanted):
    for mine, whole in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(mine, whole, err_msg=f"KILN_SEED={SEED}")


def _before(rank, groups):
    group = next(g for g in groups if rank in g)
    return group[group.index(rank) - 1]


@CORES
def test_a_step_around_a_ring(backend, lnc, rng):
    x, y = _parts(rng, 6, 5), _parts(rng, 6, 5)
    counts = _parts(rng, 7, dtype=np.int32)
    ring = [list(range(RANKS))]
    cases = [
        (lambda x, y: kn.collective_permute_implicit(x), lambda r: x[_before(r, ring)]),
        (lambda x, y: kn.collective_permute_implicit(x, groups=TWO_RINGS), lambda r: x[_before(r, TWO_RINGS)]),
        (lambda x, y: kn.collective_permute_implicit(x, channels=2), lambda r: x[_before(r, ring)]),
        (lambda x, y: kn.collective_permute_implicit(x[0, :], channels=2), lambda r: x[_before(r, ring)][0]),
        (lambda x, y: kn.collective_permute_implicit_reduce(x, y), lambda r: x[_before(r, ring)] + y[_before(r, ring)]),
        (lambda x, y: kn.collective_permute_implicit_reduce(x, y, "max", channels=2, groups=TWO_RINGS),
         lambda r: np.maximum(x[_before(r, TWO_RINGS)], y[_before(r, TWO_RINGS)])),
    ]
    for function, wanted in cases:
        got = kiln.jit(function, ranks=RANKS, backend=backend, lnc=lnc)(kiln.per_rank(x), kiln.per_rank(y))
        _same(got, [wanted(r) for r in range(RANKS)])
    got = kiln.jit(lambda n: kn.collective_permute_implicit_reduce(n, n * n, np.minimum), ranks=RANKS, backend=backend,
                   lnc=lnc)(kiln.per_rank(counts))
    _same(got, [np.minimum(counts[r - 1], counts[r - 1] ** 2) for r in range(RANKS)])


@CORES
def test_numbers_of_ranks(backend, lnc, rng):
    table = rng.standard_normal((RANKS, 5)).astype(np.float32)
    jitted = lambda f: kiln.jit(f, ranks=RANKS, backend=backend, lnc=lnc)  # noqa: E731
    _same(jitted(lambda t: t[kn.rank_id()] * 2)(table), table * 2)
    _same(jitted(lambda t: np.float32(1) * kn.rank_id() + t * 0)(np.zeros(3, np.float32)),
          [np.full(3, r) for r in range(RANKS)])
    for step in (0, 1, 6):
        came = jitted(lambda t, step: t[kn.collective_permute_implicit_current_processing_rank_id(step, channel=1)])
        _same(came(table, np.int32(step)), [table[(r - step) % RANKS] for r in range(RANKS)])


@CORES
@pytest.mark.parametrize("reduces", [False, True])
def test_attention_like_loop_around_the_ring(backend, lnc, reduces, rng):
    """Every rank multiplies its columns of `a` with the rows of `b` that come around, whosever they are."""
    a, b = rng.integers(-4, 4, (6, 8)).astype(np.float32), rng.integers(-4, 4, (8, 5)).astype(np.float32)

    def product(a, part):
        rows = part.shape[0]

        def step(i, state):
            part, total = state
            who = kn.collective_permute_implicit_current_processing_rank_id(i)
            total = total + kn.dynamic_slice(a, who * rows, rows, axis=1) @ part
            passed = (kn.collective_permute_implicit_reduce(part, np.zeros_like(part)) if reduces
                      else kn.collective_permute_implicit(part))
            return passed, total

        start = np.zeros((a.shape[0], part.shape[1]), np.float32)
        return kiln.fori_loop(0, RANKS, step, (part, start))[1]

    got = kiln.jit(product, ranks=RANKS, backend=backend, lnc=lnc)(a, kiln.per_rank(np.split(b, RANKS)))
    _same(got, [a @ b] * RANKS)


def _gathered(x, into, counts, displs):
    """What all_gather_v leaves on every rank."""
    out = []
    for own in into:
        whole = own.reshape(-1).copy()
        for sender, (part, n, d) in enumerate(zip(x, counts, displs)):
            at = sender * (whole.size // len(x))
            whole[at : at + n] = part.reshape(-1)[d : d + n]
        out.append(whole.reshape(own.shape))
    return out


@pytest.mark.parametrize("backend", ["simulator", "native"])
@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_all_gather_of_parts(backend, target, rng):
    x, into = _parts(rng, 5, 6), _parts(rng, 4, 12)
    counts = [np.int32(n) for n in rng.integers(0, 13, RANKS)]
    displs = [np.int32(n) for n in rng.integers(0, 18, RANKS)]
    f = kiln.jit(lambda x, into, n, d: kn.all_gather_v(x, n, d, into=into), ranks=RANKS, backend=backend, lnc=2,
                 target=target)
    got = f(*map(kiln.per_rank, (x, into, counts, displs)))
    _same([y for y, _ in got], _gathered(x, into, counts, displs))
    _same([n for _, n in got], [counts] * RANKS)


@pytest.mark.parametrize("backend", ["simulator", "native"])
@pytest.mark.parametrize("placed", [False, True])
def test_all_to_all_of_parts(backend, placed, rng):
    """Rows for other ranks, as many as each wants: experts of a mixture."""
    ranks, slot = 8, 6
    x, into = _parts(rng, ranks * slot, ranks=ranks), _parts(rng, ranks * slot, ranks=ranks)
    counts = rng.integers(0, slot + 1, (ranks, ranks)).astype(np.int32)
    displs = np.cumsum(counts, 1) - counts
    places = np.arange(ranks)[::-1] * slot if placed else np.arange(ranks) * slot

    def f(x, into, counts, places):
        return kn.all_to_all_v(x, counts, into=into, recv_displs=places if placed else None)

    got = kiln.jit(f, ranks=ranks, backend=backend, lnc=2, target="trn3")(
        kiln.per_rank(x), kiln.per_rank(into), kiln.per_rank(list(counts)), places.astype(np.int32))
    for receiver, (y, came) in enumerate(got):
        whole = into[receiver].copy()
        for sender in range(ranks):
            n, d = counts[sender, receiver], displs[sender, receiver]
            whole[places[sender] : places[sender] + n] = x[sender][d : d + n]
        np.testing.assert_array_equal(y, whole, err_msg=f"KILN_SEED={SEED}")
        np.testing.assert_array_equal(came, counts[:, receiver])


def test_instructions(rng):
    lowered = kiln.jit(lambda x: kn.collective_permute_implicit(x, channels=2), ranks=RANKS).lower("float32[128,512]")
    assert "collective_permute_implicit(" in lowered.ir and "collective_permute_implicit(" in lowered.nki
    assert "channel_ids=(0, 1)" in lowered.nki
    assert [r["name"] for r in lowered.time().as_dict()["ranks"]] == ["ranks 0-3"]


def test_refusals(rng):
    x = _parts(rng, 4, 4)
    into = np.zeros(8, np.float32)
    for function, options, code in [
        (lambda x: kn.rank_id() + x, dict(ranks=None), "numpy.R20"),
        (lambda x: kn.collective_permute_implicit(x), dict(ranks=None), "numpy.R20"),
        (lambda x: kn.all_gather_v(x, 1, into=into), dict(ranks=None), "numpy.R20"),
        (lambda x: kn.collective_permute_implicit(x, groups=[[0, 1]]), {}, "numpy.R21"),
        (lambda x: kn.collective_permute_implicit(x, channels=1.5), {}, "numpy.R21"),
        (lambda x: kn.collective_permute_implicit_reduce(x, x, "multiply"), {}, "numpy.R21"),
        (lambda x: kn.collective_permute_implicit(x, channels=5), {}, "tensor.R26"),
        (lambda x: kn.collective_permute_implicit(x, channels=3), {}, "collective_permute_implicit.R10"),
        (lambda x: kn.collective_permute_implicit_reduce(x, x[0]), {}, "tensor.R11"),
        (lambda x: kn.all_to_all_v(x, [1, 1], into=into)[0], {}, "tensor.R12"),
        (lambda x: kn.all_gather_v(x, 1, into=into.astype(np.int32))[0], {}, "tensor.R11"),
        (lambda x: kn.all_gather_v(x, 3, into=into)[0], dict(backend="native"), "tensor.R25"),
        (lambda x: kn.all_gather_v(x, 3, into=into)[0], dict(lnc=2), "all_gather_v.R9"),
        (lambda x: kn.all_gather_v(x, 2, into=into)[0], dict(lnc=1), "all_gather_v.R11"),
        (lambda x: kn.all_to_all_v(x, [1] * RANKS, into=into)[0], dict(lnc=2), "all_to_all_v.R11"),
    ]:
        options = {"ranks": RANKS, **options}
        with pytest.raises(kiln.NkiValidationError) as error:
            kiln.jit(function, **options)(kiln.per_rank(x) if options["ranks"] else x[0])
        assert code in str(error.value), code
