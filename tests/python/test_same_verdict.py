"""Lists as arguments and NumPy's dtypes: what the device's compiler refuses is refused by a call, by kiln.check, by
`kiln check` and by the lint."""

import json
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import kiln
from kiln import lint, nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.ones((2, 4), np.float32)
KERNEL = """
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, value=None):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype={dtype}, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    {line}
    nisa.dma_copy(dst=out, src=tile)
    return out


if __name__ == "__main__":
    kernel(np.ones((2, 4), np.float32){argument})
"""
# (argument of the call, dtype, a line of the kernel) -> label at run time and of the lint.
CASES = {
    "list": (", [1, 2]", "nl.float32", "", "nki.R78", "language.R132"),
    "list by name": (", value=[1, 2]", "nl.float32", "", "nki.R78", "language.R132"),
    "list in a tuple": (", (1, [2])", "nl.float32", "", "nki.R78", "language.R132"),
    "list in a dict": (", {'a': [2]}", "nl.float32", "", "nki.R78", "language.R132"),
    "NumPy dtype in a tuple": (", (np.int8, 1)", "nl.float32", "", "nki.R79", "language.R133"),
    "NumPy dtype": (", np.float32", "nl.float32", "", "nki.R79", "language.R133"),
    "NumPy dtype in the kernel": ("", "np.float32", "", "nki.R79", "language.R133"),
    "NumPy dtype in a view": ("", "nl.float32", "tile.view(np.int32)", "nki.R79", "language.R133"),
    "comparison": ("", "nl.float32", "assert x.dtype == np.float32", "nki.R79", "language.R133"),
    "comparison of a choice": ("", "nl.float32", "assert x.dtype in (np.float32, np.int8)", "nki.R79",
                               "language.R133"),
    "tuple": (", (1, 2)", "nl.float32", "", None, None),
    "dtype of nl": (", nl.float32", "nl.float32", "tile.view(nl.int32)", None, None),
    "name of a dtype": (", 'float32'", "'float32'", "assert x.dtype == 'float32'", None, None),
}


def command(*words, cwd):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run([sys.executable, "-m", "kiln", *words], cwd=cwd, capture_output=True, text=True,
                          env=environment)


@pytest.mark.parametrize("argument, dtype, line, label, rule", CASES.values(), ids=CASES)
def test_run_check_and_lint_agree(tmp_path, argument, dtype, line, label, rule):
    (tmp_path / "k.py").write_text(KERNEL.format(argument=argument, dtype=dtype, line=line))
    run = command("run", "k.py", cwd=tmp_path)
    assert run.returncode == (label is not None) and (label or "") in run.stderr
    found = [f.rule for f in lint.check_file(tmp_path / "k.py") if f.severity == "error"]
    assert set(found) == ({rule} if rule else set())
    value = argument.removeprefix(", ").removeprefix("value=")
    given = [f"value={value}"] if value else []
    if "np." not in value:  # --arg has no way to write a dtype of NumPy
        check = command("check", "k.py", "--json", "--arg", "x=float32[2,4]", *(["--arg", *given] if given else []),
                        cwd=tmp_path)
        codes = [d["code"] for p in json.loads(check.stdout)["programs"] for d in p["diagnostics"]]
        assert check.returncode == (label is not None) and codes == ([label] if label else [])


def copied(x, value=None):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, x)
    return out


@pytest.mark.parametrize("value, label, help", [
    ([1], "nki.R78", "pass a tuple"), ((1, [2]), "nki.R78", "pass a tuple"), ({"a": [1]}, "nki.R78", "pass a tuple"),
    (np.float32, "nki.R79", "pass nl.float32"), (np.dtype("bool"), "nki.R79", "pass nl.bool_"),
    ((1, np.int8), "nki.R79", "pass nl.int8"), (ml_dtypes.bfloat16, "nki.R79", "pass nl.bfloat16"),
    (np.float64, "nki.R79", "no 64-bit types"),
])  # fmt: skip
def test_calls_and_checks_agree(value, label, help):
    for call in (nki.jit(copied), nki.simulate(copied), kiln.time(copied)):
        with pytest.raises(kiln.NkiValidationError, match=help) as raised:
            call(X, value)
        assert raised.value.code == label and raised.value.diagnostics[0].loc.file == __file__
    report = kiln.check(copied, "float32[2,4]", value)
    assert [d.code for d in report.errors] == [label] and help in str(report) and not report


def test_dtypes_outside_kernels_are_compared_as_before():
    assert np.dtype("float32") == nl.float32 and nl.float32 != np.float32 and nl.float32 == "float32"
    assert {nl.float32: 1}["float32"] == 1 and np.zeros(2, nl.float32).dtype == np.float32
