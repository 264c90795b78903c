"""Products that end with the labels of the first operand are computed as they are asked for, not turned afterwards."""
import numpy as np
import pytest

import kiln
from against_numpy import SEED

FORMS = {
    "nchw,oc->nohw": ((3, 5, 6, 7), (4, 5)),
    "oc,nchw->nohw": ((4, 5), (3, 5, 6, 7)),
    "bct,oc->bot": ((3, 40, 130), (140, 40)),
    "ij,jk->ki": ((30, 40), (40, 50)),
    "btd,dh->bht": ((2, 33, 20), (20, 7)),
    "ijk,kl->lij": ((5, 6, 7), (7, 8)),
    "abk,ck->acb": ((3, 4, 5), (6, 5)),
    "abk,ckd->acbd": ((3, 4, 5), (6, 5, 2)),
    "abk,ckd->cadb": ((3, 4, 5), (6, 5, 2)),
    "zabk,zck->zacb": ((2, 3, 4, 5), (2, 6, 5)),
    "ab,cb,dc->da": ((3, 4), (5, 4)),
    "abc,dc->b": ((3, 4, 5), (6, 5)),
    "ak,bk->ba": ((0, 4), (3, 4)),
}


@pytest.mark.parametrize("form", FORMS)
def test_values(form):
    rng = np.random.default_rng([SEED, sum(form.encode())])
    arrays = [rng.standard_normal(s).astype(np.float32) for s in FORMS[form]]
    arrays = arrays + [rng.standard_normal((6, 5)).astype(np.float32)] * (form.count(",") - 1)
    got = kiln.jit(lambda *a: np.einsum(form, *a))(*arrays)
    want = np.einsum(form, *(a.astype(np.float64) for a in arrays))
    assert got.shape == want.shape and got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max(initial=1))


def taps(x, w):
    """A convolution as people write it without a library: a product for each tap."""
    rows, columns = (x.shape[i + 2] - w.shape[i + 2] + 1 for i in (0, 1))
    parts = (np.einsum("nchw,oc->nohw", x[:, :, i:i + rows, j:j + columns], w[:, :, i, j])
             for i in range(w.shape[2]) for j in range(w.shape[3]))
    return sum(parts)


def test_convolutions_by_taps():
    rng = np.random.default_rng(SEED)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((2, 5, 9, 8), (7, 5, 3, 2)))
    want = taps(x.astype(np.float64), w.astype(np.float64))
    np.testing.assert_allclose(kiln.jit(taps)(x, w), want, rtol=0, atol=1e-4)
    report = kiln.jit(taps).lower("float32[1,64,58,58]", "float32[64,64,3,3]").report()
    assert report["time_ns"] < 10 * report["roofline_ns"]
