"""Files, functions, packages, and input that is no kernel file."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from kiln import lint

KERNEL = """\
import nki
import nki.language as nl

@nki.jit
def kernel(x):
    y = [i for i in range(3)]
    return x
"""


def write(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def lines(findings, rule):
    return [finding.line for finding in findings if finding.rule == rule]


# How kernels are found.

SPELLINGS = [
    "import nki\n@nki.jit\n",
    "import nki\n@nki.jit()\n",
    "import nki as kernels\n@kernels.jit(debug=True)\n",
    "from nki import jit\n@jit\n",
    "from nki import jit as compiled\n@compiled\n",
    "import neuronxcc.nki as nki\n@nki.jit\n",
    "from neuronxcc import nki\n@nki.jit\n",
    "import functools, nki\n@functools.partial(nki.jit, debug=True)\n",
    "import nki\njit = nki.jit\n@jit\n",
    "try:\n    import nki\nexcept ImportError:\n    nki = None\n@nki.jit\n",
]


@pytest.mark.parametrize("head", SPELLINGS)
def test_spellings_of_the_decorator(head):
    text = head + "def kernel(x):\n    return [i for i in x]\n"
    assert lines(lint.check_source(text), "language.R50") == [text.count("\n")]


@pytest.mark.parametrize("call", ["nki.jit(f)", "nki.simulate(f)(1)", "nki.simulate(nki.jit(f)[2])(1)",
                                  "nki.jit(debug=True)(f)"])  # fmt: skip
def test_functions_that_are_passed_to_nki(call):
    text = f"import nki\ndef f(x):\n    return [i for i in x]\nk = {call}\n"
    assert lines(lint.check_source(text), "language.R50") == [3]


def test_a_decorator_of_another_name_makes_no_kernel():
    assert lint.check_source("import jax\n@jax.jit\ndef f(x):\n    return [i for i in x]\n") == []


def test_names_given():
    text = "def f(x):\n    return [i for i in x]\ndef g(x):\n    return [i for i in x]\n"
    assert lint.check_source(text) == []
    assert lines(lint.check_source(text, kernels=["g"]), "language.R50") == [4]
    [missing] = lint.check_source(text, kernels=["h"])
    assert (missing.rule, missing.line) == ("language.R3", 0) and "`h`" in missing.message


def test_host_code_is_left_alone():
    host = "def host(*a, **k):\n    with open('f') as f:\n        return [g(*x) for x in {1, 2}]\n"
    assert lint.check_source("import nki\n" + host + "@nki.jit\ndef kernel(x):\n    return x\n") == []


def test_helpers_are_followed_through_calls_tables_and_classes():
    text = """\
import nki, nki.language as nl

@nki.jit
def kernel(x):
    TABLE["a"](x)
    Config().run()
    return x

def listed(x):
    return {1, 2}

TABLE = {"a": listed}

class Config(nl.NKIObject):
    def run(self):
        return {3, 4}
"""
    assert lines(lint.check_source(text), "language.R51") == [10, 16]


# Other files.


def test_imported_files_of_a_package(tmp_path):
    helper = "def helper(x):\n    return {1, 2}\n\ndef other(x):\n    return {3}\n"
    write(tmp_path, package____init__="", package__kernels____init__="", package__utils=helper,
          package__again="from .utils import helper as inner\n", package__kernels__main="""\
        import nki
        from ..again import inner
        from package import utils

        @nki.jit
        def kernel(x):
            inner(x)
            return utils.helper(x)
    """)  # fmt: skip
    [finding] = lint.check_file(tmp_path / "package/kernels/main.py")
    assert (finding.file, finding.line) == (str(tmp_path / "package/utils.py"), 2)


def test_sibling_of_a_script_and_a_relative_path(tmp_path, monkeypatch):
    write(tmp_path, utils="def helper(x):\n    return {1, 2}\n",
          main="import nki, utils\n@nki.jit\ndef kernel(x):\n    return utils.helper(x)\n")  # fmt: skip
    monkeypatch.chdir(tmp_path)
    [finding] = lint.check_file("main.py")
    assert (finding.file, finding.line) == ("utils.py", 2)


def test_check_source_follows_no_files(tmp_path):
    write(tmp_path, utils="def helper(x):\n    return {1, 2}\n")
    text = "import nki, utils\n@nki.jit\ndef kernel(x):\n    return utils.helper(x)\n"
    assert lint.check_source(text, tmp_path / "main.py") == []


def test_files_that_import_each_other_or_are_broken(tmp_path):
    write(tmp_path, a="import nki\nfrom b import g\n@nki.jit\ndef f(x):\n    return g(x)\n",
          b="from a import f\nfrom c import h\ndef g(x):\n    return f(h(x))\n", c="def h(:\n")  # fmt: skip
    assert lint.check_file(tmp_path / "a.py") == []


def test_names_that_are_imported_in_a_circle(tmp_path):
    write(tmp_path, a="import nki\nfrom b import f\n@nki.jit\ndef k(x):\n    return f(x)\n", b="from c import f\n",
          c="from b import f\n")  # fmt: skip
    assert lint.check_file(tmp_path / "a.py") == []


# Functions.


def comprehends(x):
    return [i for i in x]  # noqa: C416


def test_check_function():
    first = comprehends.__code__.co_firstlineno
    [finding] = lint.check_function(comprehends)
    assert (finding.file, finding.line, finding.rule) == (__file__, first + 1, "language.R50")


def test_check_function_looks_through_wrappers():
    class Kernel:
        func = staticmethod(comprehends)

    assert lint.check_function(Kernel()) == lint.check_function(comprehends)


def test_check_function_without_source():
    scope = {}
    exec(compile("def f(x):\n    return {1}\n", "<made up>", "exec"), scope)
    [finding] = lint.check_function(scope["f"])
    assert finding.rule == "language.R1" and "`f`" in finding.message


@pytest.mark.parametrize("wrong", [3, "kernel", len, None])
def test_check_function_of_something_else(wrong):
    with pytest.raises(TypeError, match="not a Python function"):
        lint.check_function(wrong)


# Input that is no kernel file.


def test_syntax_error_has_its_line():
    [finding] = lint.check_source("import nki\n\ndef f(x:\n    return x\n", "k.py")
    assert (finding.rule, finding.line, finding.severity) == ("language.R2", 3, "error")
    assert "never closed" in finding.message


@pytest.mark.parametrize("text", ["", "\n", "x = 1", "\ufeffx = 1", "# nothing"])
def test_files_without_kernels(tmp_path, text):
    (tmp_path / "k.py").write_text(text, encoding="utf-8")
    assert lint.check_file(tmp_path / "k.py") == []


@pytest.mark.parametrize("data, why", [(b"\x00\x01\x7fELF", "binary"), (b"x = '\xff'\n", "UTF-8"),
                                       (b"#" * ((16 << 20) + 1), "16 MiB")])  # fmt: skip
def test_files_that_are_no_text(tmp_path, data, why):
    (tmp_path / "k.py").write_bytes(data)
    [finding] = lint.check_file(tmp_path / "k.py")
    assert finding.rule == "language.R1" and why in finding.message


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "none.py", tmp_path):
        [finding] = lint.check_file(path)
        assert finding.rule == "language.R1" and str(path) in finding.message


def test_null_character_in_a_text():
    [finding] = lint.check_source("x = 1\0", "k.py")
    assert finding.rule in ("language.R1", "language.R2")


@pytest.mark.parametrize("body", ["x = " + "(" * 5000 + ")" * 5000, "x = " + "-" * 20000 + "1",
                                  "x = " + " + ".join(["1"] * 20000)])  # fmt: skip
def test_deep_nesting_is_a_finding_or_fine(body):
    findings = lint.check_source(f"import nki\n@nki.jit\ndef f(a):\n    {body}\n", "k.py")
    assert all(finding.rule in ("language.R1", "language.R2") for finding in findings)


def test_huge_kernel_in_good_time():
    text = "import nki\nimport nki.language as nl\n@nki.jit\ndef f(a):\n"
    text += "".join(f"    t{i} = nl.load(a[{i}:{i + 1}])\n    u{i} = nl.add(t{i}, t{i})\n" for i in range(1500))
    assert lint.check_source(text) == []


def test_wrong_profile_and_version():
    with pytest.raises(ValueError, match="no such profile: jit"):
        lint.check_source("", profiles=["jit"])
    with pytest.raises(ValueError, match="not a version"):
        lint.check_source("", api_version="new")


# What is printed.


def test_text():
    [finding] = lint.check_source(KERNEL, "kernel.py")
    assert str(finding).splitlines() == [
        "error[language.R50]: a list comprehension",
        "  --> kernel.py:6:9",
        " 6 |     y = [i for i in range(3)]",
        "   |         ^^^^^^^^^^^^^^^^^^^^^",
        "   = rule: kernel code has no comprehensions and no generator expressions",
        "   = profile: parser",
        "   = help: write a `for` loop that appends to a list",
    ]


def test_text_tells_the_front_ends_apart():
    text = ("import nki\nimport nki.language as nl\n@nki.jit\ndef kernel(x):\n"
            "    a = nl.load(x)\n    a[0:1] = 0\n    return x\n")
    [finding] = lint.check_source(text, "kernel.py")
    assert str(finding).splitlines()[-2] == "   = profile: parser and tracer (warning)"
    [finding] = lint.check_source(text, "kernel.py", profiles=["tracer"])
    assert (finding.severity, str(finding).splitlines()[-2]) == ("warning", "   = profile: tracer")


def test_carets_below_wide_characters_and_tabs():
    text = "import nki\n@nki.jit\ndef f(x):\n\ts = '日本' + str({1})\n"
    [finding] = lint.check_source(text, "k.py")
    source, carets = str(finding).splitlines()[2:4]
    assert source == " 4 | \ts = '日本' + str({1})"
    assert carets == "   | \t" + " " * len("s = 'xxxx' + str(") + "^^^"


def test_control_characters_do_not_reach_the_terminal():
    text = "import nki\n@nki.jit\ndef f(x):\n    s = {1}  # \x1b[31m\n"
    assert "\x1b" not in lint.as_text(lint.check_source(text, "k.py"))


def test_json():
    findings = lint.check_source(KERNEL, "kernel.py")
    shown = json.loads(lint.as_json(findings))
    assert shown["ok"] is False
    [one] = shown["diagnostics"]
    assert {key: one[key] for key in ("severity", "code", "file", "line", "column", "end_column", "profiles")} == {
        "severity": "error", "code": "language.R50", "file": "kernel.py", "line": 6, "column": 9, "end_column": 30,
        "profiles": {"parser": "error"}}  # fmt: skip
    assert json.loads(lint.as_json([])) == {"ok": True, "diagnostics": []}


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-m", "kiln.lint", *map(str, arguments)], capture_output=True, text=True,
                          env=environment)  # fmt: skip


def test_program(tmp_path):
    write(tmp_path, bad=KERNEL, good="import nki\n@nki.jit\ndef kernel(x):\n    return x\n")
    assert (run(tmp_path / "good.py").returncode, run(tmp_path / "good.py").stdout) == (0, "")
    done = run(tmp_path / "bad.py", tmp_path / "bad.py")
    assert done.returncode == 1 and done.stdout.count("language.R50") == 1
    assert run(tmp_path / "bad.py", "--profile", "tracer").returncode == 0
    assert json.loads(run(tmp_path / "bad.py", "--json").stdout)["ok"] is False
    assert run(tmp_path / "none.py").returncode == 2


INNER = """import nki
import nki.language as nl


@nki.jit
def kernel(x):
    def body(i):
        pass

    nl.fori_loop(0, 4, body)
    return x
"""


def test_a_comment_says_which_front_end_a_file_is_for():
    said = f"# kiln: profile tracer\n{INNER}"
    assert [f.rule for f in lint.check_source(INNER)] == ["language.R22"]
    assert not lint.check_source(said)
    assert [f.rule for f in lint.check_source(said, profiles=["parser"])] == ["language.R22"]
    assert [f.rule for f in lint.check_source(f"# kiln: profile other\n{INNER}")] == ["language.R22"]
    assert [f.rule for f in lint.check_source(INNER + "# text # kiln: profile tracer\n")] == ["language.R22"]
