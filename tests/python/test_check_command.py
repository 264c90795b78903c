"""`kiln check kernel.py`: green means checked. What is missing or unknown is named, with exit code 2."""

import json
import os
import pathlib
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

SCALE = HEAD + """

@nki.jit
def scale(x, gamma, factor=2.0, mode="fast"):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    g = nl.ndarray(gamma.shape, dtype=gamma.dtype)
    nisa.dma_copy(t, x)
    nisa.dma_copy(g, gamma)
    nisa.tensor_tensor(t, t, g, op=nl.multiply)
    nisa.dma_copy(out, t)
    return out
"""

# Two kernels, one of which calls the other.
NESTED = HEAD + """

@nki.jit
def inner(t, factor):
    nisa.tensor_scalar(t, t, nl.multiply, factor)


@nki.jit
def outer(x: nt.tensor[4, 8]):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    inner(t, 3.0)
    nisa.dma_copy(out, t)
    return out
"""
GIVEN = ["--arg", "x=float32[4,8]", "--arg", "gamma=float32[4,8]"]


@pytest.fixture
def kiln(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "nested.py").write_text(NESTED)

    def run(*words, command=(sys.executable, "-m", "kiln"), **environment):
        return subprocess.run([*map(str, command), *map(str, words)], cwd=tmp_path, capture_output=True, text=True,
                              timeout=120, env={**os.environ, "KILN_PYTHON": sys.executable, **environment})

    return run


def refused(done, *words):
    """Exit code 2, no verdict of ok, and what is wrong on stderr."""
    assert done.returncode == 2, done.stderr + done.stdout
    assert ": ok" not in done.stdout
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_kernel_without_arguments_is_not_green(kiln):
    refused(kiln("check", "scale.py"), "nothing says what `x` and `gamma` are", "--arg x=float32[128,512]",
            "python -m kiln.lint scale.py")
    report = json.loads(kiln("check", "scale.py", "--json").stdout)
    assert not report["ok"] and not report["programs"][0]["ok"]
    assert "`gamma`" in report["programs"][0]["diagnostics"][0]["found"]
    assert report["not_traced"] == [{"file": "scale.py", "kernel": "scale", "parameters": ["x", "gamma"]}]


def test_an_argument_that_no_kernel_has_is_named_with_the_nearest_one(kiln):
    done = kiln("check", "scale.py", "--arg", "x=float32[4,8]", "--arg", "gama=float32[4,8]")
    refused(done, "`scale` has no parameter `gama`", "did you mean `gamma`?", "nothing says what `gamma` is")
    refused(kiln("check", "scale.py", *GIVEN, "--arg", "factr=3"), "no parameter `factr`", "did you mean `factor`?")
    refused(kiln("check", "scale.py", *GIVEN, "--arg", "zz=3"), "the parameters are x, gamma, factor, mode")
    report = json.loads(kiln("check", "scale.py", "--json", *GIVEN, "--arg", "factr=3").stdout)
    assert not report["ok"] and report["programs"] == [] and "factr" in report["diagnostics"][0]["found"]


@pytest.mark.parametrize("text", ["x", "x=", "=3", "x=float32[4,8", "x=float32[-4,8]", "x=float32(4,8)", "x=4 8",
                                  "x=(1,", "9x=3", "x=float32[4,8]]", "x=float99[4]", "x=float32[]", "x=float32[0]"])
def test_an_argument_that_cannot_be_read_is_refused(kiln, text):
    refused(kiln("check", "scale.py", "--arg", text, "--arg", "gamma=float32[4,8]"), "error[nki.R")
    report = json.loads(kiln("check", "scale.py", "--json", "--arg", text).stdout)
    assert not report["ok"] and len(report["diagnostics"]) == 1


def test_an_argument_is_given_once(kiln):
    refused(kiln("check", "scale.py", *GIVEN, "--arg", "x=float32[4,9]"), "`x` is given twice")


@pytest.mark.parametrize("mode", ["slow", "very-slow", "'two words'", "nl.bfloat16", "None", "(1, 2)", "-3"])
def test_words_and_literals_are_values(kiln, mode):
    done = kiln("check", "scale.py", *GIVEN, "--arg", f"mode={mode}")
    assert done.returncode == 0 and "scale for trn3: ok" in done.stdout, done.stderr


def test_a_file_without_kernels_is_not_green(kiln, tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    refused(kiln("check", "empty.py"), "`empty.py` has no kernel", "@nki.jit")
    assert not json.loads(kiln("check", "empty.py", "--json").stdout)["ok"]


def test_a_kernel_name_that_is_wrong(kiln):
    refused(kiln("check", "scale.py", "--kernel", "scal", *GIVEN), "no kernel `scal`", "did you mean `scale`?")


def test_a_file_that_ends_the_process_is_not_green(kiln, tmp_path):
    (tmp_path / "leaves.py").write_text(SCALE + "\nimport sys\nsys.exit(0)\n")
    done = kiln("check", "leaves.py", *GIVEN)
    assert done.returncode == 1 and "SystemExit" in done.stderr and ": ok" not in done.stdout


def test_a_kernel_that_another_one_calls_is_checked_with_it(kiln):
    done = kiln("check", "nested.py")
    assert done.returncode == 0 and "outer for trn3: ok" in done.stdout, done.stderr
    assert "inner: checked where other kernels call it" in done.stdout


# Recorded calls.

CALL = {"kernel": "scale", "file": "scale.py", "lnc": 1, "args": [{"tensor": "float32[4,8]"}],
        "kwargs": {"gamma": {"tensor": "float32[4,8]"}}}


def write_calls(folder, *calls):
    (folder / "calls.json").write_text(json.dumps({"kiln_calls": 1, "calls": list(calls)}))


def test_recorded_calls_of_another_kernel_are_not_green(kiln, tmp_path):
    write_calls(tmp_path)
    refused(kiln("check", "scale.py", "--record", "calls.json"), "`calls.json` has no call of `scale`")
    write_calls(tmp_path, {**CALL, "kernel": "other"})
    refused(kiln("check", "scale.py", "--record", "calls.json"), "its calls are of: other")
    refused(kiln("time", "scale.py", "--record", "calls.json"), "its calls are of: other")
    write_calls(tmp_path, CALL)
    assert kiln("check", "scale.py", "--record", "calls.json").returncode == 0


def test_options_replace_recorded_arguments_whether_they_have_names_or_not(kiln, tmp_path):
    write_calls(tmp_path, CALL)
    words = ["--arg", "x=float32[2,8]", "--arg", "gamma=float32[2,8]"]
    done = kiln("check", "scale.py", "--record", "calls.json", *words)
    assert done.returncode == 0 and "call 0" in done.stdout, done.stderr


@pytest.mark.parametrize("change", [
    {"args": [{"tensor": "float32[4,8]"}] * 9}, {"args": [{}]}, {"args": 3},
    {"kwargs": {"gamma": {"dtype": "float99"}}},
    {"kwargs": {"gamma": {"name": ["os", "system"]}}}, {"kwargs": {"gamma": {"name": ["kiln", "lost"]}}},
    {"kwargs": {"gamma": {"object": ["builtins", "int"], "fields": {}}}}])
def test_calls_that_cannot_be_made_again_are_refused(kiln, tmp_path, change):
    write_calls(tmp_path, {**CALL, **change})
    refused(kiln("check", "scale.py", "--record", "calls.json"), "error[nki.R")


def test_recorded_calls_import_nothing_but_the_package_of_the_kernel(kiln, tmp_path):
    (tmp_path / "lying.py").write_text("open('executed', 'w')\nclass Config: pass\n")
    write_calls(tmp_path, {**CALL, "kwargs": {"gamma": {"object": ["lying", "Config"], "fields": {}}}})
    refused(kiln("check", "scale.py", "--record", "calls.json"), "module `lying`")
    refused(kiln("time", "scale.py", "--record", "calls.json"), "module `lying`")
    assert not (tmp_path / "executed").exists()


def test_recorded_objects_of_a_script_and_of_a_package_are_found(kiln, tmp_path):
    config = "\n\nclass Config:\n    pass\n"
    text = SCALE.replace("gamma, factor", "gamma, config, factor")
    (tmp_path / "script.py").write_text(text + config)
    made = {"config": {"object": ["__main__", "Config"], "fields": {"n": 3}}}
    write_calls(tmp_path, {**CALL, "kwargs": {**CALL["kwargs"], **made}})
    assert kiln("check", "script.py", "--record", "calls.json").returncode == 0
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "__init__.py").write_text("")
    (tmp_path / "made" / "config.py").write_text(config)
    (tmp_path / "made" / "scale.py").write_text(text)
    made = {"config": {"object": ["made.config", "Config"], "fields": {"n": 3}}}
    write_calls(tmp_path, {**CALL, "kwargs": {**CALL["kwargs"], **made}})
    done = kiln("check", "made/scale.py", "--record", "calls.json")
    assert done.returncode == 0, done.stderr


# Several files, several chips.


def test_several_files(kiln, tmp_path):
    done = kiln("check", "scale.py", "nested.py", *GIVEN)
    assert done.returncode == 0, done.stderr
    assert "scale.py: scale for trn3: ok" in done.stdout and "nested.py: outer for trn3: ok" in done.stdout
    (tmp_path / "helpers.py").write_text("SIZE = 4\n")
    done = kiln("check", "nested.py", "helpers.py")
    assert done.returncode == 0 and "helpers.py: no kernel" in done.stdout
    report = json.loads(kiln("check", "scale.py", "nested.py", "--json", "--arg", "x=float32[4,8]").stdout)
    assert [(p["file"], p["ok"]) for p in report["programs"]] == [("scale.py", False), ("nested.py", True)]


def test_files_do_not_see_each_others_modules(kiln, tmp_path):
    for folder, size in (("a", 4), ("b", 8)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sizes.py").write_text(f"SIZE = {size}\n")
        (tmp_path / folder / "kernel.py").write_text(
            "import sizes\n" + SCALE.replace("(x, gamma,", "(x: nt.tensor[4, 8], gamma: nt.tensor[sizes.SIZE, 8],"))
    done = kiln("check", "a/kernel.py", "b/kernel.py")
    assert "a/kernel.py: scale for trn3: ok" in done.stdout and done.returncode == 1, done.stdout
    assert "b/kernel.py: scale for trn3: ok" not in done.stdout and "b/kernel.py" in done.stderr


def test_kernels_and_text_programs_in_one_check(kiln, tmp_path):
    (tmp_path / "copy.kiln").write_text('kiln 1\nprogram "copy" target trn2\ntensor x: input hbm float32 [4]\n'
                                        "tensor y: output shared_hbm float32 [4]\ndma_copy(dst=y, src=x)\n")
    done = kiln("check", "copy.kiln", "nested.py")
    assert done.returncode == 0, done.stderr
    assert "copy.kiln: copy for trn2: ok" in done.stdout and "outer for trn3: ok" in done.stdout
    done = kiln("check", "lost.kiln", "nested.py")
    assert done.returncode == 2 and "lost.kiln" in done.stderr and "outer for trn3: ok" in done.stdout


def test_output_of_a_kernel_file_is_no_part_of_json(kiln, tmp_path):
    (tmp_path / "prints.py").write_text(NESTED + "\nprint('hello')\n")
    done = kiln("check", "prints.py", "--json")
    assert json.loads(done.stdout)["ok"] and "hello" in done.stderr
