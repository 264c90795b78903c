"""The tables of docs/migration.md; `python -m kiln._migration_page docs/migration.md` puts them into the page."""

import re
import sys

from kiln._migration import IMPORTS
from kiln.lint.docs import old_form_table
from kiln.nki import _changes, _removed


def _cell(text):
    """Text for a table: a[0](b) in prose is no link."""
    return text.replace("|", "\\|") if text.startswith("`") else text.replace("|", "\\|").replace("](", "]\\(")


def _table(*rows):
    head, *body = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body]) + "\n"


def tables():
    """mark -> table, for the page."""
    names = [(f"`nl.{n}`", new) for n, new in _removed.LANGUAGE.items()]
    names += [(f"`tensor.{n}`", new) for n, new in _removed.TENSOR.items()]
    return {
        "imports": _table(("old import", "until", "write"), *((f"`{o}`", v, f"`{n}`") for o, v, n in IMPORTS)),
        "names": _table(("old name", "write"), *names),
        "forms": old_form_table(),
        "versions": _table(("since", "what", "before", "from then on"),
                           *((c.since, c.what, c.before, c.after) for c in _changes.CHANGES)),
        "kept": _table(("since", "what", "Kiln, in every version"), *_changes.KEPT),
    }


def refresh(page):
    """The page's text with the tables as they are now."""
    for mark, table in tables().items():
        page = re.sub(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda m: m[1] + table + m[2], page, flags=re.S)
    return page


if __name__ == "__main__":
    with open(sys.argv[1]) as _file:
        _text = refresh(_file.read())
    with open(sys.argv[1], "w") as _file:
        _file.write(_text)
