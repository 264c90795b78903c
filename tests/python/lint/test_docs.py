"""docs/language-lint.md shows the tables of the lint."""

import pathlib

from kiln.lint.docs import old_form_table, rule_table

PAGE = pathlib.Path(__file__).parents[3] / "docs/language-lint.md"


def test_tables_are_those_of_the_lint():
    text = PAGE.read_text()
    assert rule_table() in text, "refresh with: python -m kiln.lint.docs docs/language-lint.md"
    assert old_form_table() in text, "refresh with: python -m kiln.lint.docs docs/language-lint.md"
