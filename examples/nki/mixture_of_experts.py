"""A mixture-of-experts block: every token goes through its k best experts, and their results are added up by weight.

y = sum over the chosen experts e of share_e * (silu(x G_e) * (x U_e)) D_e

The shares come from the router (router_topk.py). Experts follow each other in a loop on a register. One works on the
tokens that chose it: their numbers are found on the chip, their rows gathered, and the results added to the rows where
they belong. How many there are is known on the chip only, so they are loops on registers, too: over pairs of blocks of
128 tokens with half a block more, for which the weights are loaded once, over pairs, and over blocks where there are
few. The hidden values are computed transposed, with the hidden dimension in partitions, where the last product needs
it.
"""
# kiln: profile tracer

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from router_topk import normalised, reference as route_reference, route
from tiles import load, load_rows, pieces, width

P, HALF = 128, 64


@nki.jit
def mixture_of_experts(x, router, gate, up, down, k):
    """x: (tokens, d); router: (d, experts); gate, up: (experts, d, hidden); down: (experts, hidden, d); d up to 512."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    sums = out
    if x.dtype != nl.float32:
        sums = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.private_hbm)
    shares = chosen_shares(x, router, k)
    clear(sums)

    def one_expert(e):
        own = load(shares.select(0, e).expand_dim(0))
        numbers, count = tokens_of(own)
        column = nl.ndarray((own.shape[1], 1), dtype=nl.float32, buffer=nl.private_hbm)
        nisa.dma_copy(dst=column.reshape((1, own.shape[1])), src=own)
        starts = block_starts(count)
        weights = gate.select(0, e), up.select(0, e), down.select(0, e)

        def pair_and_half(i):
            rows = numbers[nl.ds(i, 5)]
            add_expert(sums, x, column, [block_of(rows[0:2]), block_of(rows[2:4]), rows[4]], weights)

        def pair(i):
            rows = numbers[nl.ds(i, 4)]
            add_expert(sums, x, column, [block_of(rows[0:2]), block_of(rows[2:4])], weights)

        def block(i):
            add_expert(sums, x, column, [block_of(numbers[nl.ds(i, 2)])], weights)

        if numbers.shape[0] > 4:
            nl.fori_loop(0, starts[0], pair_and_half, step=5)  # kiln: usually 1
            nl.fori_loop(starts[0], starts[1], pair, step=4)  # kiln: usually 0
            nl.fori_loop(starts[1], starts[2], block, step=2)  # kiln: usually 0
        else:
            nl.fori_loop(0, starts[1], pair, step=4)  # kiln: usually 0
            nl.fori_loop(starts[1], starts[2], block, step=2)  # kiln: usually 1

    nl.fori_loop(0, gate.shape[0], one_expert)
    if x.dtype != nl.float32:
        nisa.dma_copy(dst=out, src=sums)
    return out


def chosen_shares(x, router, k):
    """Shares of all experts in HBM, (experts, tokens), whose rows end in zeros up to a multiple of 256.

    Experts at least as likely as the k-th keep theirs, the others have 0; those of a token add up to 1."""
    (tokens, _), experts = x.shape, router.shape[1]
    shares = nl.ndarray((experts, (tokens + 2 * P - 1) // (2 * P) * 2 * P), dtype=nl.float32, buffer=nl.private_hbm)
    by_expert = []
    for part in pieces(0, experts, P):
        tile = nl.ndarray((width(part), shares.shape[1]), dtype=nl.float32)
        nisa.memset(dst=tile, value=0.0)
        by_expert.append(tile)
    columns = load_rows(router, P)
    for part in pieces(0, tokens, P):
        powers, largest = route(x[part], columns)
        kept = nl.ndarray(powers.shape, dtype=nl.float32)
        nisa.scalar_tensor_tensor(dst=kept, data=powers, op0=nl.greater_equal, operand0=largest[:, k - 1:k],
                                  op1=nl.multiply, operand1=powers)
        chosen = normalised(kept)
        for i in range(len(by_expert)):
            put_transposed(by_expert[i][:, part], chosen[:, i * P:i * P + by_expert[i].shape[0]])
    for i in range(len(by_expert)):
        nisa.dma_copy(dst=shares[i * P:i * P + by_expert[i].shape[0]], src=by_expert[i])
    return shares


def put_transposed(dst, tile):
    """Writes the transpose of a tile to SBUF, through the tensor engine."""
    turned = nl.ndarray(dst.shape, dtype=tile.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=tile)
    nisa.tensor_copy(dst=dst, src=turned)


def clear(matrix):
    """Zeros for a matrix in HBM."""
    zeros = nl.ndarray((P, matrix.shape[1]), dtype=nl.float32)
    nisa.memset(dst=zeros, value=0.0)
    for part in pieces(0, matrix.shape[0], P):
        nisa.dma_copy(dst=matrix[part], src=zeros[:width(part)])


def tokens_of(shares):
    """The numbers of the tokens with a share, a row of HBM for each half block, up to -1; and their count (1, 1).

    shares: (1, tokens), a multiple of 256."""
    tokens = shares.shape[1]
    found = nl.ndarray((1, tokens + 1), dtype=nl.int32)
    nisa.nonzero_with_count(dst=found, src=shares)
    numbers = nl.ndarray((tokens // HALF, HALF), dtype=nl.int32, buffer=nl.private_hbm)
    nisa.dma_copy(dst=numbers.reshape((1, tokens)), src=found[:, :tokens])
    return numbers, found[:, tokens:]


def block_of(halves):
    return halves.reshape((P,))


def block_starts(count):
    """Where pairs start, where blocks start and where they end, in half blocks; registers.

    Half blocks beyond pairs go to pairs, one to each; what is left over when there are not as many pairs, to blocks."""
    halves = changed(changed(count, nl.add, HALF - 1), nl.right_shift, 6)
    pairs, beyond = changed(halves, nl.right_shift, 2), changed(halves, nl.bitwise_and, 3)
    taken = combined(pairs, nl.minimum, beyond)
    pair_start = changed(taken, nl.multiply, 5)
    block_start = combined(changed(pairs, nl.left_shift, 2), nl.add, taken)
    return in_register(pair_start), in_register(block_start), in_register(halves)


def changed(number, op, operand):
    result = nl.ndarray((1, 1), dtype=nl.int32)
    nisa.tensor_scalar(dst=result, data=number, op0=op, operand0=operand)
    return result


def combined(a, op, b):
    result = nl.ndarray((1, 1), dtype=nl.int32)
    nisa.tensor_tensor(dst=result, data1=a, data2=b, op=op)
    return result


def in_register(number):
    register = nisa.register_alloc()
    nisa.register_load(register, number)
    return register


def add_expert(sums, x, shares, numbers, weights):
    """Adds the results of an expert for some groups of tokens; numbers: of each group (n,) in HBM, -1 for no token."""
    parts, groups, tokens = pieces(0, x.shape[1], P), [], 0
    for g in range(len(numbers)):
        groups.append(slice(tokens, tokens + numbers[g].shape[0]))
        tokens = groups[g].stop
    turned, indices = [], []
    for part in parts:
        turned.append(nl.ndarray((width(part), tokens), dtype=x.dtype))
    for g in range(len(groups)):
        indices.append(load(numbers[g].expand_dim(1)))
        inputs = gathered(x, indices[g])
        for i in range(len(parts)):
            put_transposed(turned[i][:, groups[g]], inputs[:, parts[i]])
    made = expert(turned, groups, *weights)
    for g in range(len(groups)):
        result = nl.ndarray(made[g].shape, dtype=nl.float32)
        nisa.tensor_scalar(dst=result, data=made[g], op0=nl.multiply, operand0=gathered(shares, indices[g]))
        rows = sums.vector_select(0, indices[g])
        nisa.dma_compute(dst=rows, srcs=[rows, result], reduce_op=nl.add, oob_mode=nisa.oob_mode.skip)


def gathered(matrix, index):
    """Rows of a matrix in HBM; zeros where the index is out of bounds."""
    tile = nl.ndarray((index.shape[0], matrix.shape[1]), dtype=matrix.dtype)
    nisa.memset(dst=tile, value=0.0)
    nisa.dma_copy(dst=tile, src=matrix.vector_select(0, index), oob_mode=nisa.oob_mode.skip)
    return tile


def expert(inputs, groups, gate, up, down):
    """One expert's results in PSUM, (n, d) for each group of n tokens; inputs are the tokens' transposed tiles."""
    tokens, results = inputs[0].shape[1], []
    for group in groups:
        results.append(nl.ndarray((width(group), down.shape[1]), dtype=nl.float32, buffer=nl.psum))
    for part in pieces(0, down.shape[0], P):
        gated = nl.ndarray((width(part), tokens), dtype=nl.float32)
        nisa.activation(dst=gated, op=nl.silu, data=project(inputs, gate[:, part]))
        hidden = nl.ndarray(gated.shape, dtype=down.dtype)
        nisa.tensor_tensor(dst=hidden, data1=gated, data2=project(inputs, up[:, part]), op=nl.multiply)
        columns = load(down[part])
        for g in range(len(groups)):
            nisa.nc_matmul(dst=results[g], stationary=hidden[:, groups[g]], moving=columns)
    return results


def project(inputs, weight):
    """(x weight)^T in PSUM, at most 128 columns of the weight."""
    sums = nl.ndarray((weight.shape[1], inputs[0].shape[1]), dtype=nl.float32, buffer=nl.psum)
    for i in range(len(inputs)):
        part = slice(i * P, i * P + inputs[i].shape[0])
        nisa.nc_matmul(dst=sums, stationary=load(weight[part]), moving=inputs[i])
    return sums


def reference(x, router, gate, up, down, k):
    x, gate, up, down = (a.astype(np.float32) for a in (x, gate, up, down))
    shares, experts = route_reference(x, router, k)
    out = np.zeros_like(x)
    for token, (row, share) in enumerate(zip(experts, shares)):
        for e, weight in zip(row, share):
            g = x[token] @ gate[e]
            out[token] += weight * ((g / (1 + np.exp(-g)) * (x[token] @ up[e])) @ down[e])
    return out


def inputs(rng, tokens, d, hidden, experts, dtype=np.float32):
    """Weights small enough for values around 1."""
    shapes = (tokens, d), (d, experts), (experts, d, hidden), (experts, d, hidden), (experts, hidden, d)
    return [(rng.standard_normal(s) / (1 if i == 0 else s[-2]**0.5)).astype(dtype) for i, s in enumerate(shapes)]


def main():
    arrays = inputs(np.random.default_rng(0), 150, 200, 300, 8)
    want = reference(*arrays, k=2)
    error = np.abs(mixture_of_experts(*arrays, k=2) - want).max()
    print("mixture of experts for", want.shape, "- largest error", error)


if __name__ == "__main__":
    main()
