"""A mixture-of-experts block: every token goes through its k best experts, and their results are added up by weight.

y = sum over the chosen experts e of share_e * (silu(x G_e) * (x U_e)) D_e

The shares come from the router (router_topk.py). Every expert works on every tile of tokens; the share of an expert
that a token did not choose is 0. The hidden values are computed transposed, with the hidden dimension in partitions,
where the last product needs it.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from router_topk import normalised, reference as route_reference, route
from tiles import load, load_rows, load_transposed, pieces, to_sbuf, width

P = 128


@nki.jit
def mixture_of_experts(x, router, gate, up, down, k):
    """x: (tokens, d); router: (d, experts); gate, up: (experts, d, hidden); down: (experts, hidden, d); d up to 512."""
    tokens, d = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    columns = load_rows(router, P)
    for part in pieces(0, tokens, P):
        powers, largest = route(x[part], columns)
        shares = chosen_shares(powers, largest, k)
        inputs = []
        for i in pieces(0, d, P):
            inputs.append(load_transposed(x[part, i]))
        total = nl.ndarray((width(part), d), dtype=nl.float32)
        nisa.memset(dst=total, value=0.0)
        for e in range(gate.shape[0]):
            result = expert(inputs, gate[e], up[e], down[e])
            nisa.scalar_tensor_tensor(dst=total, data=result, op0=nl.multiply, operand0=shares[:, e:e + 1],
                                      op1=nl.add, operand1=total)
        nisa.dma_copy(dst=out[part], src=to_sbuf(total, x.dtype))
    return out


def chosen_shares(powers, largest, k):
    """Shares of all experts: those at least as likely as the k-th are kept, the others become 0; rows add up to 1."""
    kept = nl.ndarray(powers.shape, dtype=nl.float32)
    nisa.scalar_tensor_tensor(dst=kept, data=powers, op0=nl.greater_equal, operand0=largest[:, k - 1:k],
                              op1=nl.multiply, operand1=powers)
    return normalised(kept)


def expert(inputs, gate, up, down):
    """One expert's result (tokens, d) in PSUM; inputs are the tokens' transposed tiles."""
    tokens, d = inputs[0].shape[1], down.shape[1]
    result = nl.ndarray((tokens, d), dtype=nl.float32, buffer=nl.psum)
    for part in pieces(0, down.shape[0], P):
        gated = nl.ndarray((width(part), tokens), dtype=nl.float32)
        nisa.activation(dst=gated, op=nl.silu, data=project(inputs, gate[:, part]))
        hidden = nl.ndarray(gated.shape, dtype=down.dtype)
        nisa.tensor_tensor(dst=hidden, data1=gated, data2=project(inputs, up[:, part]), op=nl.multiply)
        nisa.nc_matmul(dst=result, stationary=hidden, moving=load(down[part]))
    return result


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
