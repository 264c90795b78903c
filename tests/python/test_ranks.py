"""Kernels on several ranks: what each collective computes, from NumPy; and what ranks do that do not fit together."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest

import kiln
from kiln import NkiUndefinedError, NkiValidationError, nki
from kiln.nki import collectives as ncc
from kiln.nki import isa as nisa
from kiln.nki import language as nl

SEED = int(os.environ["KILN_SEED"])
NP = {"add": np.add, "minimum": np.minimum, "maximum": np.maximum}


def through(x, groups, call, shape, buffer):
    """x through a collective, call(src, dst, group)."""
    shape = tuple(shape or x.shape)
    src = nl.ndarray(x.shape, dtype=x.dtype, buffer=buffer, name="src")
    dst = nl.ndarray(shape, dtype=x.dtype, buffer=buffer, name="dst")
    nisa.dma_copy(dst=src, src=x)
    call([src], [dst], ncc.ReplicaGroup(groups))
    out = nl.ndarray(shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=dst)
    return out


def run(xs, groups, call, shape=None, buffer=nl.shared_hbm, lnc=1):
    return nki.simulate(nki.jit(through)[lnc], ranks=len(xs))(
        kiln.per_rank(xs), tuple(map(tuple, groups)), call, shape, buffer)


def arrays(ranks, shape=(8, 6), dtype=np.float32):
    rng = np.random.default_rng(SEED)
    return [(8 * rng.standard_normal(shape)).astype(dtype) for _ in range(ranks)]


def reduced(xs, op):
    """In ascending order of ranks, in the dtype's own arithmetic; float32 sums of others, rounded once."""
    total = xs[0].astype(np.float32) if xs[0].dtype.kind == "f" else xs[0]
    for x in xs[1:]:
        total = NP[op](total, x.astype(total.dtype))
    return total.astype(xs[0].dtype)


GROUPS = [[[0]], [[0, 1]], [[1, 0], [2, 3]], [[3, 1], [0, 2]], [[5, 3, 1], [0, 2, 4]], [list(range(8))]]
groups_of = pytest.mark.parametrize("groups", GROUPS, ids=str)
in_memory = pytest.mark.parametrize("buffer", [nl.shared_hbm, nl.sbuf], ids=["hbm", "sbuf"])
on_cores = pytest.mark.parametrize("lnc", [1, 2])
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*flow.R4")


def members(groups):
    """(group, place in it) by rank."""
    return {rank: (group, i) for group in groups for i, rank in enumerate(group)}


@groups_of
@in_memory
@on_cores
@pytest.mark.parametrize("op", NP)
def test_all_reduce(groups, buffer, lnc, op):
    where = members(groups)
    xs = arrays(len(where))
    results = run(xs, groups, lambda s, d, g: ncc.all_reduce(s, d, g, getattr(nl, op)), buffer=buffer, lnc=lnc)
    for rank, got in enumerate(results):
        np.testing.assert_array_equal(got, reduced([xs[r] for r in sorted(where[rank][0])], op), f"KILN_SEED={SEED}")


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint32, np.int8])
def test_all_reduce_of_other_dtypes(dtype):
    xs = [np.abs(x) for x in arrays(3, dtype=np.float32)]
    xs = [x.astype(dtype) for x in xs]
    for got in run(xs, [[0, 1, 2]], lambda s, d, g: ncc.all_reduce(s, d, g, nl.add)):
        np.testing.assert_array_equal(got, reduced(xs, "add"))


def test_wide_integers_are_reduced_in_float32():
    """aws-neuron-sdk, compiler/error-codes/EVRF061.rst: the engine of collectives has no integers; beyond 2^24 they are
    rounded."""
    xs = [np.array([[2**24, 2**24 + 1, 2**26 + 5]], np.int32) + r for r in range(2)]
    wanted = (xs[0].astype(np.float32) + xs[1].astype(np.float32)).astype(np.int32)
    assert not np.array_equal(wanted, xs[0] + xs[1])
    with pytest.warns(UserWarning, match="all_reduce.R10"):
        results = run(xs, [[0, 1]], lambda s, d, g: ncc.all_reduce(s, d, g, nl.add))
    for got in results:
        np.testing.assert_array_equal(got, wanted)


@groups_of
@on_cores
@pytest.mark.parametrize("buffer, dim", [(nl.shared_hbm, 0), (nl.sbuf, 0), (nl.sbuf, 1)], ids=["hbm", "sbuf", "sbuf 1"])
def test_all_gather(groups, buffer, dim, lnc):
    where, size = members(groups), len(groups[0])
    xs = arrays(len(where))
    shape = (8 * size, 6) if dim == 0 else (8, 6 * size)
    results = run(xs, groups, lambda s, d, g: ncc.all_gather(s, d, g, dim), shape, buffer, lnc)
    for rank, got in enumerate(results):
        np.testing.assert_array_equal(got, np.concatenate([xs[r] for r in where[rank][0]], dim))


@groups_of
@in_memory
@on_cores
def test_reduce_scatter(groups, buffer, lnc):
    where, size = members(groups), len(groups[0])
    xs = arrays(len(where), (4 * size, 6))
    results = run(xs, groups, lambda s, d, g: ncc.reduce_scatter(s, d, g, 0, nl.add), (4, 6), buffer, lnc)
    for rank, got in enumerate(results):
        group, place = where[rank]
        whole = reduced([xs[r] for r in sorted(group)], "add")
        np.testing.assert_array_equal(got, whole[4 * place:4 * place + 4])


@groups_of
@on_cores
def test_all_to_all(groups, lnc):
    where, size = members(groups), len(groups[0])
    xs = arrays(len(where), (2 * size, 6))
    for rank, got in enumerate(run(xs, groups, lambda s, d, g: ncc.all_to_all(s, d, g, 0), lnc=lnc)):
        group, place = where[rank]
        np.testing.assert_array_equal(got, np.concatenate([xs[r][2 * place:2 * place + 2] for r in group]))


@groups_of
@in_memory
def test_a_step_around_the_ring(groups, buffer):
    where = members(groups)
    xs = arrays(len(where))
    results = run(xs, groups, lambda s, d, g: ncc.collective_permute_implicit([s], [d], g), buffer=buffer)
    for rank, got in enumerate(results):
        group, place = where[rank]
        np.testing.assert_array_equal(got, xs[group[place - 1]])


@in_memory
def test_a_step_that_reduces(buffer):
    xs = arrays(3)
    results = run(xs, [[0, 1, 2]], lambda s, d, g: ncc.collective_permute_implicit_reduce([s], [s], [d], g, nl.add),
                  buffer=buffer)
    for rank, got in enumerate(results):
        np.testing.assert_array_equal(got, 2 * xs[rank - 1])


def test_pairs_and_ranks_that_none_names():
    def call(s, d, g):
        nisa.dma_copy(dst=d[0], src=s[0])
        ncc.collective_permute(s, d, [(0, 2), (2, 0)])

    xs = arrays(4)
    for got, source in zip(run(xs, [[0]], call), (2, 1, 0, 3)):
        np.testing.assert_array_equal(got, xs[source])


def own_row(table, groups, step):
    """The row of a table that the rank's number picks, or the rank whose data is here at a step."""
    rank = ncc.rank_id() if step is None else (
        ncc.collective_permute_implicit_current_processing_rank_id(step, ncc.ReplicaGroup(groups)))
    out = nl.ndarray((1, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=table.ap([[table.shape[1], 1], [1, table.shape[1]]], scalar_offset=rank, indirect_dim=0))
    return out


def test_the_rank_is_a_register():
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    for rank, got in enumerate(nki.simulate(own_row, ranks=4)(table, ((0,),), None)):
        np.testing.assert_array_equal(got, table[rank:rank + 1])
    group = (2, 0, 3, 1)
    for step in range(6):
        for rank, got in enumerate(nki.simulate(own_row, ranks=4)(table, (group,), step)):
            expected = group[(group.index(rank) - step) % 4]
            np.testing.assert_array_equal(got, table[expected:expected + 1])


def with_sizes(x, start, counts, function, groups, lnc):
    src = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="src")
    dst = nl.ndarray(start.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="dst")
    meta = nl.ndarray(counts.shape, dtype=counts.dtype, buffer=nl.shared_hbm, name="meta")
    for to, of in ((src, x), (dst, start), (meta, counts)):
        nisa.dma_copy(dst=to, src=of)
    if lnc == 2:
        nisa.core_barrier(data=src, cores=(0, 1))
    getattr(ncc, function)([src], [dst], ncc.ReplicaGroup(groups), meta)
    out = nl.ndarray(start.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    counted = nl.ndarray(counts.shape, dtype=counts.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=dst)
    nisa.dma_copy(dst=counted, src=meta)
    return out, counted


def test_all_to_all_of_parts_with_sizes():
    rng, n = np.random.default_rng(SEED), 8
    counts = rng.integers(0, 5, (n, n))
    displs = rng.integers(0, 12, (n, n))
    xs, start = [rng.standard_normal(16).astype(np.float32) for _ in range(n)], np.full(4 * n, -1, np.float32)
    metas = [np.stack([counts[r], displs[r], np.full(n, 77)]).astype(np.uint32) for r in range(n)]
    results = nki.simulate(nki.jit(with_sizes)[2], ranks=n)(
        kiln.per_rank(xs), start, kiln.per_rank(metas), "all_to_all_v", (tuple(range(n)),), 2)
    for me, (got, meta) in enumerate(results):
        want = start.copy()
        for r in range(n):
            want[4 * r:4 * r + counts[r, me]] = xs[r][displs[r, me]:displs[r, me] + counts[r, me]]
        np.testing.assert_array_equal(got, want, f"KILN_SEED={SEED}")
        np.testing.assert_array_equal(meta[2], counts[:, me])


def test_all_gather_of_parts_with_sizes():
    xs, start = arrays(4, (8,)), np.zeros(16, np.float32)
    metas = [np.array([[r + 1, 9, 9, 9], [r, 9, 9, 9], [0, 0, 0, 0]], np.uint32) for r in range(4)]
    results = nki.simulate(nki.jit(with_sizes)[2], ranks=4)(
        kiln.per_rank(xs), start, kiln.per_rank(metas), "all_gather_v", ((0, 1, 2, 3),), 2)
    want = np.concatenate([np.concatenate([xs[r][r:2 * r + 1], np.zeros(3 - r, np.float32)]) for r in range(4)])
    for got, meta in results:
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(meta[2], [1, 2, 3, 4])


def steps(x, plan, me):
    """The collectives of a plan: (function, groups or the op, rows), ... for each rank."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    src = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="src")
    nisa.dma_copy(dst=src, src=x)
    for i, (function, groups, rows) in enumerate(plan[me]):
        dst = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name=f"dst{i}")
        nisa.dma_copy(dst=dst, src=x)
        group = ncc.ReplicaGroup(groups)
        if function == "all_to_all":
            ncc.all_to_all([src[0:rows]], [dst[0:rows]], group, 0)
        else:
            ncc.all_reduce([src[0:rows]], [dst[0:rows]], group, getattr(nl, function))
        src = dst
    nisa.dma_copy(dst=out, src=src)
    return out


def mixed_up(rng):
    """A plan for four ranks that fits, with one change on one rank."""
    groups = rng.choice([((0, 1, 2, 3),), ((0, 1), (2, 3)), ((0, 3), (1, 2))])
    plan = [[(rng.choice(("add", "maximum", "all_to_all")), groups, 4) for _ in range(rng.randint(1, 4))]] * 4
    wrong, rank = list(plan[0]), rng.randrange(4)
    at, change = rng.randrange(len(wrong)), rng.choice(("leave out", "add one", "rows", "function", "groups"))
    function, groups, rows = wrong[at]
    if change == "leave out":
        del wrong[at]
    elif change == "add one":
        wrong.insert(at, wrong[at])
    else:
        wrong[at] = {"rows": (function, groups, 8), "function": ("minimum", groups, rows),
                     "groups": (function, ((0, 2), (1, 3)), rows)}[change]
    return tuple(tuple(wrong if r == rank else plan[0]) for r in range(4))


@pytest.mark.parametrize("part", range(4))
def test_ranks_that_do_not_fit_are_always_reported(part):
    rng, x = random.Random(SEED + part), np.ones((8, 2), np.float32)
    for _ in range(50):
        plan = mixed_up(rng)
        with pytest.raises(NkiValidationError) as caught:
            nki.simulate(steps, ranks=4)(x, plan, kiln.per_rank(range(4)))
        assert caught.value.code == "run.R17", f"KILN_SEED={SEED}: {plan}"
        told = str(caught.value)
        assert all(str(rank) in told for rank in range(4))


def test_the_reason_names_all_ranks():
    fits, shorter = (("add", ((0, 1, 2, 3),), 8),), ()
    with pytest.raises(NkiValidationError) as caught:
        nki.simulate(steps, ranks=4)(np.ones((8, 2), np.float32), (fits, fits, shorter, fits), kiln.per_rank(range(4)))
    told = str(caught.value)
    assert "rank 0 waits for rank 2, which has ended" in told
    assert "ranks 0 to 1 and 3 wait in all_reduce" in told and "rank 2 has ended" in told


def unwritten(x, me):
    src = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="src")
    dst = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="dst")
    if me != 2:
        nisa.dma_copy(dst=src, src=x)
    ncc.all_reduce([src], [dst], ncc.ReplicaGroup([[0, 1, 2]]), nl.add)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=dst)
    return out


def test_bytes_that_another_rank_never_wrote_are_followed():
    with pytest.raises(NkiUndefinedError, match="depends on bytes of `src` that were never written") as caught:
        nki.simulate(unwritten, ranks=3)(np.ones((4, 4), np.float32), kiln.per_rank(range(3)))
    assert caught.value.code == "run.R1" and "rank: 0" in str(caught.value)


def doubled(x):
    nisa.dma_copy(dst=x, src=nl.zeros(x.shape, x.dtype, buffer=nl.sbuf))


def test_what_a_kernel_writes_is_given_for_each_rank():
    x = np.ones((4, 4), np.float32)
    with pytest.raises(NkiValidationError, match="one array for several ranks") as caught:
        nki.simulate(doubled, ranks=2)(x)
    assert caught.value.code == "nki.R56"
    both = [x, x.copy()]
    nki.simulate(doubled, ranks=2)(kiln.per_rank(both))
    assert not both[0].any() and not both[1].any()


SCRIPT = """
import numpy as np, kiln, nki, nki.language as nl, nki.isa as nisa, nki.collectives as ncc
@nki.jit
def total(x, ranks):
    src, dst = (nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm, name=n) for n in ("src", "dst"))
    nisa.dma_copy(dst=src, src=x)
    ncc.all_reduce([src], [dst], ncc.ReplicaGroup([list(range(ranks))]), nl.add)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=dst)
    return out
n = kiln.ranks()
print([int(y[0, 0]) for y in total(kiln.per_rank(np.full((1, 2), r, np.float32) for r in range(n)), n)])
"""


def test_scripts_run_on_the_ranks_of_the_command_line(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "kiln", "run", tmp_path / "script.py", "--ranks", "5"],
                          capture_output=True, text=True)
    assert done.stdout == "[10, 10, 10, 10, 10]\n", done.stderr


PAIR_SCRIPT = """
import numpy as np, kiln, nki, nki.language as nl, nki.isa as nisa, nki.collectives as ncc
@nki.jit
def total(x, ranks):
    cores, core = nl.num_programs(0), nl.program_id(0)
    src, dst, out = (nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm, name=n) for n in ("src", "dst", "out"))
    rows = x.shape[0] // cores
    mine = nl.ds(core * rows, rows)
    nisa.dma_copy(dst=src[mine], src=x[mine])
    if cores == 2:
        nisa.core_barrier(src, (0, 1))
    ncc.all_reduce([src], [dst], ncc.ReplicaGroup([list(range(ranks))]), nl.add)
    nisa.dma_copy(dst=out[mine], src=dst[mine])
    print(cores, "cores")
    return out
n = kiln.ranks()
x = kiln.per_rank(np.full((4, 2), r + 1, np.float32) for r in range(n))
print([int(y.sum()) for y in total(x, n)], [int(y.sum()) for y in total[1](x, n)])
"""


@pytest.mark.parametrize("words, cores", [(["--lnc", "2"], 2), (["--lnc", "1"], 1), ([], 1)])
def test_scripts_run_on_the_cores_of_the_command_line(words, cores, tmp_path):
    """A kernel that names a grid keeps it."""
    (tmp_path / "script.py").write_text(PAIR_SCRIPT)
    done = subprocess.run([sys.executable, "-m", "kiln", "run", tmp_path / "script.py", "--ranks", "4", "--target",
                           "trn2", *words], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[-1] == "[80, 80, 80, 80] [80, 80, 80, 80]", done.stderr
    assert lines[:-1] == [f"{cores} cores"] * cores + ["1 cores"]


def test_cores_that_are_none(monkeypatch):
    monkeypatch.setenv("KILN_LNC", "3")
    with pytest.raises(NkiValidationError, match="KILN_LNC=3") as caught:
        nki.simulate(doubled)(np.ones((4, 4), np.float32))
    assert caught.value.code == "nki.R18"


KT = """kt 1
program "sum"
x: float32[4, 6] = input(name="x")
w: float32[6, 6] = input(name="w")
y = matmul(x, w)
z = all_reduce(y, op="add", groups=[4, 0, 1, 2, 3])
output "z" = z
"""


@pytest.mark.parametrize("lnc", ["1", "2"])
def test_tensor_programs_run_on_ranks(lnc, tmp_path):
    (tmp_path / "sum.kt").write_text(KT)
    x = arrays(4, (4, 6))
    for r, a in enumerate(x):
        np.save(tmp_path / f"x.{r}.npy", a)
    np.save(tmp_path / "w.npy", np.eye(6, dtype=np.float32))
    done = subprocess.run([sys.executable, "-m", "kiln", "run", "sum.kt", "--ranks", "4", "--lnc", lnc, "--in",
                           "x=x.{}.npy", "--in", "w=w.npy", "--out", "z=z.npy"], cwd=tmp_path, capture_output=True,
                          text=True)
    assert [line.split(":")[0] for line in done.stdout.splitlines()[1:]] == [f"  z of rank {r}" for r in range(4)]
    for r in range(4):
        np.testing.assert_allclose(np.load(tmp_path / f"z.{r}.npy"), sum(x), rtol=1e-5, atol=1e-4)


def test_what_lnc_needs_of_programs_in_text_form(tmp_path):
    (tmp_path / "p.kiln").write_text('kiln 1\nprogram "p" target trn2\n')
    for words, found in ((["p.kiln", "--lnc", "2"], "--lnc 2 and 1 program"),
                         (["p.kiln", "p.kiln", "--lnc", "1"], "--lnc 1 and 2 programs")):
        done = subprocess.run([sys.executable, "-m", "kiln", "run", *words], cwd=tmp_path, capture_output=True,
                              text=True)
        assert done.returncode == 2 and f"error[cli.R12]: {found}" in done.stderr
