"""`kiln explain` for labels of the Python package: `language.R…` of the lint, `nki.R…` of kiln.nki."""

import pathlib
import re
import sys

from kiln import lint
from kiln._trace.errors import RULES

_RULE = re.compile(r'"(nki\.R\d+)",\s*"([^"]+)"')


def _nki_rules():
    """label -> rule sentences, of the native half and where the other half raises them."""
    found = {label: {rule: None} for label, rule in RULES.items()}
    for file in sorted(pathlib.Path(__file__).resolve().parent.parent.rglob("*.py")):
        for label, rule in _RULE.findall(file.read_text()):
            found.setdefault(label, {})[rule] = None
    return found


def explain(label):
    """What a label means, or None."""
    if label.startswith("language."):
        return lint.explain(label)
    rules = _nki_rules()
    if label in rules:
        return (f"{label}: {'; '.join(rules[label])}\n"
                "  a rule of kiln.nki: the message itself says what was found and the remedy")
    return None


def main(words):
    """Prints what the label means and returns the exit code."""
    text = explain(words[0])
    print(text or f"kiln explain: there is no label {words[0]}", file=sys.stdout if text else sys.stderr)
    return 0 if text else 2
