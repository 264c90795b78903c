"""The selective scan of Mamba: a linear recurrence per channel and state, whose coefficients depend on the input.

h_s(t) = exp(delta(t) A_s) h_s(t-1) + delta(t) u(t) B_s(t)        y(t) = sum_s C_s(t) h_s(t)

Channels lie in partitions and time in the free dimension, so one instruction runs the recurrence of 128 channels. Long
sequences come in parts; the last column of one part starts the next.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import load, load_row_everywhere, pieces, to_sbuf

TIME = 512


@nki.jit
def selective_scan(delta, u, a, b, c):
    """delta, u: (batch, channels, time); a: (channels, states); b, c: (batch, states, time)."""
    batch, channels, time = delta.shape
    out = nl.ndarray(u.shape, dtype=u.dtype, buffer=nl.shared_hbm)
    for i in range(batch):
        for part in pieces(0, channels, nl.tile_size.pmax):
            rates = load(a[part], nl.float32)
            state = nl.ndarray(rates.shape, dtype=nl.float32)
            nisa.memset(dst=state, value=0.0)
            for span in pieces(0, time, TIME):
                steps, values = load(delta[i, part, span]), load(u[i, part, span])
                y = scan_part(steps, values, rates, b[i, :, span], c[i, :, span], state)
                nisa.dma_copy(dst=out[i, part, span], src=y)
    return out


def scan_part(delta, u, rates, b, c, state):
    """The result for some steps; `state` (channels, states) goes from their start to their end."""
    size = delta.shape[0]
    driven = nl.ndarray(delta.shape, dtype=nl.float32)
    nisa.tensor_tensor(dst=driven, data1=delta, data2=u, op=nl.multiply)
    total = nl.ndarray(delta.shape, dtype=nl.float32)
    nisa.memset(dst=total, value=0.0)
    for s in range(rates.shape[1]):
        decay = nl.ndarray(delta.shape, dtype=nl.float32)
        h = nl.ndarray(delta.shape, dtype=nl.float32)
        nisa.activation(dst=decay, op=nl.exp, data=delta, scale=rates[:, s:s + 1])
        nisa.tensor_tensor(dst=h, data1=driven, data2=load_row_everywhere(b[s], size), op=nl.multiply)
        nisa.tensor_tensor_scan(dst=h, data0=decay, data1=h, initial=state[:, s:s + 1], op0=nl.multiply, op1=nl.add)
        nisa.tensor_copy(dst=state[:, s:s + 1], src=h[:, delta.shape[1] - 1:])
        nisa.tensor_tensor(dst=h, data1=h, data2=load_row_everywhere(c[s], size), op=nl.multiply)
        nisa.tensor_tensor(dst=total, data1=total, data2=h, op=nl.add)
    return to_sbuf(total, u.dtype)


def reference(delta, u, a, b, c):
    delta, u, a, b, c = (x.astype(np.float64) for x in (delta, u, a, b, c))
    state, out = np.zeros((*u.shape[:2], a.shape[1])), np.empty(u.shape)
    for t in range(u.shape[2]):
        step = delta[:, :, t, None]
        state = np.exp(step * a) * state + step * u[:, :, t, None] * b[:, None, :, t]
        out[:, :, t] = (state * c[:, None, :, t]).sum(axis=2)
    return out


def inputs(rng, batch, channels, states, time, dtype=np.float32):
    """Steps and decays of the size that a trained layer has."""
    delta = np.log1p(np.exp(rng.standard_normal((batch, channels, time))))
    a = -np.exp(rng.standard_normal((channels, states)))
    u, b, c = (rng.standard_normal((batch, n, time)) for n in (channels, states, states))
    return [x.astype(dtype) for x in (delta, u, a, b, c)]


def main():
    arrays = inputs(np.random.default_rng(0), 2, 150, 4, 600)
    want = reference(*arrays)
    print("selective scan of", want.shape, "- largest error", np.abs(selective_scan(*arrays) - want).max())


if __name__ == "__main__":
    main()
