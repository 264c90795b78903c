"""`kiln` for kernels in Python: run, check, time; by module, by script, and through the C++ program."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import kiln
from kiln import __main__ as commands
from kiln import nki
from kiln._trace import record, specs
from kiln.nki import isa as nisa
from kiln.nki import language as nl

NATIVE = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli" / "kiln"

SCRIPT = '''
import sys

import nki
import nki.isa as nisa
import nki.language as nl
import nki.typing as nt
import numpy as np


@nki.jit
def scale(x: nt.tensor[4, 8], factor=2.0):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, factor)
    nisa.dma_copy(out, t)
    return out


def product(p, a, b):
    nisa.nc_matmul(p, a, b)  # wrong for more than 128 columns


@nki.jit
def square(x, wanted=None):
    a = nl.ndarray(x.shape, dtype=x.dtype)
    p = nl.ndarray((x.shape[1], x.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.dma_copy(a, x)
    product(p, a, a)
    out = nl.ndarray(p.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray(p.shape, dtype=nl.float32)
    nisa.tensor_copy(t, p)
    nisa.dma_copy(out, t)
    return out


if __name__ == "__main__":
    print(sys.argv[1:], scale(np.ones((4, 8), np.float32)).sum())
    if "exit" in sys.argv:
        sys.exit(7)
    if "raise" in sys.argv:
        raise LookupError("of the script")
    if "refuse" in sys.argv:
        square(np.zeros((128, 200), np.float32))
    if "record" in sys.argv:
        square(np.zeros((64, 96), np.float32), wanted=(1, nl.bfloat16))
'''


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(*words, command=(sys.executable, "-m", "kiln"), **environment):
        return subprocess.run([*map(str, command), *map(str, words)], cwd=tmp_path, capture_output=True, text=True,
                              timeout=120, env={**os.environ, "KILN_PYTHON": sys.executable, **environment})

    return run


@pytest.mark.parametrize("words", [["script.py"], ["run", "script.py"], ["-m", "script"], ["run", "-m", "script"]])
def test_a_script_runs_with_its_arguments(script, words):
    done = script(*words, "--", "--in", "x.kiln")
    assert (done.returncode, done.stdout) == (0, "['--in', 'x.kiln'] 64.0\n"), done.stderr


def test_the_program_hands_python_files_over(script):
    done = script("run", "script.py", "exit", command=[NATIVE])
    assert (done.returncode, done.stdout) == (7, "['exit'] 64.0\n"), done.stderr
    done = script("check", "script.py", "--kernel", "scale", command=[NATIVE])
    assert done.returncode == 0 and "scale for trn3: ok" in done.stdout
    for command in ["time", "profile"]:
        done = script(command, "script.py", command=[NATIVE])
        assert done.returncode == 0 and done.stdout.startswith("scale for trn3: "), done.stderr
    done = script("run", "script.py", command=[NATIVE], KILN_PYTHON="no-such-python")
    assert done.returncode == 2 and "pip install ." in done.stderr and "No such file" in done.stderr


def test_exit_codes_and_tracebacks(script):
    assert script("script.py", "exit").returncode == 7
    done = script("script.py", "raise")
    assert done.returncode == 1 and "\nTraceback (" in done.stderr and "LookupError: of the script" in done.stderr
    done = script("script.py", "refuse")
    assert done.returncode == 1
    frames = [line for line in done.stderr.splitlines() if line.startswith('  File "')]
    assert [f.split()[-1] for f in frames] == ["<module>", "square", "product"] and "kiln/" not in "".join(frames)
    assert "error[operand.R6]" in done.stderr
    assert script("run", "missing.py").returncode == 2


def test_run_takes_a_target(script):
    done = script("run", "--target", "trn1", "script.py")
    assert done.returncode == 0, done.stderr
    assert script("run", "--target", "trn9", "script.py").returncode == 2


def test_text_programs_still_go_to_the_native_commands(script):
    mine, native = script("isa", "nc_matmul"), script("isa", "nc_matmul", command=[NATIVE])
    assert mine.stdout == native.stdout != "" and mine.returncode == 0
    assert script("--version").stdout == f"kiln {kiln.__version__}\n"
    assert script("frobnicate").returncode == 2


def test_check_takes_shapes_from_annotations_and_options(script):
    done = script("check", "script.py")
    assert done.returncode == 2, "one of the two kernels is not checked"
    assert "script.py: scale for trn3: ok" in done.stdout and "3 instructions: dma 2, vector 1" in done.stdout
    assert "square: not checked" in done.stdout and "nothing says what `x` is" in done.stderr
    done = script("check", "script.py", "--kernel", "square", "--arg", "x=bfloat16[128,96]", "--target", "trn2")
    assert done.returncode == 0 and "square for trn2: ok" in done.stdout
    done = script("check", "script.py", "--kernel", "square", "--arg", "x=float32[128,200]")
    assert done.returncode == 1 and "error[operand.R6]" in done.stderr and "    nisa.nc_matmul(p, a, b)" in done.stderr


def test_check_in_json(script):
    done = script("check", "script.py", "--json", "--kernel", "square", "--arg", "x=float32[128,200]")
    report = json.loads(done.stdout)
    first = report["programs"][0]["diagnostics"][0]
    assert not report["ok"] and first["code"] == "operand.R6" and first["file"].endswith("script.py")
    assert done.returncode == 1


def test_check_wrong_usage(script):
    for words in (["--kernel", "nothing"], ["--arg", "x"], ["--arg", "x=float99[2,2]"], ["--record", "missing.json"]):
        done = script("check", "script.py", *words)
        assert done.returncode == 2 and "error[nki.R" in done.stderr, words
    assert script("check", "missing.py").returncode == 2


def test_check_reports_a_kernel_that_raises(script, tmp_path):
    (tmp_path / "raises.py").write_text(
        "import nki\n\n\n@nki.jit\ndef kernel(n):\n    return [][n]  # here\n")
    done = script("check", "raises.py", "--arg", "n=3")
    assert done.returncode == 1 and "IndexError" in done.stderr and "# here" in done.stderr


def test_check_takes_recorded_calls(script, tmp_path):
    done = script("run", "script.py", "record", KILN_RECORD="calls.json")
    assert done.returncode == 0, done.stderr
    calls = json.loads((tmp_path / "calls.json").read_text())["calls"]
    assert [c["kernel"] for c in calls] == ["scale", "square"]
    script("run", "script.py", "record", KILN_RECORD="calls.json")
    assert json.loads((tmp_path / "calls.json").read_text())["calls"] == calls, "the same calls are kept once"
    done = script("check", "script.py", "--record", "calls.json")
    assert done.returncode == 0 and done.stdout.count(": ok") == 2, done.stdout + done.stderr
    assert sorted(os.listdir(tmp_path)) == ["__pycache__", "calls.json", "script.py"] or (
        sorted(os.listdir(tmp_path)) == ["calls.json", "script.py"])


class Config(nl.NKIObject):
    tile = 128
    dtype = nl.bfloat16


@pytest.mark.parametrize("value", [
    None, True, 3, 0.5, "word", nl.bfloat16, (1, (2, "x")), [1, None], {"a": 1}, nisa.oob_mode.skip,
    test_check_in_json],
    ids=repr)
def test_recorded_values_come_back(value):
    again = record.decode(json.loads(json.dumps(record.encode(value))))
    assert again == value and type(again) is type(value)


@pytest.mark.parametrize("calls", [
    5, [5], [{}], [{"kernel": "scale"}],
    [{"kernel": "scale", "file": "", "lnc": 1, "args": None, "kwargs": {}}],
    [{"kernel": "scale", "file": "", "lnc": 1, "args": [], "kwargs": []}],
    [{"kernel": "scale", "file": "\ud800", "lnc": 1, "args": [], "kwargs": {}}],
    [{"kernel": "scale", "file": "\0", "lnc": 1, "args": [], "kwargs": {}}],
], ids=ascii)
def test_a_file_of_no_calls_is_refused(calls, tmp_path):
    path = tmp_path / "calls.json"
    path.write_text(json.dumps({"kiln_calls": 1, "calls": calls}))
    with pytest.raises(kiln.NkiConfigError, match="calls.json"):
        record.read(path)


def test_a_file_of_calls_that_nests_too_deep_is_refused(tmp_path):
    path = tmp_path / "calls.json"
    path.write_text("[" * 100_000)
    with pytest.raises(kiln.NkiConfigError, match="calls.json"):
        record.read(path)


def test_check_prints_to_any_stream(tmp_path):
    """A notebook's stderr has no file descriptor."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        assert commands.main(["check", str(path), "--kernel", "square", "--arg", "x=float32[128,256]"]) == 1
    assert "nc_matmul" in err.getvalue() and "\033" not in err.getvalue()


def test_recorded_arrays_and_objects_come_back():
    made = record.decode(record.encode(Config(tile=64)))
    assert type(made) is Config and made.tile == 64 and made.dtype == nl.bfloat16
    assert record.decode(record.encode(np.zeros((2, 3), np.int32))) == specs.Spec((2, 3), "int32")


@nki.jit
def halves(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows = x.shape[0] // nl.num_programs()
    t = nl.ndarray((rows, x.shape[1]), dtype=x.dtype)
    mine = nl.ds(nl.program_id() * rows, rows)
    nisa.dma_copy(t, x[mine])
    nisa.dma_copy(out[mine], t)
    return out


def test_kiln_check_in_python(monkeypatch):
    assert kiln.check(halves, "float32[8,4]").ok
    report = kiln.check(halves[2], kiln.Spec((8, 4), nl.bfloat16))
    assert report and len(report.programs) == 2
    wrong = kiln.check(halves, x="float32[1024,4]")
    assert not wrong and wrong.exit_code == 1 and wrong.errors[0].loc.file == __file__
    assert "errors" in str(wrong) or "error" in str(wrong)
    assert kiln.check(halves, np.zeros((4, 4), np.float32)).ok
    with pytest.raises(kiln.NkiValidationError, match="at least one dimension"):
        kiln.check(halves, "float32[]")


def test_check_includes_the_language_lint(script, tmp_path):
    (tmp_path / "lambda.py").write_text(
        "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef kernel(x):\n"
        "    f = lambda n: n + 1  # refused by the parser\n"
        "    return nl.ndarray((f(1), 2), nl.float32, nl.shared_hbm)\n")
    done = script("check", "lambda.py")
    assert "# refused by the parser" in done.stderr and "lambda.py: language: " in done.stdout, done.stdout
    report = json.loads(script("check", "lambda.py", "--json").stdout)
    assert report["lint"][0]["line"] == 7 and report["not_traced"] == [
        {"file": "lambda.py", "kernel": "kernel", "parameters": ["x"]}]


def test_check_reports_a_file_that_cannot_be_imported(script, tmp_path):
    (tmp_path / "needs.py").write_text("import nki\nimport no_such_package\n")
    done = script("check", "needs.py")
    assert done.returncode == 1 and "No module named 'no_such_package'" in done.stderr and "needs.py:2" in done.stderr


@pytest.mark.parametrize("command", [(sys.executable, "-m", "kiln"), (NATIVE,)], ids=["module", "program"])
def test_labels_of_the_package_are_explained(script, command):
    assert script("explain", "language.R1", command=command).stdout.startswith("language.R1: ")
    assert "kernel returns tensors in shared_hbm" in script("explain", "nki.R16", command=command).stdout
    assert script("explain", "nki.R1", command=command).returncode == 0
    assert script("explain", "language.R9999", command=command).returncode == 2
    assert script("explain", "run.R1", command=command).stdout.startswith("run.R1")
