"""Nothing of the instruction set is unproven: walks the table and asks for texts, tests and a case for every rule."""

import json
import re
import subprocess

import pytest

import runner
from case_file import TEST_FILES, TESTS, read

INSTRUCTIONS = [row for row in runner.table()["instructions"] if not row["query"]]
CASES = [case for path in TEST_FILES for case in read(path)[0]]
NAMES = {"ids": lambda row: row["name"]}


def cases_of(row):
    return [case for case in CASES if case.path.stem == row["name"]]


def proven(label):
    return any(label in case.labels for case in CASES)


@pytest.mark.parametrize("row", INSTRUCTIONS, **NAMES)
def test_instruction_is_described(row):
    missing = [part for part in ("rules", "summary", "description", "cost_text") if not row[part]]
    missing += [part for part in ("check", "run", "cost", "track") if part not in row["functions"]]
    assert not missing, f"{row['name']} lacks {', '.join(missing)}"


@pytest.mark.parametrize("row", INSTRUCTIONS, **NAMES)
def test_instruction_has_an_accepted_case(row):
    assert any(path.stem == row["name"] for path in TEST_FILES), f"no file {row['name']}.test"
    used = re.compile(rf"^\s*(%\d+:\s*)?{row['name']}\(", re.MULTILINE)
    assert any(case.kind == "accept" and used.search(case.program) for case in cases_of(row))


@pytest.mark.parametrize("row", INSTRUCTIONS, **NAMES)
def test_every_rule_of_an_instruction_has_a_case(row):
    missing = [label for label in row["rules"] if not proven(label)]
    assert not missing, f"no reject, warn or fail case for {', '.join(missing)}"


# Some of these need a program that has no text form, so a C++ test that names the label counts too.
@pytest.mark.parametrize("label", runner.table()["rules"])
def test_every_common_rule_has_a_case(label):
    named = (f'"{label}"' in source.read_text() for source in TESTS.rglob("*_test.cpp"))
    assert proven(label) or any(named), f"no reject, warn or fail case for {label}"


def test_cases_cite_rules_that_exist():
    known = {*runner.table()["rules"], *(label for row in INSTRUCTIONS for label in row["rules"])}
    cited = {label: case for case in CASES for label in case.labels if not label.startswith("text.")}
    wrong = [f"{case.path.name}:{case.line} {label}" for label, case in cited.items() if label not in known]
    assert not wrong, f"no such rules: {', '.join(wrong)}"


@pytest.fixture(scope="module")
def mutations(tmp_path_factory):
    """What the check says when one operand of an accepted case moves to a memory or dtype that its row excludes."""
    folder = tmp_path_factory.mktemp("mutate")
    for number, case in enumerate(c for c in CASES if c.kind == "accept"):
        (folder / f"{number:05}").mkdir()
        (folder / f"{number:05}" / "program.kiln").write_text(case.text())
    done = subprocess.run([runner.DRIVER, "--mutate", folder], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("row", INSTRUCTIONS, **NAMES)
def test_excluded_memories_and_dtypes_are_refused(row, mutations):
    mine = [operand for operand in mutations if operand["instruction"] == row["name"]]
    unused = {p["name"] for p in row["params"] if p["tile"]} - {operand["param"] for operand in mine}
    assert not unused, f"no accepted case of {row['name']} uses {', '.join(sorted(unused))}"
    missed = [f"{o['param']} as {m['to']}: {m['codes']}" for o in mine for m in o["mutants"]
              if m["wanted"] not in m["codes"]]
    assert not missed, "accepted in spite of the table: " + "; ".join(missed)
