"""`kiln time kernel.py`: two kernels side by side, three chips side by side, and wrong arguments."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

NATIVE = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli" / "kiln"

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl
import nki.typing as nt
"""
KERNEL = """

@nki.jit
def {name}(x, {more}):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    for i in range({times}):
        {line}
    nisa.dma_copy(out, t)
    return out
"""
DOUBLE = "nisa.tensor_scalar(t, t, nl.multiply, 2.0)"
SHAPE = ["--arg", "x=float32[128,512]"]


def kernel(name, times=1, line=DOUBLE, more="n=1"):
    return KERNEL.format(name=name, times=times, line=line, more=more)


@pytest.fixture
def kiln(tmp_path):
    (tmp_path / "a.py").write_text(HEAD + kernel("once"))
    (tmp_path / "b.py").write_text(HEAD + kernel("often", 20))
    (tmp_path / "both.py").write_text(HEAD + kernel("once") + kernel("often", 20))
    (tmp_path / "newest.py").write_text(HEAD + kernel("newest", line="nisa.exponential(t, t)"))

    def run(*words, command=(sys.executable, "-m", "kiln"), **environment):
        return subprocess.run([*map(str, command), *map(str, words)], cwd=tmp_path, capture_output=True, text=True,
                              timeout=120, env={**os.environ, "KILN_PYTHON": sys.executable, **environment})

    return run


def latencies(done):
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return {t: r["total_ns"] for t, r in zip(report.get("comparison", {}).get("columns", ["only"]), report["reports"])}


def alone(kiln, file, *words):
    [total] = latencies(kiln("time", file, *SHAPE, "--json", "--no-advice", *words)).values()
    return total


@pytest.mark.parametrize("command", [(sys.executable, "-m", "kiln"), (NATIVE,)], ids=["module", "program"])
def test_two_files_side_by_side(kiln, command):
    found = latencies(kiln("time", "a.py", "--compare", "b.py", *SHAPE, "--json", "--no-advice", command=command))
    assert found == {"a.py": alone(kiln, "a.py"), "b.py": alone(kiln, "b.py")}
    assert found["a.py"] < found["b.py"]
    text = kiln("time", "a.py", "--compare", "b.py", *SHAPE, command=command).stdout
    assert re.match(r" +a\.py +b\.py +change\n", text), text


def test_two_kernels_of_one_file(kiln):
    words = ["--kernel", "often", "--compare-kernel", "once", *SHAPE, "--json", "--no-advice"]
    found = latencies(kiln("time", "both.py", "--compare", "both.py", *words))
    assert found == {"both.py: often": alone(kiln, "b.py"), "both.py: once": alone(kiln, "a.py")}
    found = latencies(kiln("time", "both.py", "--kernel", "once", "--compare", "b.py", *SHAPE, "--json", "--no-advice"))
    assert list(found) == ["both.py", "b.py"]


def test_a_kernel_and_a_program_in_text_form(kiln, tmp_path):
    code = ("import kiln; kiln.activate(); from b import often; "
            "kiln.program(often, 'float32[128,512]').save('b.kiln')")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    for words in (["a.py", "--compare", "b.kiln"], ["b.kiln", "--compare", "a.py"]):
        found = latencies(kiln("time", *words, *SHAPE, "--json", "--no-advice"))
        assert found == {"a.py": alone(kiln, "a.py"), "b.kiln": alone(kiln, "b.py")}


def test_a_kernel_is_compared_on_the_chip_of_the_program(kiln, tmp_path):
    (tmp_path / "copy.kiln").write_text('kiln 1\nprogram "copy" target trn2\ntensor x: input hbm float32 [4]\n'
                                        "tensor y: output shared_hbm float32 [4]\ndma_copy(dst=y, src=x)\n")
    report = json.loads(kiln("time", "copy.kiln", "--compare", "a.py", *SHAPE, "--json").stdout)
    assert [r["target"] for r in report["reports"]] == ["trn2", "trn2"] and report["notes"] == []
    report = json.loads(kiln("time", "a.py", "--compare", "copy.kiln", *SHAPE, "--json").stdout)
    assert [r["target"] for r in report["reports"]] == ["trn3", "trn2"] and "two chips" in " ".join(report["notes"])


def test_arguments_that_only_one_of_two_kernels_has(kiln, tmp_path):
    (tmp_path / "more.py").write_text(HEAD + kernel("more", more="passes"))
    done = kiln("time", "a.py", "--compare", "more.py", *SHAPE, "--arg", "passes=3")
    assert done.returncode == 0, done.stderr
    done = kiln("time", "a.py", "--compare", "more.py", *SHAPE, "--arg", "pases=3")
    assert done.returncode == 2 and "no kernel has a parameter `pases`" in done.stderr
    assert "did you mean `passes`?" in done.stderr


def test_all_targets(kiln):
    found = latencies(kiln("time", "a.py", *SHAPE, "--target", "all", "--json", "--no-advice"))
    assert found == {chip: alone(kiln, "a.py", "--target", chip) for chip in ("trn1", "trn2", "trn3")}


def test_targets_on_which_a_kernel_is_illegal_are_named(kiln):
    done = kiln("time", "newest.py", *SHAPE, "--target", "all")
    assert done.returncode == 0 and "newest for trn3: " in done.stdout, done.stderr
    assert "not legal on trn1: " in done.stdout and "not legal on trn2: " in done.stdout, done.stdout
    done = kiln("time", "newest.py", *SHAPE)
    assert "trn3 is the default target" in done.stdout and "not legal on trn2: " in done.stdout, done.stdout
    assert "default target" not in kiln("time", "newest.py", *SHAPE, "--target", "trn3").stdout


def test_code_that_depends_on_the_chip_is_run_for_each(kiln, tmp_path):
    text = HEAD + "NEW = nisa.get_nc_version() >= nisa.nc_version.gen4\n" + kernel("newest", line="pass")
    text = text.replace("    for i", "    if NEW:\n        nisa.exponential(t, t)\n    for i")
    (tmp_path / "depends.py").write_text(text)
    done = kiln("check", "depends.py", *SHAPE, "--target", "all")
    assert done.returncode == 0, done.stderr
    assert re.search(r"verdict +ok +ok +ok\n", done.stdout) and re.search(r"instructions +2 +2 +3\n", done.stdout)
    assert "asks for the chip" in kiln("check", "depends.py", *SHAPE).stdout
    report = json.loads(kiln("time", "depends.py", *SHAPE, "--target", "all", "--json").stdout)
    assert report["comparison"]["columns"] == ["trn1", "trn2", "trn3"] and report["notes"] == []


def test_check_on_all_targets(kiln):
    done = kiln("check", "newest.py", *SHAPE, "--target", "all")
    assert done.returncode == 1, done.stdout
    lines = done.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line == "newest.py: newest")
    assert lines[head + 1].split() == ["trn1", "trn2", "trn3"]
    assert lines[head + 2].split() == ["verdict", "1", "error", "1", "error", "ok"]
    assert done.stderr.count("error[operand.R3]") == 1 and "on trn1 and trn2" in done.stderr
    report = json.loads(kiln("check", "newest.py", *SHAPE, "--target", "all", "--json").stdout)
    assert not report["ok"] and [p["ok"] for p in report["programs"]] == [False, False, True]
    report = json.loads(kiln("check", "newest.py", *SHAPE, "--json").stdout)
    assert report["ok"] and not report["programs"][0]["other_targets"]["trn1"]["ok"]


def test_wrong_arguments(kiln):
    for words, said in ((["a.py"], "nothing says what `x` is"), (["a.py", *SHAPE, "--arg", "m=3"], "no parameter `m`"),
                        (["a.py", "--kernel", "onc", *SHAPE], "did you mean `once`?"),
                        (["both.py", *SHAPE], "--kernel NAME"), (["a.py", "b.py", *SHAPE], "--compare"),
                        (["lost.py"], "there is no file `lost.py`")):
        done = kiln("time", *words)
        assert done.returncode == 2 and said in done.stderr and done.stdout == "", done.stderr
    report = json.loads(kiln("time", "a.py", "--json").stdout)
    assert not report["ok"] and "`x`" in report["diagnostics"][0]["found"]


def test_a_kernel_that_raises(kiln, tmp_path):
    (tmp_path / "raises.py").write_text(HEAD + kernel("raises", line="[][i]  # here"))
    done = kiln("time", "raises.py", *SHAPE)
    assert done.returncode == 1 and "IndexError" in done.stderr and "# here" in done.stderr
