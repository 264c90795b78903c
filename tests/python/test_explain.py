"""`kiln explain` knows every label of the tables of rules, and every one that the sources write out."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from kiln import _kiln, lint
from kiln.__main__ import main
from kiln._trace import rules

SOURCES = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
PLACES = [("kiln", "*.cpp"), ("kiln", "*.h"), ("kiln", "*.def"), ("cli", "*.cpp"), ("cli", "*.h"),
          ("python/src", "*.cpp"), ("python/src", "*.h"), ("python/kiln", "*.py")]
# Written out, and `code = "…"` of a diagnostic.
LABEL = re.compile(r'"([a-z][a-z_0-9]*\.R\d+)"|\bcode = "([a-z_.]+)"|"(timing\.[a-z_]+)"')
TABLE = re.compile(r'\bRuleTable k\w+\{"(\w*)"')


def texts():
    for folder, files in PLACES:
        for file in (SOURCES / folder).rglob(files):
            yield file.read_text()


def labels():
    found = {rule.label for rule in (*lint.rules.RULES, *rules.RULES)} | set(_kiln.rules())
    done = subprocess.run([sys.executable, "-m", "kiln", "explain", "--json"], capture_output=True, check=True)
    found.update(rule["code"] for rule in json.loads(done.stdout))
    for text in texts():
        found.update(next(filter(None, match.groups())) for match in LABEL.finditer(text))
    return sorted(found)


@pytest.fixture(scope="module")
def listed():
    return labels()


def test_the_search_finds_labels_of_every_kind(listed):
    for prefix in ("run.R", "nki.R", "language.R", "cli.R", "npy.R", "memory.R", "timing.", "text.R", "program.R",
                   "internal"):
        assert any(label.startswith(prefix) for label in listed), prefix


def test_the_rules_of_every_table_are_found(listed):
    tables = {table for text in texts() for table in TABLE.findall(text)} - {""}  # those of `internal` have no prefix
    assert len(tables) > 10
    assert tables <= {label.partition(".")[0] for label in listed}


def test_every_label_is_explained(listed, capfd):
    unknown = []
    for label in listed:
        code = main(["explain", label])
        text = capfd.readouterr().out
        if code or not re.match(re.escape(label) + r": \S", text):
            unknown.append(label)
    assert not unknown, f"kiln explain does not know {', '.join(unknown)}"


def test_labels_that_nothing_raises_are_unknown(capfd):
    for label in ("nki.R9999", "run.R9999", "language.R9999", "timing.nothing"):
        assert main(["explain", label]) == 2
    assert capfd.readouterr().out == ""
