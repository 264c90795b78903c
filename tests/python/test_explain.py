"""`kiln explain` knows every label that the sources can raise."""

import os
import pathlib
import re

import pytest

from kiln import lint
from kiln.__main__ import main

SOURCES = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
PLACES = [("kiln", "*.cpp"), ("kiln", "*.h"), ("kiln", "*.def"), ("cli", "*.cpp"), ("python/src", "*.cpp"),
          ("python/kiln", "*.py")]
# Written out, and `code = "…"` of a diagnostic.
LABEL = re.compile(r'"([a-z][a-z_0-9]*\.R\d+)"|\bcode = "([a-z_.]+)"|"(timing\.[a-z_]+)"')
ROW = re.compile(r"^KILN_(\w+)_RULE\((\d+),", re.MULTILINE)  # of a table of rules


def labels():
    found = {rule.label for rule in lint.rules.RULES}
    for folder, files in PLACES:
        for file in (SOURCES / folder).rglob(files):
            text = file.read_text()
            found.update(next(filter(None, match.groups())) for match in LABEL.finditer(text))
            found.update(f"{table.lower()}.R{number}" for table, number in ROW.findall(text))
    return sorted(found)


@pytest.fixture(scope="module")
def listed():
    return labels()


def test_the_search_finds_labels_of_every_kind(listed):
    for prefix in ("run.R", "nki.R", "language.R", "cli.R", "npy.R", "memory.R", "timing.", "text.R", "program.R",
                   "internal"):
        assert any(label.startswith(prefix) for label in listed), prefix


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
