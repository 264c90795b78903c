"""np.cov and np.corrcoef, in float32."""

import numpy as np

from kiln.numpy._array import as_array, known_of
from kiln.numpy._dispatch import implements


@implements(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    x = _rows(m, rowvar)
    if y is not None:
        x = np.concatenate([x, _rows(y, rowvar)], axis=0)
    n = x.shape[1]
    ddof = (0 if bias else 1) if ddof is None else ddof
    if fweights is not None or aweights is not None:
        made = np.squeeze(_weighted_cov(x, fweights, aweights, ddof))
        return made if dtype is None else made.astype(dtype)
    centred = x - np.mean(x, axis=1, keepdims=True)
    made = np.squeeze(np.matmul(centred, centred.T) / np.float32(max(n - ddof, 0)))
    return made if dtype is None else made.astype(dtype)


def _weighted_cov(x, fweights, aweights, ddof):
    weights = 1.0
    if fweights is not None and as_array(fweights).dtype.kind not in "iub" and not (
            known_of(fweights) is not None and np.all(np.asarray(known_of(fweights)) % 1 == 0)):
        raise TypeError("fweights must be integer")
    for w in (fweights, aweights):
        if w is not None:
            if np.shape(w) != x.shape[1:]:
                raise RuntimeError("incompatible numbers of samples and weights")
            weights = weights * as_array(w).astype(np.float32)
    total = np.sum(weights)
    centred = x - np.sum(x * weights, axis=1, keepdims=True) / total
    lost = ddof if aweights is None else ddof * np.sum(weights * as_array(aweights).astype(np.float32)) / total
    return np.matmul(centred * weights, centred.T) / np.maximum(total - lost, np.float32(0))


def _rows(m, rowvar):
    x = as_array(m).astype(np.float32)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = np.atleast_2d(x)
    return x if rowvar or np.ndim(m) < 2 else x.T


@implements(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    d = np.sqrt(np.diagonal(c))
    made = np.clip(c / d[:, None] / d[None, :], -1, 1)
    return made if dtype is None else made.astype(dtype)
