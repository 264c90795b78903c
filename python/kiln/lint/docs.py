"""The tables of docs/language-lint.md; `python -m kiln.lint.docs PAGE` puts them into the page."""

import re
import sys

from kiln._files import write_aside
from kiln._old_forms import OLD_FORMS

from .rules import RULES

MARKS = {"rules": "<!-- rules -->", "old forms": "<!-- old forms -->", "end": "<!-- end -->"}


def row(*cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def plain(text):
    """A template for readers."""
    shown = {"{{": "{", "}}": "}", "{captured}": ""}
    return re.sub(r"\{\{|\}\}|\{\w+\}", lambda found: shown.get(found[0], "…"), text)


def rule_table():
    lines = [row("rule", "what is asked", "parser", "tracer", "versions", "basis"), "|---|---|---|---|---|---|"]
    for rule in RULES:
        versions = f"{rule.since}+" if not rule.until else f"{rule.since} until {rule.until}"
        allowed = f" (allowed: {plain(rule.allowed)})" if rule.allowed else ""
        lines.append(row(rule.label, rule.title + allowed, rule.parser or "–", rule.tracer or "–", versions,
                         rule.evidence))  # fmt: skip
    return "\n".join(lines) + "\n"


def old_form_table():
    lines = [row("old form", "since", "what to do"), "|---|---|---|"]
    for form in OLD_FORMS:
        lines.append(row(f"`{form.name}`", f"{form.since}: {form.what}", plain(form.rewrite)))
    return "\n".join(lines) + "\n"


def refresh(page):
    for mark, table in ((MARKS["rules"], rule_table()), (MARKS["old forms"], old_form_table())):
        before, _, rest = page.partition(mark + "\n")
        _, _, after = rest.partition(MARKS["end"])
        page = f"{before}{mark}\n{table}{MARKS['end']}{after}"
    return page


def main(path):
    with open(path, encoding="utf-8") as file:
        page = refresh(file.read())
    write_aside(path, page)


if __name__ == "__main__":
    main(sys.argv[1])
