"""nki.collectives as rank 0 sees them, alone in its group."""

import numpy as np
import pytest

from kiln import nki
from kiln._errors import NkiValidationError
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


@pytest.mark.parametrize("collective", _COLLECTIVES)
def test_other_ranks_are_refused(collective):
    with pytest.raises(NkiValidationError, match="among the ranks 0, 1"):
        nki.simulate(passed_on)(np.ones((4, 5), np.float32), ((0, 1), (2, 3)), collective)


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
    np.testing.assert_array_equal(nki.simulate(permuted)(x, [(0, 0), (1, 2)]), x)
    with pytest.raises(NkiValidationError, match="among the ranks 0, 1"):
        nki.simulate(permuted)(x, [(0, 1), (1, 0)])


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
