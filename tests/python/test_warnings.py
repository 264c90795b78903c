"""Warnings stand at the user's line, once, however often the line runs."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kiln.nki as nki
import kiln.nki.language as nl

SCRIPT = textwrap.dedent("""
    import numpy as np
    import kiln.nki as nki
    import kiln.nki.isa as nisa
    import kiln.nki.language as nl

    @nki.jit
    def columns(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        copy = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        for i in range(8):
            copy[:, i:i + 1] = tile[:, i:i + 1]
        copy[:, 8:] = tile[:, 8:]
        nl.store(out, copy)
        return out

    for _ in range(3):
        nki.simulate(columns)(np.ones((4, 16), np.float32))
    """)


def test_a_line_that_runs_often_warns_once(tmp_path):
    (tmp_path / "columns.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "columns.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning[nki.R34]") == 2
    for line in [13, 14]:
        assert f"columns.py:{line}: NkiWarning" in done.stderr


def test_filters_apply():
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        tile[:, 0:1] = tile[:, 1:2]
        nl.store(out, tile)
        return out

    for _ in range(2):
        with pytest.warns(nki.NkiWarning, match="nki.R34"):
            nki.simulate(kernel)(np.ones((4, 4), np.float32))
