"""The plain column of bench/timing: sources in a folder are found, timed and compared; what cannot be, says why."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path.insert(0, str(ROOT / "bench" / "plain"))

import column  # noqa: E402
import refit  # noqa: E402

TEXT = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def double(a):
    WIDTH = 256
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(a.shape[1] // WIDTH):
        x = nl.load(a[:, nl.ds(i * WIDTH, WIDTH)])
        nl.store(out[:, nl.ds(i * WIDTH, WIDTH)], value=x + x)
    return out
"""
ROW = {"id": "MADE-1", "target": "trn2", "trust": "A", "use": "check", "metric": "benchmark", "measured_ns": "20000",
       "bottleneck": "", "family": "", "repository": "someone/something", "commit": "HEAD", "path": "k.py", "pick": "",
       "function": "double", "arguments": "float32[128,1024]", "set": "", "flags": ""}


def metric(name, part):
    return part[f"{name}_ns"]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "someone+something"
    place.mkdir()
    (place / "k.py").write_text(TEXT)
    return tmp_path


def results(folder, *rows):
    return column.compared(rows, column.answers(str(folder), BUILD, rows, {}, 1), metric)


def test_a_source_is_timed(folder):
    narrow, wide = results(folder, ROW, ROW | {"id": "MADE-2", "set": "WIDTH=1024"})
    assert narrow["exact"] and narrow["api"] == "old" and not narrow["spilled"]
    assert wide["total_ns"] != narrow["total_ns"] < narrow["predicted_ns"]
    assert wide["part"]["instructions"] == 3
    assert narrow["error"] == pytest.approx(narrow["predicted_ns"] / 20000 - 1)
    assert narrow["part"]["instructions"] == 12


def test_a_git_directory_serves_as_well(folder):
    place = folder / "someone+something"
    git = ["git", "-C", str(place), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "k.py"], ["commit", "-q", "-m", "kernel"]):
        subprocess.run([*git, *command], check=True)
    (place / "k.py").unlink()
    assert "error" in results(folder, ROW)[0]


def test_what_is_missing_says_so(folder):
    no_file, no_function = results(folder, ROW | {"path": "other.py"}, ROW | {"id": "MADE-2", "function": "triple"})
    assert "other.py is not in the folder" in no_file["problem"]
    assert "triple" in no_function["problem"]


def test_rows_of_the_table_have_a_measurement():
    import csv

    with open(ROOT / "bench" / "timing_rows.csv", newline="") as file:
        rows = column.source_rows(list(csv.DictReader(file)))
    assert len(rows) > 100
    assert all(float(r["measured_ns"]) > 0 and len(r["commit"]) == 40 for r in rows)


def test_variants_change_constants_and_passes(folder):
    variants = [{"what_if": ["dma_bandwidth=0.1x"], "without": []}, {"what_if": [], "without": ["hoist"]}]
    with column.Workers(str(folder), BUILD, 1) as workers:
        [answer] = workers.variants([ROW], [variants])
        [again] = workers.variants([ROW], [variants[:1]])
    slow, plain = answer["variants"]
    assert again["variants"] == [slow]
    assert slow[0]["total_ns"] > answer["parts"][0]["total_ns"] == plain[0]["total_ns"]  # it has nothing to hoist


def made_up(rows, variants):
    """A model whose times are triggers."""
    def total(row, variant):
        return row["loads"] * float(dict(v.split("=") for v in variant["what_if"]).get("dma_trigger_none", 0))

    return [{"variants": [[{"total_ns": total(r, v)}] for v in some]} for r, some in zip(rows, variants)]


def row_of(name, loads, trigger, target="trn1"):
    """A row of a chip whose triggers take so long, and whose benchmark adds 8 us."""
    return {"id": name, "repository": f"of/{name}", "target": target, "metric": "benchmark", "loads": loads,
            "measured_ns": loads * trigger + 8000}


def test_constants_are_those_that_other_repositories_give():
    rows = [row_of("A", 100, 400), row_of("B", 1000, 100), row_of("C", 1, 100)]
    model = refit.Model(made_up, lambda name, part: part[f"{name}_ns"])
    folds = refit.folds_of(rows, {"of/A": ["hoist"]})
    refit.refit(folds, rows, model)
    of_a, of_b, _ = folds
    assert of_a.without == ("hoist",) and of_b.without == ()
    assert (of_a.values["dma_trigger_none"], of_a.values["benchmark"]) == ("100", "8000")
    assert model.cost(rows[1:], of_a.setting()) == pytest.approx(0)  # its own row is not in it
    model.ask([(rows[0], of_a.setting())])
    assert model.error(rows[0], of_a.setting()) == pytest.approx(18000 / 48000 - 1)


def test_a_constant_stays_where_it_began_when_no_other_row_speaks_of_it():
    rows = [row_of("A", 100, 400), row_of("B", 0, 100)]
    asked = []

    def answer(rows, variants):
        asked.extend(str(v) for r, some in zip(rows, variants) for v in some if r["id"] == "B")
        return made_up(rows, variants)

    folds = refit.folds_of(rows, {})
    refit.refit(folds, rows, refit.Model(answer, lambda name, part: part[f"{name}_ns"]))
    first = {c.name: c.first for c in refit.constants() if c.target == "trn1"}
    assert folds[0].values["dma_trigger_none"] == first["dma_trigger_none"]
    # Nothing moves it: the lowest and the highest value of each constant, and no more.
    assert len(asked) == len(set(asked)) <= 2 * len(first)


def test_constants_from_traces_are_known_without_other_repositories():
    traced = next(c for c in refit.constants() if c.traced_by)
    names = [[c.name for c in refit.fold_of(r, traced.target, ()).constants] for r in (traced.traced_by, "of/B")]
    assert traced.name in names[0] and traced.name not in names[1]
