"""`kiln explain` for labels of the Python package: `language.R…` of the lint, `nki.R…` of kiln.nki."""

import sys

from kiln import lint
from kiln._trace import rules


def main(words):
    """Prints what the label means and returns the exit code."""
    text = lint.explain(words[0]) or rules.explain(words[0])
    print(text or f"kiln explain: there is no label {words[0]}", file=sys.stdout if text else sys.stderr)
    return 0 if text else 2
