"""The program `kiln` as a user meets it: what it prints, what it writes, and its exit code.

0 fine, 1 the program breaks a rule, 2 wrong usage or file, 3 a bug of kiln."""

import contextlib
import json
import os
import pathlib
import pty
import re
import resource
import threading

import ml_dtypes
import numpy as np
import pytest

from conftest import PROGRAMS

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
ADD = ["run", "add.kiln", "--in", "x=x.npy", "--in", "y=x.npy"]
BOTH = ["run", "sum_and_product.kiln", "--in", "x=x.npy"]


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def refused(done, code, *words, exit_code=2):
    """The run failed with this code, told so on stderr, and printed nothing to stdout."""
    assert done.returncode == exit_code, done.stderr
    assert f"error[{code}]" in done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


# The program itself.


def test_version(kiln):
    version = re.search(r"project\(kiln VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
    done = kiln("--version")
    assert (done.returncode, done.stdout) == (0, f"kiln {version}\n")


@pytest.mark.parametrize("command", ["check", "run", "time", "isa", "explain", "compile", "emit", "opt"])
def test_help_of_every_command(kiln, command):
    overview, help, other = kiln("--help"), kiln(command, "--help"), kiln("help", command)
    assert overview.returncode == help.returncode == other.returncode == 0
    assert command in overview.stdout
    assert help.stdout == other.stdout != ""
    if command in ["check", "run", "time", "isa", "explain"]:
        assert f"\n  kiln {command}" in help.stdout, "an example"


def test_help_shows_all_commands(kiln):
    assert kiln("help").stdout == kiln("--help").stdout
    refused(kiln("help", "chek"), "cli.R1", "chek")


def test_wrong_usage(kiln):
    refused(kiln(), "cli.R1", "no command")
    refused(kiln("chek"), "cli.R1", "did you mean `check`?")
    refused(kiln("check"), "cli.R1", "FILE", "kiln check --help")
    refused(kiln("check", "add.kiln", "--frobnicate"), "cli.R1", "--frobnicate")
    refused(kiln("check", "add.kiln", "--target", "trn9"), "cli.R1", "trn9", "trn1|trn2|trn3")
    refused(kiln("run", "add.kiln", "--threads", "-1"), "cli.R1", "--threads")
    refused(kiln("--frobnicate"), "cli.R1", "--frobnicate")


def test_options_that_nobody_knows_are_named(kiln):
    refused(kiln("check", "add.kiln", "--jsn"), "cli.R1", "kiln check has no option `--jsn`", "did you mean `--json`?")
    refused(kiln("check", "add.kiln", "--trace=x"), "cli.R1", "has no option `--trace`", "kiln time has it")
    refused(kiln("run", "add.kiln", "add.kiln", "add.kiln"), "cli.R1", "one program too many")


@pytest.mark.parametrize("command", ["check", "time"])
def test_help_shows_the_options_for_kernels_in_python(kiln, command):
    text = kiln(command, "--help").stdout
    assert "Kernels in Python (.py):" in text and "top-level code" in text
    for option in ["--kernel", "--arg", "--dtype", "--record", "--lnc"]:
        assert re.search(rf"^  {option} ", text, re.M), option


def test_help_of_run_tells_scripts_from_programs(kiln):
    text = kiln("run", "--help").stdout
    assert "Kernels in Python (.py):" in text and "Programs in text form (.kiln):" in text and "-m MODULE" in text


def test_options_for_kernels_in_python_do_not_go_with_programs(kiln):
    for option in (["--kernel", "k"], ["--arg", "x=float32[4]"], ["--record", "calls.json"], ["--lnc", "2"]):
        refused(kiln("check", "add.kiln", *option), "cli.R19", f"`{option[0]}` goes with kernels in Python only")
    refused(kiln("check", "kernel.py", "--dtype", "float99"), "cli.R1", "float99")


@pytest.mark.parametrize("command", ["import"])
def test_planned_commands_say_so(kiln, command):
    refused(kiln(command, "add.kiln"), "cli.R2", f"not yet: `kiln {command}`")


def test_full_standard_output(kiln):
    with open("/dev/full", "w") as full:
        done = kiln("isa", stdout=full)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr


# kiln check


@pytest.fixture
def wide(tmp_path):
    """add.kiln on all 128 partitions: two float32 tiles of 8 elements per partition."""
    path = tmp_path / "wide.kiln"
    path.write_text((PROGRAMS / "add.kiln").read_text().replace("[4, 8]", "[128, 8]"))
    return path


def test_check_legal_program(kiln, wide):
    done = kiln("check", wide)
    assert done.returncode == 0 and done.stderr == ""
    assert "add for trn2: ok" in done.stdout
    assert re.search(r"SBUF: at most 64 of \d+ bytes", done.stdout)
    assert "PSUM: at most 0 of" in done.stdout
    assert "4 instructions: dma 3, vector 1" in done.stdout


def test_check_reads_standard_input(kiln):
    done = kiln("check", "-", input=(PROGRAMS / "add.kiln").read_text())
    assert done.returncode == 0 and "ok" in done.stdout
    assert "<stdin>" in kiln("check", "-", input="nonsense").stderr
    refused(kiln("check", "-", "-", input=""), "cli.R13")


def test_check_target_overrides_the_program(kiln):
    assert "add for trn3: ok" in kiln("check", "add.kiln", "--target", "trn3").stdout


def test_check_on_all_targets(kiln):
    done = kiln("check", "add.kiln", "--target", "all")
    assert done.returncode == 0 and re.search(r"trn1 +trn2 +trn3\n  verdict +ok +ok +ok\n", done.stdout), done.stdout
    programs = json.loads(kiln("check", "add.kiln", "--target", "all", "--json").stdout)["programs"]
    assert [p["target"] for p in programs] == ["trn1", "trn2", "trn3"]
    refused(kiln("check", "-", "--target", "all"), "cli.R13")


def test_check_broken_rule(kiln):
    done = kiln("check", "wrong_shape.kiln")
    assert done.returncode == 1
    assert "error[tensor_tensor.R2]" in done.stderr
    line = (PROGRAMS / "wrong_shape.kiln").read_text().split("tensor_tensor(")[0].count("\n") + 1
    assert f"wrong_shape.kiln:{line}" in done.stderr
    assert "= help:" in done.stderr
    assert "1 error" in done.stdout and "ok" not in done.stdout


@pytest.mark.parametrize("text", ["", "kiln 2", "\x00\xff", 'kiln 1\nprogram "p" target trn2\nloop', "(" * 10000])
def test_check_malformed_program(kiln, tmp_path, text):
    (tmp_path / "bad.kiln").write_text(text)
    done = kiln("check", "bad.kiln")
    assert done.returncode == 2
    assert "error[text.R" in done.stderr and "bad.kiln" in done.stderr


def test_check_suggests_names(kiln):
    done = kiln("check", "misspelt.kiln")
    assert done.returncode == 2 and "tensor_tensor" in done.stderr


def test_check_unreadable_file(kiln, tmp_path):
    for path in ["no_such.kiln", tmp_path]:
        done = kiln("check", path)
        assert done.returncode == 2 and "error[file.R1]" in done.stderr and str(path) in done.stderr


def test_check_goes_on_after_a_bad_file(kiln):
    done = kiln("check", "no_such.kiln", "wrong_shape.kiln", "add.kiln")
    assert done.returncode == 2
    assert "file.R1" in done.stderr and "tensor_tensor.R2" in done.stderr
    assert "add for trn2: ok" in done.stdout


def test_check_json(kiln, wide):
    done = kiln("check", wide, "wrong_shape.kiln", "no_such.kiln", "--json")
    assert done.returncode == 2 and done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer["ok"] is False
    good, broken, absent = answer["programs"]
    assert good["ok"] and good["instructions"] == {"dma": 3, "vector": 1} and good["diagnostics"] == []
    assert good["memory"]["sbuf"]["peak_bytes"] == 64
    assert not broken["ok"] and broken["diagnostics"][0]["code"] == "tensor_tensor.R2"
    assert not absent["ok"] and absent["diagnostics"][0]["category"] == "config"


# kiln run


@pytest.mark.parametrize("options", [[], ["--plain"], ["--threads", "1"], ["--threads", "3"], ["--target", "trn3"]])
def test_run(kiln, tmp_path, x, options):
    done = kiln(*ADD, "--out", "z=z.npy", *options)
    assert done.returncode == 0, done.stderr
    z = np.load(tmp_path / "z.npy")
    assert z.dtype == np.float32
    np.testing.assert_array_equal(z, x + x)
    assert "z: float32 (4, 8) -> z.npy" in done.stdout
    assert done.stderr == "", "no progress line without a terminal"


def test_run_from_standard_input(kiln, tmp_path, x):
    done = kiln("run", "-", *ADD[2:], "--out", "z=z.npy", input=(PROGRAMS / "add.kiln").read_text())
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), x + x)


def test_run_prints_values(kiln, tmp_path, x):
    done = kiln(*ADD, "--print")
    assert done.returncode == 0, done.stderr
    shown = re.search(r"z: float32 \(4, 8\): (.*) \.\.\.", done.stdout).group(1)
    assert [float(value) for value in shown.split()] == (x + x).ravel()[:8].tolist()
    assert files(tmp_path) == ["x.npy"]


def test_run_json(kiln, x):
    done = kiln(*ADD, "--out", "z=z.npy", "--print", "--json")
    assert done.returncode == 0 and done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer["ok"] and answer["instructions"] == 4
    assert answer["instructions_by_engine"] == {"dma": 3, "vector": 1}
    (output,) = answer["outputs"]
    assert output["name"] == "z" and output["shape"] == [4, 8] and output["file"] == "z.npy"
    failed = kiln("run", "add.kiln", "--json")
    assert failed.returncode == 2 and failed.stderr == ""
    assert {d["code"] for d in json.loads(failed.stdout)["diagnostics"]} == {"cli.R7", "cli.R10"}


def test_run_warns_of_integers_that_float32_rounds(kiln, tmp_path):
    text = (PROGRAMS / "add.kiln").read_text().replace("float32", "int32").replace("op=add", "op=add, engine=vector")
    x = np.full((4, 8), 1, np.int32)
    x[2, 3] = 2**24 + 1
    np.save(tmp_path / "x.npy", x)
    arguments = ["run", "-", *ADD[2:], "--out", "z=z.npy"]
    done = kiln(*arguments, input=text)
    assert done.returncode == 0
    assert "run.R13" in done.stderr and "element [2, 3] of `a` is 16777217" in done.stderr
    (warning,) = json.loads(kiln(*arguments, "--json", input=text).stdout)["diagnostics"]
    assert warning["code"] == "run.R13" and warning["severity"] == "warning" and warning["help"]
    assert warning["line"] == 1 + text.splitlines().index(warning["context"])


def test_run_bfloat16(kiln, tmp_path):
    x = np.arange(32, dtype=np.float32).reshape(4, 8).astype(ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", x)
    done = kiln("run", "add_bfloat16.kiln", "--in", "x=x.npy", "--out", "y=y.npy")
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npy").view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(y.astype(np.float32), 2 * x.astype(np.float32))


def test_run_inout(kiln, tmp_path, x):
    done = kiln("run", "double_in_place.kiln", "--in", "x=x.npy", "--out", "x=x.npy")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), 2 * x)
    refused(kiln("run", "double_in_place.kiln", "--out", "x=y.npy"), "cli.R7", "--in x=FILE")
    refused(kiln("run", "double_in_place.kiln", "--in", "x=x.npy"), "cli.R10", "--out x=FILE")


def test_run_pair_of_cores(kiln, tmp_path, x):
    done = kiln("run", "core0.kiln", "core1.kiln", "--in", "x=x.npy", "--out", "y=y.npy")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), 2 * x)


def test_run_wrong_pair(kiln, tmp_path, x):
    options = ["--in", "x=x.npy", "--out", "y=y.npy"]
    refused(kiln("run", "core0.kiln", "add_bfloat16.kiln", *options), "cli.R12", "lnc 1")
    other = (PROGRAMS / "core1.kiln").read_text()
    (tmp_path / "target.kiln").write_text(other.replace("trn2", "trn3"))
    refused(kiln("run", "core0.kiln", "target.kiln", *options), "cli.R12", "trn2 and trn3")
    (tmp_path / "shape.kiln").write_text(other.replace("x: input hbm float32 [4, 8]", "x: input hbm float32 [8, 8]"))
    refused(kiln("run", "core0.kiln", "shape.kiln", *options), "cli.R12", "(4, 8)", "(8, 8)")
    refused(kiln("run", "core0.kiln", "core1.kiln", "core1.kiln", *options), "cli.R1")


def test_run_checks_first(kiln, tmp_path, x):
    refused(kiln("run", "wrong_shape.kiln", "--in", "x=x.npy", "--out", "y=y.npy"), "tensor_tensor.R2", exit_code=1)
    assert files(tmp_path) == ["x.npy"]


def test_run_time_rule(kiln, tmp_path):
    done = kiln("run", "reads_unwritten.kiln", "--out", "y=y.npy")
    assert done.returncode == 1 and "error[run.R" in done.stderr and done.stdout == ""
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["--in", "x=x.npy", "--out", "z=z.npy"], "cli.R7", ["`y`", "float32 (4, 8)"]),
        (["--in", "x=x.npy", "--in", "y=x.npy"], "cli.R10", ["`z`", "--out z=FILE"]),
        (["--in", "x=x.npy", "--in", "x=y.npy"], "cli.R5", ["x.npy", "y.npy"]),
        (["--in", "xx=x.npy"], "cli.R6", ["`xx`", "did you mean `x`?"]),
        (["--in", "weights=x.npy"], "cli.R6", ["`weights`", "inputs of the program: x, y"]),
        (["--in", "z=x.npy"], "cli.R6", ["no input named `z`"]),
        (["--out", "x=x.npy"], "cli.R9", ["no output named `x`"]),
        (["--in", "x"], "cli.R4", ["NAME=FILE"]),
        (["--in", "=x.npy"], "cli.R4", []),
        (["--in", "x="], "cli.R4", []),
    ],
)
def test_run_wrong_names(kiln, tmp_path, x, options, code, words):
    refused(kiln("run", "add.kiln", *options), code, *words)
    assert files(tmp_path) == ["x.npy"]


def test_run_outputs_have_files_of_their_own(kiln, tmp_path, x):
    refused(kiln(*BOTH, "--out", "total=y.npy", "--out", "product=./y.npy"), "cli.R11", "y.npy")
    assert kiln(*BOTH, "--out", "total=/dev/null", "--out", "product=/dev/null").returncode == 0
    assert files(tmp_path) == ["x.npy"]


def test_run_wrong_arrays(kiln, tmp_path, x):
    good = (tmp_path / "x.npy").read_bytes()
    cases = {
        "shape.npy": (x.T.copy(), "cli.R8", "(8, 4)"),
        "dtype.npy": (x.astype(np.float16), "npy.R10", "float32 expected"),
        "double.npy": (x.astype(np.float64), "npy.R8", "astype"),
    }
    for name, (array, code, word) in cases.items():
        np.save(tmp_path / name, array)
        refused(kiln(*ADD[:-1], f"y={name}", "--out", "z=z.npy"), code, name, word)
    for size in [0, 5, 40, len(good) - 1]:
        (tmp_path / "cut.npy").write_bytes(good[:size])
        done = kiln(*ADD[:-1], "y=cut.npy", "--out", "z=z.npy")
        assert done.returncode == 2 and "error[npy.R" in done.stderr and "cut.npy" in done.stderr
    refused(kiln(*ADD[:-1], "y=no_such.npy", "--out", "z=z.npy"), "file.R1", "no_such.npy")
    assert "z.npy" not in files(tmp_path)


def test_run_reports_all_wrong_arrays(kiln, tmp_path, x):
    np.save(tmp_path / "wide.npy", np.zeros((4, 9), np.float32))
    done = kiln("run", "add.kiln", "--in", "x=wide.npy", "--in", "y=no_such.npy", "--out", "z=z.npy")
    assert done.returncode == 2 and "cli.R8" in done.stderr and "file.R1" in done.stderr


@pytest.mark.parametrize("bad", ["no_folder/p.npy", "x.npy/p.npy", ".", "/proc/p.npy", "/dev/full"])
def test_run_writes_all_outputs_or_none(kiln, tmp_path, x, bad):
    (tmp_path / "t.npy").write_text("old")
    for good, other in [("total", "product"), ("product", "total")]:
        done = kiln(*BOTH, "--out", f"{good}=t.npy", "--out", f"{other}={bad}")
        refused(done, "file.R2", f"`{bad}`")
        assert ".kiln" not in done.stderr.replace("sum_and_product.kiln", ""), "the name beside is ours"
    assert files(tmp_path) == ["t.npy", "x.npy"]
    assert (tmp_path / "t.npy").read_text() == "old"


def test_run_on_a_full_disk(kiln, tmp_path, x):
    done = kiln(*BOTH, "--out", "total=t.npy", "--out", "product=p.npy", limits={resource.RLIMIT_FSIZE: 200})
    refused(done, "file.R2", "p.npy")
    assert files(tmp_path) == ["x.npy"]


def test_run_out_of_memory(kiln, x):
    words = ["run", "large.kiln", "--in", "x=x.npy", "--print"]
    refused(kiln(*words, limits={resource.RLIMIT_AS: 4 << 30}), "limit.R1")
    refused(kiln(*words, "--max-memory", "90G", limits={resource.RLIMIT_AS: 4 << 30}), "cli.R3")


def test_run_keeps_links_and_permissions(kiln, tmp_path, x):
    (tmp_path / "real.npy").touch(mode=0o600)
    (tmp_path / "link.npy").symlink_to("real.npy")
    assert kiln(*ADD, "--out", "z=link.npy").returncode == 0
    assert (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "real.npy").stat().st_mode & 0o777 == 0o600
    np.testing.assert_array_equal(np.load(tmp_path / "real.npy"), x + x)


def test_slow_run_shows_progress_on_a_terminal_only(kiln, x):
    words = ["run", "long.kiln", "--in", "x=x.npy", "--print"]
    master, terminal = pty.openpty()
    parts = []

    def read():  # while it runs: a terminal takes only so much that nobody reads
        with contextlib.suppress(OSError):  # the end, on Linux
            while part := os.read(master, 1 << 16):
                parts.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    on_terminal = kiln(*words, stderr=terminal)
    os.close(terminal)
    reader.join()
    os.close(master)
    shown = b"".join(parts).decode()
    assert on_terminal.returncode == 0
    assert re.search(r"running \[[= ]*\] +\d+ % 1\.\d s", shown)
    assert shown.endswith("\r\x1b[K"), "the line is removed at the end"
    assert kiln(*words).stderr == ""


# kiln isa


def instructions():
    text = (SOURCE / "kiln/isa/instructions.def").read_text()
    return re.findall(r"^KILN_INSTRUCTION\((\w+), (\w+),", text, re.M)


def test_isa_lists_every_instruction_in_its_group(kiln):
    listing = kiln("isa").stdout
    for name, group in instructions():
        section = re.search(rf"^{group}\n((?:  .*\n)+)", listing, re.M).group(1)
        assert re.search(rf"^  {name} ", section, re.M), name


def test_isa_page(kiln):
    page = kiln("isa", "tensor_tensor").stdout
    source = (SOURCE / "kiln/isa/instructions/tensor_tensor.cpp").read_text()
    rules = len(re.findall(r"^constexpr Rule k\w+\{", source, re.M))
    assert f"tensor_tensor.R{rules}" in page and f"tensor_tensor.R{rules + 1}" not in page
    for word in ["tensor_tensor(dst, data1, data2, op", "vector, gpsimd", "SBUF, PSUM", "operand.R1", "basis:", "Cost"]:
        assert word in page, word


def test_isa_every_page_in_every_form(kiln):
    pages = json.loads(kiln("isa", "--json").stdout)
    assert [page["name"] for page in pages] == [name for name, _ in instructions()]
    for page in pages:
        assert json.loads(kiln("isa", page["name"], "--json").stdout) == page
        markdown, text = kiln("isa", page["name"], "--markdown"), kiln("isa", page["name"])
        assert markdown.stdout.startswith(f"# {page['name']}\n") and text.stdout.startswith(f"{page['name']}\n")
        for param in page["params"]:
            assert param["name"] in text.stdout


def test_isa_unknown_name(kiln):
    refused(kiln("isa", "nc_matmull"), "cli.R14", "did you mean `nc_matmul`?")
    refused(kiln("isa", "tensor_tensor", "--status"), "cli.R1")


def test_isa_operands_page(kiln):
    assert "operand.R1\n" in kiln("isa", "operands").stdout


def test_isa_write_manual(kiln, tmp_path):
    done = kiln("isa", "--write-manual", "deep/manual")
    assert done.returncode == 0
    names = [name for name, _ in instructions()]
    assert files(tmp_path / "deep/manual") == sorted(f"{name}.md" for name in [*names, "index", "operands"])
    page = (tmp_path / "deep/manual/tensor_tensor.md").read_text()
    assert page == kiln("isa", "tensor_tensor", "--markdown").stdout
    index = (tmp_path / "deep/manual/index.md").read_text()
    for target in re.findall(r"\]\((.*?)\)", index):
        assert (tmp_path / "deep/manual" / target).exists()
    (tmp_path / "file").touch()
    refused(kiln("isa", "--write-manual", "file"), "file.R2")


def test_status_page_is_up_to_date(kiln):
    table = kiln("isa", "--status").stdout
    assert "| kiln import | not yet" in table
    for name, _ in instructions():
        assert f"| {name.replace('_', chr(92) + '_')} |" in table
    _, marker, tables = (SOURCE / "docs/status.md").read_text().partition("<!-- kiln isa --status -->\n")
    assert marker and tables == table, "docs/status.md says how to refresh it"


# kiln explain


def test_explain(kiln):
    done = kiln("explain", "tensor_tensor.R2")
    assert done.returncode == 0
    assert done.stdout.startswith("tensor_tensor.R2: ")
    for word in ["help: ", "basis: documented", "applies to: instruction tensor_tensor"]:
        assert word in done.stdout


def test_explain_unknown_code(kiln):
    refused(kiln("explain", "tensor_tensor.R99"), "cli.R15")
    refused(kiln("explain", "tensor_tensr.R2"), "cli.R15", "did you mean `tensor_tensor.R2`?")


def test_explain_knows_every_rule(kiln):
    rules = json.loads(kiln("explain", "--json").stdout)
    codes = [rule["code"] for rule in rules]
    assert len(set(codes)) == len(codes)
    assert {code.split(".")[0] for code in codes} >= {"tensor_tensor", "operand", "memory", "io", "program", "text",
                                                      "npy", "file", "run", "cli"}
    assert [line.split(":")[0] for line in kiln("explain").stdout.splitlines()] == codes
    for rule in rules:
        assert rule["text"] and rule["help"] and rule["origin"], rule["code"]
    numbers = {}
    for prefix, number in re.findall(r"^(\w+)\.R(\d+)$", "\n".join(codes), re.M):
        numbers.setdefault(prefix, []).append(int(number))
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values()), numbers
    assert json.loads(kiln("explain", codes[-1], "--json").stdout) == rules[-1]


def test_every_rule_of_the_command_line_is_tested(kiln):
    rules = re.findall(r"^(cli\.R\d+):", kiln("explain").stdout, re.M)
    text = "".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("test_*.py"))
    untested = {rule for rule in rules if not re.search(rf'"{re.escape(rule)}"', text)}
    assert untested == set()
