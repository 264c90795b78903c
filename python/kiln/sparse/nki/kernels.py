"""Kernels that trnsparse launches by name, written for `nki`."""

import kiln.nki as nki
import kiln.nki.isa as nisa
import kiln.nki.language as nl

__all__ = ["_attn_stats_kernel"]

_TILE = 128


@nki.jit
def _attn_stats_kernel(q_scaled_blocks, k_gathered_pad):
    """Of each block of scores, of queries (blocks, 128, head) with gathered keys (blocks, slots, 128, head), the
    largest of every row, and the sum of exp(score - largest): both (blocks, slots, 128, 1)."""
    blocks, slots, rows, head = k_gathered_pad.shape
    largest_of = nl.ndarray((blocks, slots, rows, 1), dtype=q_scaled_blocks.dtype, buffer=nl.shared_hbm)
    sum_of = nl.ndarray((blocks, slots, rows, 1), dtype=q_scaled_blocks.dtype, buffer=nl.shared_hbm)
    for block in nl.affine_range(blocks):
        for slot in nl.affine_range(slots):
            scores = nl.ndarray((rows, rows), dtype=nl.float32, buffer=nl.psum)
            for start in range(0, head, _TILE):
                part = slice(start, min(head, start + _TILE))
                nisa.nc_matmul(dst=scores, stationary=_turned(q_scaled_blocks[block, :, part]),
                               moving=_turned(k_gathered_pad[block, slot, :, part]))
            minus_largest = nl.ndarray((rows, 1), dtype=nl.float32)
            largest, total = (nl.ndarray((rows, 1), dtype=q_scaled_blocks.dtype) for _ in range(2))
            weights = nl.ndarray((rows, rows), dtype=nl.float32)
            nisa.tensor_reduce(dst=minus_largest, op=nl.maximum, data=scores, axis=1, negate=True)
            nisa.tensor_scalar(dst=largest, data=minus_largest, op0=nl.multiply, operand0=-1.0)
            nisa.activation_reduce(dst=weights, op=nl.exp, data=scores, bias=minus_largest, reduce_op=nl.add,
                                   reduce_res=total)
            nisa.dma_copy(dst=largest_of[block, slot], src=largest)
            nisa.dma_copy(dst=sum_of[block, slot], src=total)
    return largest_of, sum_of


def _turned(matrix):
    """(columns, rows) of a matrix in HBM."""
    rows, columns = matrix.shape
    lying, turned = nl.ndarray((rows, columns), dtype=matrix.dtype), nl.ndarray((columns, rows), dtype=matrix.dtype)
    nisa.dma_copy(dst=lying, src=matrix)
    in_psum = nl.ndarray((columns, rows), dtype=matrix.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=in_psum, data=lying)
    nisa.tensor_copy(dst=turned, src=in_psum)
    return turned
