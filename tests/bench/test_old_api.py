"""Sources of the old API, rewritten call by call, compute what NumPy computes. The kernels here are ours."""

import os
import pathlib
import sys

import numpy as np
import pytest

import kiln

kiln.activate()
ROOT = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "bench" / "plain"))

import old_api  # noqa: E402
import sources  # noqa: E402

PROLOGUE = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim
"""

PRODUCT = PROLOGUE + """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((a.shape[1], b.shape[1]), nl.float32, buffer=nl.psum)
    for k in nl.affine_range(a.shape[0] // 128):
        x = nl.load(a[k * 128:(k + 1) * 128, :])
        y = nl.load(b[k * 128:(k + 1) * 128, :])
        total += nl.matmul(x, y, transpose_x=True)
    nl.store(out, value=nl.copy(total, dtype=out.dtype))
    return out
"""

MASKED = PROLOGUE + """
@nki.jit
def kernel(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tiles = nl.ndarray((2, par_dim(128), 64), dtype=np.float32, name="", buffer=nl.sbuf)
    for i in nl.affine_range(2):
        rows, columns = nl.arange(128)[:, None], nl.arange(64)[None, :]
        mask = -128 * i + -1 * rows + 199 >= 0
        tiles[i, rows, columns] = nl.load(a[128 * i + rows, columns], mask=mask)
        tiles[i, rows, columns] = nisa.tensor_scalar(data=tiles[i, rows, columns], op0=nl.multiply, operand0=2.0,
                                                     op1=nl.add, operand1=1.0, mask=mask)
        nl.store(out[128 * i + rows, columns], value=tiles[i, rows, columns], mask=mask)
    return out
"""

REDUCED = PROLOGUE + """
@nki.jit
def kernel(a):
    out = nl.ndarray((128, 1), dtype=a.dtype, buffer=nl.shared_hbm)
    parts = nl.ndarray((4, par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    best = nl.ndarray((par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    for i in nl.affine_range(4):
        x = nl.load(a[:, nl.ds(i * 32, 32)])
        parts[i, nl.arange(128)[:, None], 0] = nisa.tensor_reduce(nl.max, data=x, axis=[1])
        best[nl.arange(128)[:, None], 0] = nl.loop_reduce(parts[i, nl.arange(128)[:, None], 0], op=np.max,
                                                          loop_indices=[i])
    nl.store(out, best)
    return out
"""

MIXED = PROLOGUE + """
@nki.jit
def kernel(a, row):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.load(a)
    grid = nl.mgrid[0:128, 0:32]
    y = nl.ndarray((128, 64), dtype=np.float32, buffer=nl.sbuf)
    y[grid.p, grid.x] = x[grid.p, 2 * grid.x]
    y[grid.p, 32 + grid.x] = x[grid.p, 2 * grid.x + 1]
    wide = nl.load(row).broadcast_to((128, 64))
    total = nl.sum(y, axis=1, keepdims=True)
    nl.store(out, value=(y + wide) * total - 1.0 / nl.exp(x))
    return out
"""


def module(text):
    old_api.install()
    row = {"id": "", "repository": "r", "path": "p", "pick": "", "set": ""}
    return sources.module_of(row, text)


def run(text, *arrays):
    return old_api.kernel_of(module(text).kernel)(*arrays)


@pytest.fixture
def random():
    return np.random.default_rng(20)


def test_products_add_up_in_psum(random):
    a, b = (random.standard_normal((384, n)).astype(np.float32) for n in (128, 256))
    np.testing.assert_allclose(run(PRODUCT, a, b), a.T @ b, rtol=2e-5, atol=2e-4)


def test_masks_keep_the_front(random):
    a = random.standard_normal((200, 64)).astype(np.float32)
    np.testing.assert_allclose(run(MASKED, a), 2 * a + 1, rtol=1e-6)


def test_a_loop_reduces_into_one_tile(random):
    a = random.standard_normal((128, 128)).astype(np.float32)
    np.testing.assert_array_equal(run(REDUCED, a)[:, 0], a.max(axis=1))


def test_indices_operators_and_spread_rows(random):
    a, row = random.standard_normal((128, 64)).astype(np.float32), random.standard_normal((1, 64)).astype(np.float32)
    y = np.concatenate([a[:, 0::2], a[:, 1::2]], axis=1)
    want = (y + row) * y.sum(axis=1, keepdims=True) - 1 / np.exp(a)
    np.testing.assert_allclose(run(MIXED, a, row), want, rtol=2e-4, atol=2e-4)


def test_the_order_of_the_text_is_kept():
    """One load, one product, one copy, one store: a call is an instruction, in the order of the calls."""
    kernel = old_api.kernel_of(module(PRODUCT).kernel)
    timing = kiln.time(kernel, as_written=True)("float32[128,128]", "float32[128,256]")
    assert timing.as_dict()["summary"]["instruction_count"] == 5


def test_what_has_no_counterpart_is_refused():
    text = PROLOGUE + """
@nki.jit
def kernel(a):
    tiles = nl.ndarray((2, par_dim(128), 64), dtype=np.float32, buffer=nl.sbuf)
    return tiles[0:2]
"""
    with pytest.raises(Exception, match="blocks of tiles"):
        run(text, np.zeros((128, 64), np.float32))


def test_parts_of_files_are_found():
    listing = "   :linenos:\n\n   import nki\n   @nki.jit\n   def k(a):\n       return a\n"
    page = f"text\n\n.. code-block:: python\n{listing}\nend\n"
    assert sources.picked(page, "listing:0").strip().startswith("import nki")
    search = "C(parent=C(parent=None, code='''first'''), plan=None, code='''second''')"
    assert [sources.picked(search, f"step:{i}") for i in (0, 1)] == ["first", "second"]
    assert sources.with_constants("  N = 4  # four\n", "N=8") == "  N = 8# four\n"
    with pytest.raises(sources.NoSource):
        sources.with_constants("M = 4\n", "N=8")
