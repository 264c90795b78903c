"""Elements of a result that the kernel leaves unwritten are marked, and warned about."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

KINDS = [np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3, np.int8, np.uint16, np.int32]


def write_some_columns(x):
    out = nl.ndarray((x.shape[0], 2 * x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out[:, 3:3 + x.shape[1]], src=tile)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_what_nothing_wrote(kind):
    x = np.arange(1, 36).reshape(5, 7).astype(kind)
    with pytest.warns(nki.NkiWarning, match=r"run\.R9"):
        got = nki.simulate(write_some_columns)(x)
    np.testing.assert_array_equal(got[:, 3:10].astype(np.float32), x.astype(np.float32))
    rest = np.delete(got, slice(3, 10), axis=1)
    assert (rest == 4).all() if np.dtype(kind).kind in "iu" else np.isnan(rest.astype(np.float32)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_line_marks_them_alike(kind, tmp_path):
    """The bytes that a run from Python gives are those that `kiln run` writes."""
    x = np.arange(1, 36).reshape(5, 7).astype(kind)
    with pytest.warns(nki.NkiWarning, match=r"run\.R9"):
        got = nki.simulate(write_some_columns)(x)
    kiln.program(write_some_columns, x).save(tmp_path / "k.kiln")
    np.save(tmp_path / "x.npy", x)
    done = subprocess.run([sys.executable, "-m", "kiln", "run", "k.kiln", "--in", "x=x.npy", "--out", "out=out.npy"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out.npy").tobytes() == got.tobytes()
