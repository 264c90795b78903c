"""`kiln explain` for labels of the Python package: `language.R…` of the lint, `nki.R…` of kiln.nki."""

import sys

from kiln import _kiln, lint
from kiln._trace import rules


def main(words):
    """Prints what the label means and returns the exit code."""
    text = lint.explain(words[0]) or rules.explain(words[0])
    if not text:
        print(f"kiln explain: there is no label {words[0]}", file=sys.stderr)
        return 2
    print(text)
    print(_kiln.rule_example_text(words[0]), end="")
    return 0
