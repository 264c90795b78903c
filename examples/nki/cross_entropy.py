"""Cross-entropy of rows of logits and a label each: log(sum_j exp(x_j)) - x_label.

A row may be longer than a tile. The largest logit and the sum of exponentials are carried from part to part as in flash
attention; the label's logit is picked by comparing the columns' numbers with the label.
"""

import numpy as np

import nki
import nki.isa as nisa
import nki.language as nl
from tiles import column, load, pieces, width

COLUMNS = 4096


@nki.jit
def cross_entropy(logits, labels):
    """logits: (rows, classes), fewer than 2^24 classes; labels: (rows, 1) int32. Returns (rows, 1) float32."""
    rows, classes = logits.shape
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    numbers = nl.ndarray((nl.tile_size.pmax, min(classes, COLUMNS)), dtype=nl.float32)
    nisa.iota(dst=numbers, pattern=[[1, numbers.shape[1]]])
    for part in pieces(0, rows, nl.tile_size.pmax):
        label, state = load(labels[part], nl.float32), None
        for span in pieces(0, classes, COLUMNS):
            shifted = column(width(part))
            nisa.tensor_scalar(dst=shifted, data=label, op0=nl.subtract, operand0=float(span.start))
            state = add_part(state, load(logits[part, span]), shifted, numbers[0:width(part), 0:width(span)])
        nisa.dma_copy(dst=out[part], src=loss(state))
    return out


def add_part(state, tile, label, numbers):
    """Takes some columns into (largest logit, sum of exponentials, the label's logit)."""
    rows = label.shape[0]
    largest, bias, total, picked = column(rows), column(rows), column(rows), column(rows)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=tile, axis=1)
    if state:
        nisa.tensor_tensor(dst=largest, data1=largest, data2=state[0], op=nl.maximum)
    nisa.tensor_scalar(dst=bias, data=largest, op0=nl.multiply, operand0=-1.0)
    values = nl.ndarray(tile.shape, dtype=nl.float32)
    nisa.scalar_tensor_tensor(dst=values, data=numbers, op0=nl.equal, operand0=label, op1=nl.multiply, operand1=tile)
    nisa.tensor_reduce(dst=picked, op=nl.add, data=values, axis=1)
    nisa.activation_reduce(dst=values, op=nl.exp, data=tile, bias=bias, reduce_op=nl.add, reduce_res=total)
    if state:
        before, old_total, old_picked = state
        factor = column(rows)
        nisa.activation(dst=factor, op=nl.exp, data=before, bias=bias)
        nisa.scalar_tensor_tensor(dst=total, data=old_total, op0=nl.multiply, operand0=factor,
                                  op1=nl.add, operand1=total)
        nisa.tensor_tensor(dst=picked, data1=picked, data2=old_picked, op=nl.add)
    return largest, total, picked


def loss(state):
    largest, total, picked = state
    result = column(total.shape[0])
    nisa.activation(dst=result, op=nl.log, data=total)
    nisa.tensor_tensor(dst=result, data1=result, data2=largest, op=nl.add)
    nisa.tensor_tensor(dst=result, data1=result, data2=picked, op=nl.subtract)
    return result


def reference(logits, labels):
    logits = logits.astype(np.float64)
    largest = logits.max(axis=1, keepdims=True)
    log_sum = largest + np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))
    return log_sum - np.take_along_axis(logits, labels.astype(np.int64), axis=1)


def main():
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal((200, 9000), dtype=np.float32)
    labels = rng.integers(0, 9000, (200, 1), dtype=np.int32)
    error = np.abs(cross_entropy(logits, labels) - reference(logits, labels)).max()
    print("cross_entropy of", logits.shape, "- largest error", error)


if __name__ == "__main__":
    main()
