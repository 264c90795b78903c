"""`kiln time` as a user meets it."""

import json
import os
import pathlib
import re
import resource

import pytest

from conftest import PROGRAMS
from test_cli import files, refused

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])

MATMUL = """kiln 1
program "matmul" target trn2
tensor a: input hbm float32 [128, 4096]
tensor b: input hbm float32 [128, 128]
tensor c: output shared_hbm float32 [128, 4096]
tensor w: sbuf float32 [128, 128]
dma_copy(dst=w, src=b)
loop i = 0 .. 4096 step 512 {
  tensor t: sbuf float32 [128, 512]
  tensor p: psum float32 [128, 512]
  tensor u: sbuf float32 [128, 512]
  dma_copy(dst=t, src=a.ap([[4096, 128], [1, 512]], offset=i))
  nc_matmul(dst=p, stationary=w, moving=t)
  tensor_copy(dst=u, src=p)
  dma_copy(dst=c.ap([[4096, 128], [1, 512]], offset=i), src=u)
}
"""

DYNAMIC = """kiln 1
program "dynamic" target trn2
register k frozen
register count
tensor n: input hbm int32 [1, 1]
tensor y: output shared_hbm float32 [128, 512]
tensor t: sbuf float32 [128, 512]
memset(dst=t, value=1.0)
register_load(dst=count, src=n)
for k = 0 .. count {
  tensor_scalar(dst=t, data=t, op0=multiply, operand0=2.0)
}
dma_copy(dst=y, src=t)
"""


@pytest.fixture
def matmul(tmp_path):
    (tmp_path / "matmul.kiln").write_text(MATMUL)
    return "matmul.kiln"


@pytest.fixture
def dynamic(tmp_path):
    (tmp_path / "dynamic.kiln").write_text(DYNAMIC)
    return "dynamic.kiln"


def report_of(done):
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["ok"] and document["diagnostics"] == []
    return document["reports"][0]


def total_of(done):
    return report_of(done)["total_ns"]


def test_says_the_answers(kiln, matmul):
    done = kiln("time", matmul)
    assert done.returncode == 0 and done.stderr == ""
    assert re.match(r"matmul for trn2: [\d.]+ us, between [\d.]+ us and [\d.]+ us\n", done.stdout)
    for words in ["bottleneck: ", "Engines", "Critical path, by line", "matmul.kiln:13", "Hottest lines", "Roofline",
                  "arithmetic intensity", "compulsory (1.00 times)", "Advice"]:
        assert words in done.stdout, words


def test_profile_is_the_same(kiln, matmul):
    assert kiln("profile", matmul).stdout == kiln("time", matmul).stdout
    assert kiln("help", "profile").stdout == kiln("time", "--help").stdout


def test_same_input_same_answer(kiln, matmul):
    assert len({kiln("time", matmul, "--json").stdout for _ in range(3)}) == 1


def test_reads_standard_input(kiln):
    assert "matmul for trn2" in kiln("time", "-", input=MATMUL).stdout


def test_lines_limits_the_tables(kiln, matmul):
    assert "and 3 more lines" in kiln("time", matmul, "--lines", "2").stdout


# JSON


def test_json_adds_up(kiln, matmul):
    report = report_of(kiln("time", matmul, "--json"))
    band = report["band"]
    assert 0 < band["low_ns"] < report["total_ns"] < band["high_ns"]
    assert sum(line["critical_ns"] for line in report["lines"]) == pytest.approx(report["total_ns"])
    assert sum(step["time_ns"] for step in report["critical_path"]) == pytest.approx(report["total_ns"])
    assert report["summary"]["kernel_time"] == pytest.approx(report["total_ns"] * 1e-9)
    assert report["summary"]["matmul_instruction_count"] == 8
    assert report["summary"]["hbm_read_bytes"] == 4 * 128 * (4096 + 128)
    assert report["summary"]["hbm_write_bytes"] == 4 * 128 * 4096
    assert report["bottleneck"] in [engine["name"] for engine in report["engines"]]
    for engine in report["engines"]:
        assert engine["busy_ns"] <= report["total_ns"]


def documented_keys():
    """The keys in the tables of docs/time-command.md: `key` in the first column."""
    return set(re.findall(r"^\| `([\w.\[\]]+)` \|", (SOURCE / "docs/time-command.md").read_text(), re.M))


def test_every_key_is_documented_and_there(kiln, matmul):
    document = json.loads(kiln("time", matmul, "--compare", matmul, "--json").stdout)
    report = document["reports"][0]
    found = set(document) | {f"comparison.{key}" for key in document["comparison"]}
    found |= {f"reports[].{key}" for key in report} | set(report["summary"])
    for part in ["band", "roofline"]:
        found |= {f"{part}.{key}" for key in report[part]}
    found |= {f"roofline.ceilings[].{key}" for key in report["roofline"]["ceilings"][0]}
    for part in ["ranks", "engines", "lines", "critical_path", "advice"]:
        assert report[part], part
        found |= {f"{part}[].{key}" for item in report[part] for key in item}
    assert found == documented_keys()


# What is asked about


def test_what_if(kiln, matmul):
    base = total_of(kiln("time", matmul, "--json"))
    faster = report_of(kiln("time", matmul, "--json", "--what-if", "dma_bandwidth=2x", "--what-if", "fp32_passes=1"))
    assert faster["total_ns"] < base
    assert faster["what_if"] == ["dma_bandwidth=2x", "fp32_passes=1"]
    assert total_of(kiln("time", matmul, "--json", "--what-if", "dma_bandwidth=1x")) == base


def test_what_if_engine(kiln, matmul):
    report = report_of(kiln("time", matmul, "--json", "--what-if", "engine=tensor_copy:scalar"))
    assert report["summary"]["scalar_engine_instruction_count"] == 8
    assert report["summary"]["vector_engine_instruction_count"] == 0
    refused(kiln("time", matmul, "--what-if", "engine=tensor_cpy:scalar"), "views.R1", "did you mean `tensor_copy`?")


def test_what_if_compiler(kiln, matmul):
    report = report_of(kiln("time", matmul, "--json", "--what-if", "merged_passes=2048"))
    assert report["what_if"] == ["merged_passes=2048"]
    refused(kiln("time", matmul, "--what-if", "merged_passes=many"), "timing.what_if", "no number of passes")
    assert "merged_passes" in kiln("time", "--what-if", "list").stdout


def test_wrong_what_if(kiln, matmul):
    refused(kiln("time", matmul, "--what-if", "dma_bandwith=2x"), "cli.R16", "did you mean `dma_bandwidth`?")
    refused(kiln("time", matmul, "--what-if", "dma_bandwidth"), "cli.R16", "NAME=VALUE")
    for value in ["fast", "-1x", "0", "nan", "2y"]:
        done = kiln("time", matmul, "--what-if", f"dma_bandwidth={value}")
        assert done.returncode == 2 and done.stdout == "" and "positive number" in done.stderr, value


def test_what_if_list(kiln):
    done = kiln("time", "--what-if", "list")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert "dma_bandwidth" in names and "engine" in names


def test_trip_counts(kiln, dynamic):
    refused_run = kiln("time", dynamic)
    assert refused_run.returncode == 2 and refused_run.stdout == ""
    assert "k" in refused_run.stderr and "dynamic.kiln:10" in refused_run.stderr
    few, many = (total_of(kiln("time", dynamic, "--json", "--trip-count", f"k={n}")) for n in [1, 101])
    assert many - few > 100 * 512 / 0.96 / 2  # each iteration takes 512 columns, at most two per cycle
    for text in ["k", "k=", "k=x", "k=-1"]:
        refused(kiln("time", dynamic, "--trip-count", text), "cli.R17")
    refused(kiln("time", dynamic, "--trip-count", "k=1", "--trip-count", "kk=1"), "cli.R17", "did you mean `k`?")


def test_compare(kiln, matmul, tmp_path):
    halves = MATMUL.replace("float32", "bfloat16").replace("p: psum bfloat16", "p: psum float32")
    (tmp_path / "bf16.kiln").write_text(halves)
    done = kiln("time", matmul, "--compare", "bf16.kiln")
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["matmul.kiln", "bf16.kiln", "change"]
    kernel = next(row for row in rows if row.startswith("kernel"))
    assert re.search(r"-\d+\.\d %$", kernel)
    document = json.loads(kiln("time", matmul, "--compare", "bf16.kiln", "--json").stdout)
    totals = [report["total_ns"] * 1e-9 for report in document["reports"]]
    assert document["comparison"]["figures"]["kernel_time"] == pytest.approx(totals)
    assert totals[1] < totals[0]


def test_all_targets(kiln, matmul):
    done = kiln("time", matmul, "--target", "all")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split() == ["trn1", "trn2", "trn3"]
    for target in ["trn1", "trn2", "trn3"]:
        alone = report_of(kiln("time", matmul, "--target", target, "--json"))
        assert alone["target"] == target
    refused(kiln("time", matmul, "--target", "trn9"), "cli.R1", "trn9")
    refused(kiln("time", matmul, "--target", "all", "--html", "x.html"), "cli.R18")


def test_targets_on_which_it_is_illegal_are_named(kiln, tmp_path):
    text = (PROGRAMS / "add.kiln").read_text().replace("op=add)", "op=add)\ntensor_copy(dst=a, src=a, engine=scalar)")
    (tmp_path / "scalar.kiln").write_text(text)
    done = kiln("time", "scalar.kiln", "--target", "all")
    assert done.returncode == 0, done.stderr
    assert "kiln check --target trn1 tells more" in done.stdout
    assert done.stdout.splitlines()[0].split()[:2] == ["trn2", "trn3"]


def test_reorder_is_never_worse_here(kiln, matmul):
    free, pinned, plain = (report_of(kiln("time", matmul, "--json", *o)) for o in [["--reorder"], ["--in-order"], []])
    assert free["total_ns"] <= pinned["total_ns"] and plain == free
    assert (free["order"], pinned["order"]) == ("reordered", "program")
    refused(kiln("time", matmul, "--reorder", "--in-order"), "cli.R1", "--in-order")


def test_pair_of_cores(kiln):
    done = kiln("time", "core0.kiln", "core1.kiln", "--json")
    report = report_of(done)
    assert " + " in report["program"]
    assert any(engine["name"].startswith("core 1 ") for engine in report["engines"])
    shares = [value for key, value in report["summary"].items() if key.endswith("_percent")]
    assert shares and all(0 <= share <= 1 for share in shares)
    refused(kiln("time", "add.kiln", "add.kiln"), "cli.R12")


# Bad input


def test_illegal_program_is_not_timed(kiln, tmp_path):
    done = kiln("time", "wrong_shape.kiln", "--html", "page.html")
    assert done.returncode == kiln("check", "wrong_shape.kiln").returncode == 1
    assert "error[tensor_tensor.R2]" in done.stderr and done.stdout == ""
    assert files(tmp_path) == []
    refused(kiln("time", "absent.kiln"), "file.R1")
    document = json.loads(kiln("time", "wrong_shape.kiln", "--json").stdout)
    assert not document["ok"] and document["diagnostics"][0]["code"] == "tensor_tensor.R2"


def test_wrong_usage(kiln, matmul):
    refused(kiln("time"), "cli.R1", "FILE")
    refused(kiln("time", matmul, "--html", "x", "--trace", "x"), "cli.R11")
    refused(kiln("time", "-", "--compare", "-"), "cli.R13")


# Files


def test_writes_a_trace_and_a_page(kiln, matmul, tmp_path):
    done = kiln("time", matmul, "--trace", "matmul.perfetto-trace", "--html", "matmul.html")
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == ["matmul.html", matmul, "matmul.perfetto-trace"]
    page = (tmp_path / "matmul.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    assert "nc_matmul(dst=p, stationary=w, moving=t)" in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page), "no network"
    assert (tmp_path / "matmul.perfetto-trace").read_bytes()[0] == 0x0A  # field 1, length-delimited: a packet


@pytest.mark.parametrize("option", ["--trace", "--html"])
def test_unwritable_output(kiln, matmul, tmp_path, option):
    refused(kiln("time", matmul, option, "no/such/folder/x"), "file.R2")
    (tmp_path / "folder").mkdir()
    refused(kiln("time", matmul, option, "folder"), "file.R2")
    done = kiln("time", matmul, option, "out", limits={resource.RLIMIT_FSIZE: 1000})
    refused(done, "file.R2")
    assert files(tmp_path) == ["folder", matmul], "no half-written file"
