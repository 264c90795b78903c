"""nki.collectives as rank 0 sees them, alone in its group."""

import functools
import warnings

import numpy as np
import pytest

from kiln import nki
from kiln._trace.errors import NkiValidationError
from kiln.nki import collectives as ncc
from kiln.nki import isa as nisa
from kiln.nki import language as nl


def passed_on(x, groups, collective):
    """x through a collective, from one HBM tensor of the kernel to another."""
    src = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="src")
    dst = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="dst")
    nisa.dma_copy(dst=src, src=x)
    arguments = dict(srcs=[src], dsts=[dst], replica_group=ncc.ReplicaGroup(groups))
    if collective in ("all_reduce", "reduce_scatter"):
        arguments["op"] = nl.add
    if collective != "all_reduce":
        arguments["collective_dim"] = 0
    getattr(ncc, collective)(**arguments)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=dst)
    return out


_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


@pytest.mark.parametrize("collective", _COLLECTIVES)
@pytest.mark.parametrize("cores", [1, 2])
def test_a_rank_alone_gets_its_own_values(collective, cores):
    x = np.random.default_rng(4).standard_normal((6, 5)).astype(np.float32)
    np.testing.assert_array_equal(nki.simulate(nki.jit(passed_on)[cores])(x, ((0,),), collective), x)


@pytest.mark.parametrize("collective", ["all_reduce", "all_to_all"])
def test_ranks_that_are_not_there_are_refused(collective):
    with pytest.raises(NkiValidationError, match=r"among \[\[0, 1\], \[2, 3\]\] on rank 0 of 1") as caught:
        nki.simulate(passed_on)(np.ones((4, 5), np.float32), ((0, 1), (2, 3)), collective)
    assert caught.value.code == "launch.R4"


def permuted(x, pairs):
    src = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="src")
    dst = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="dst")
    nisa.dma_copy(dst=src, src=x)
    ncc.collective_permute_implicit([[src]], [[dst]], ncc.ReplicaGroup([[0]]))
    ncc.collective_permute(srcs=[dst], dsts=[src], source_target_pairs=pairs)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=src)
    return out


def test_a_ring_of_one_rank_and_pairs_of_others():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    for result in nki.simulate(permuted, ranks=1)(x, ((0, 0),)):
        np.testing.assert_array_equal(result, x)
    with pytest.raises(NkiValidationError, match="on rank 0 of 1"):
        nki.simulate(permuted)(x, ((0, 1), (1, 0)))


def own_part(table, step):
    """The row of a table that the rank's number picks."""
    out = nl.ndarray((1, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
    rank = ncc.rank_id() if step is None else (
        ncc.collective_permute_implicit_current_processing_rank_id(step, ncc.ReplicaGroup([[0]])))
    row = table.ap([[table.shape[1], 1], [1, table.shape[1]]], scalar_offset=rank, indirect_dim=0)
    nisa.dma_copy(dst=out, src=row)
    return out


@pytest.mark.parametrize("step", [None, 0])
def test_the_rank_is_a_register_that_indexes(step):
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(nki.simulate(own_part)(table, step), table[:1])


def reduced(x, y, op, buffer):
    """op(x, y) as a ring of one rank computes it."""
    tensors = {name: nl.ndarray(x.shape, dtype=x.dtype, buffer=buffer, name=name)
               for name in ("first", "second", "dst")}
    nisa.dma_copy(dst=tensors["first"], src=x)
    nisa.dma_copy(dst=tensors["second"], src=y)
    ncc.collective_permute_implicit_reduce(*([[t]] for t in tensors.values()), ncc.ReplicaGroup([[0]]), op)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tensors["dst"])
    return out


@pytest.mark.parametrize("buffer", [nl.shared_hbm, nl.sbuf], ids=["hbm", "sbuf"])
@pytest.mark.parametrize("op", ["add", "minimum", "maximum"])
@pytest.mark.parametrize("shape", [(6, 5), (3, 1031)])
def test_a_ring_of_one_rank_reduces_its_own_values(shape, op, buffer):
    rng = np.random.default_rng(8)
    x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    np.testing.assert_array_equal(nki.simulate(reduced)(x, y, getattr(nl, op), buffer), getattr(np, op)(x, y))


def moved(x, call, src=nl.shared_hbm, dst=nl.shared_hbm, shape=None, dtype=None, count=1, named=True):
    """Runs call(srcs, dsts) on copies of x."""
    def tensors(role, buffer, shape, dtype):
        return [nl.ndarray(shape, dtype=dtype, buffer=buffer, name=f"{role}{i}" if named else "") for i in range(count)]

    srcs, dsts = tensors("src", src, x.shape, x.dtype), tensors("dst", dst, shape or x.shape, dtype or x.dtype)
    for tensor in srcs:
        nisa.dma_copy(dst=tensor, src=x)
    call(srcs, dsts)
    out = nl.ndarray(dsts[0].shape, dtype=dsts[0].dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=dsts[0])
    return out


def _alone(function, *arguments, **keywords):
    return lambda srcs, dsts: getattr(ncc, function)(srcs, dsts, ncc.ReplicaGroup([[0]]), *arguments, **keywords)


def _pairs(srcs, dsts):
    ncc.collective_permute(srcs, dsts, [(0, 0)])


def _in_channels(srcs, dsts, **keywords):
    ncc.collective_permute_implicit([srcs], [dsts], ncc.ReplicaGroup([[0]]), **keywords)


_SUM, _SBUF = _alone("all_reduce", nl.add), dict(src=nl.sbuf, dst=nl.sbuf)

# (label, words of the message, the collective, how its tensors are made). Rules of the instructions have their own
# tests in tests/isa; here is what Python calls lead to.
REFUSALS = (
    ("nki.R55", "`srcs` .* is a NkiTensor", lambda s, d: _SUM(s[0], d), {}),
    ("nki.R55", "`dsts` .* holds a int", lambda s, d: _SUM(s, [3]), {}),
    ("nki.R55", "no list of lists", lambda s, d: ncc.collective_permute_implicit(s, d, ncc.ReplicaGroup([[0]])), {}),
    ("all_reduce.R1", "2 sources and 1 destinations", lambda s, d: _SUM(s, d[:1]), dict(count=2)),
    ("collective_permute.R2", "2 tensors", _pairs, dict(count=2)),
    ("collective_permute_implicit.R3", "2 tensors for 1 channels", _in_channels, dict(count=2)),
    ("all_reduce.R2", "`src0` is in shared_hbm, others are not", _SUM, dict(dst=nl.sbuf)),
    ("operand.R1", "is in psum", _SUM, dict(dst=nl.psum)),
    ("all_reduce.R3", "2 tensors in SBUF", _SUM, dict(count=2, **_SBUF)),
    ("operand.R1", "is in sbuf, allowed: hbm", _alone("all_to_all", 0), _SBUF),
    ("all_reduce.R8", "src is .6, 5., dst is .5, 6.", _SUM, dict(shape=(5, 6))),
    ("all_reduce.R4", "dst is bfloat16", _SUM, dict(dtype=nl.bfloat16)),
    ("all_gather.R9", "collective_dim is 1 of HBM", _alone("all_gather", 1), {}),
    ("reduce_scatter.R10", "collective_dim is 1", _alone("reduce_scatter", 1, nl.add), _SBUF),
    ("all_to_all.R7", "collective_dim is 1", _alone("all_to_all", 1), {}),
    ("all_reduce.R9", "op is multiply", _alone("all_reduce", nl.multiply), {}),
    ("nki.R59", "op='add'", _alone("reduce_scatter", 0, "add"), {}),
    ("collective_permute_implicit.R10", r"channel_ids is .1.", functools.partial(_in_channels, channel_ids=[1]), {}),
    ("all_reduce.R6", "priority is 4", _alone("all_reduce", nl.add, priority=4), {}),
    ("nki.R54", "source_target_pairs=3", lambda s, d: ncc.collective_permute(s, d, 3), {}),
    ("nki.R92", "without a name", _SUM, dict(named=False)),
    ("nki.R10", "without `metadata_tensor`", lambda s, d: ncc.all_to_all_v(s, d, ncc.ReplicaGroup([[0]]), None), {}),
)  # fmt: skip


@pytest.mark.parametrize("code, words, call, tensors", REFUSALS, ids=range(len(REFUSALS)))
def test_what_a_collective_does_not_take(code, words, call, tensors):
    with pytest.raises(NkiValidationError, match=words) as caught:
        nki.simulate(moved)(np.ones((6, 5), np.float32), call, **tensors)
    assert caught.value.code == code


def test_a_priority_needs_trn3(monkeypatch):
    x, call = np.ones((6, 5), np.float32), _alone("all_reduce", nl.add, priority=3)
    np.testing.assert_array_equal(nki.simulate(moved)(x, call), x)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    with pytest.raises(NkiValidationError, match="priority is 3 on trn2"):
        nki.simulate(moved)(x, call)


@pytest.mark.parametrize("dim", [0, 1])
def test_in_sbuf_all_gather_takes_both_dimensions(dim):
    x = np.random.default_rng(3).standard_normal((6, 5)).astype(np.float32)
    np.testing.assert_array_equal(nki.simulate(moved)(x, _alone("all_gather", dim), **_SBUF), x)


@pytest.mark.parametrize("groups, words", [([[0, 1], [1]], "rank 1 stands in it 2 times"), ([["a"]], "the rank 'a'"),
                                           (3, "ReplicaGroup\\(3\\)"), ([[-1]], "the rank -1")])
def test_groups_name_each_rank_once(groups, words):
    with pytest.raises(NkiValidationError, match=words) as caught:
        ncc.ReplicaGroup(groups)
    assert caught.value.code == "nki.R54"


def of_the_argument(x):
    dst = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="dst")
    _SUM([x], [dst])
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=dst)
    return out


def test_arguments_and_results_are_no_operands():
    with pytest.raises(NkiValidationError, match="`x` is an argument of the kernel") as caught:
        nki.simulate(of_the_argument)(np.ones((6, 5), np.float32))
    assert caught.value.code == "all_reduce.R7"


def test_no_word_of_what_is_as_it_should_be():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nki.simulate(moved)(np.ones((6, 5), np.float32), _SUM)
