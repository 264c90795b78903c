"""What older NKI code is told: import names here, other old forms in the lint's table. `python -m kiln._migration
docs/migration.md` puts the tables into the page."""

import re
import sys

_LIBRARY = "drop it: the vendor's kernels are the package nkilib of the repository nki-library"

# (old import name, NKI version that ended it, what to write now)
IMPORTS = (
    ("neuronxcc.nki", "0.2.0", "import nki"),
    ("neuronxcc.nki.language", "0.2.0", "import nki.language as nl"),
    ("neuronxcc.nki.isa", "0.2.0", "import nki.isa as nisa"),
    ("neuronxcc.nki.compiler", "0.2.0",
     "drop it: nl.ndarray(..., address=(partition, byte)) places tensors, nl.no_reorder() orders instructions"),
    ("neuronxcc.nki.nccl", "0.2.0", "import nki.collectives as ncc"),
    ("neuronxcc.nki.kernels", "0.2.0", _LIBRARY),
    ("neuronxcc.nki._private_kernels", "0.2.0", _LIBRARY),
    ("neuronxcc.nki._pre_prod_kernels", "0.2.0", _LIBRARY),
    ("neuronxcc.nki.typing", "0.4.0", "import nki.typing as nt"),
    ("neuronxcc.nki.baremetal", "0.3.0", "call the kernel with NumPy arrays: kernel(x)"),
    ("neuronxcc.nki.benchmark", "0.3.0", "kiln time kernel.py"),
    ("neuronxcc.nki.profile", "0.3.0", "kiln time kernel.py"),
    ("neuronxcc.nki.simulate_kernel", "0.3.0", "nki.simulate(kernel)(*args)"),
    ("neuronxcc.nki.jit", "0.2.0", "import nki, then @nki.jit"),
)  # fmt: skip


def import_row(name):
    """The row of IMPORTS that tells most about a module, or None."""
    return max((row for row in IMPORTS if name == row[0] or name.startswith(row[0] + ".")),
               key=lambda row: len(row[0]), default=None)


def import_hint(name):
    """What to say to someone who imports an old name."""
    best = import_row(name)
    if best is None:
        return (f"No module named {name!r}: Kiln has no neuronxcc; kernels of NKI 0.6.0 import `nki` "
                "(remove `neuronxcc.` and see docs/migration.md)")
    return f"No module named {name!r}: {best[0]} is gone since NKI {best[1]}; write `{best[2]}`"


def _told(form):
    """A row of the lint's table as a sentence; places that are filled from code stay open."""
    word = "in" if form.what.startswith(("was", "moved")) else "since"
    return f"it {form.what} {word} NKI {form.since}: " + re.sub(r"\{\w+\}", "…", form.rewrite)


def name_hint(name):
    """What became of a name such as nki.baremetal, or None."""
    from kiln.lint.old_forms import OLD_NAMES

    return _told(OLD_NAMES[name]) if name in OLD_NAMES else None


def keyword_hint(package, function, keyword):
    """What became of a keyword of a function of nki.isa or nki.language, or None."""
    from kiln.lint.old_forms import OLD_KEYWORDS

    for name in (function, "*"):
        form = OLD_KEYWORDS.get((f"{package}.{name}", keyword))
        if form:
            return _told(form)
    return None


def _cell(text):
    """Text for a table: a[0](b) in prose is no link."""
    return text.replace("|", "\\|") if text.startswith("`") else text.replace("|", "\\|").replace("](", "]\\(")


def _table(*rows):
    head, *body = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body]) + "\n"


def tables():
    """mark -> table, for the page."""
    from kiln.lint.docs import old_form_table
    from kiln.nki import _changes, _removed

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
