"""`kiln explain` for labels of the Python package: `language.R…` of the lint, `nki.R…` of kiln.nki, `numpy.R…`
of functions that kiln.jit takes."""

import json
import sys

from kiln import _kiln, lint
from kiln._trace import rules


def main(request):
    """Prints what the label means and returns the exit code."""
    [label] = request.options["CODE"]
    text = lint.explain(label) or rules.explain(label) or _of_numpy(label)
    if not text:
        print(f"kiln explain: there is no label {label}", file=sys.stderr)
        return 2
    if "json" in request.options:
        print(json.dumps({"code": label, "text": text, **_example(label)}, indent=2))
    else:
        print(text + "\n" + _kiln.rule_example_text(label), end="")
    return 0


def _of_numpy(label):
    if not label.startswith("numpy."):
        return None
    from kiln.numpy import _rules

    return _rules.explain(label)


def _example(label):
    """Under the keys that `kiln explain --json` has for rules of the native program."""
    for code, *example in _kiln.rule_examples():
        if code == label:
            return {"example": dict(zip(("form", "wrong", "right", "also"), example, strict=True))}
    return {}
