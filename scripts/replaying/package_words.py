"""package_words.py FILE.lint...: as JSON, (title, text) for the labels that only the Python package knows, for its
public names, and for each case of the files. Runs with the package of the tree that is asked."""

import contextlib
import importlib
import inspect
import io
import json
import pathlib
import re
import subprocess
import sys

import kiln
import kiln.__main__
from kiln import lint

MODULES = ("kiln", "kiln.lint", "kiln.nki", "kiln.nki.isa", "kiln.nki.language", "kiln.nki.collectives",
           "kiln.nki.compiler", "kiln.nki.framework", "kiln.nki.typing", "kiln.nki.experimental", "kiln.nki.tensor")
LABELS = [*(f"language.R{n}" for n in range(1, 300)), *(f"nki.R{n}" for n in range(1, 200))]
IMPORTS = "import nki, nki.language as nl, nki.isa as nisa\n"  # as the tests of the lint have them


def printed(words):
    """What a command prints, and its exit code."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            code = kiln.__main__.main(words)
        except SystemExit as end:
            code = end.code
    return code, out.getvalue()


def explanations():
    for label in LABELS:
        code, text = printed(["explain", label])
        if code == 0:
            yield f"explain {label}", text


def helps():
    """In processes of their own: the native commands write past sys.stdout."""
    for command in ("check", "run", "time"):
        words = [command, "kernel.py", "--help"]
        done = subprocess.run([sys.executable, "-m", "kiln", *words], capture_output=True, text=True)
        yield " ".join(["kiln", *words]), done.stdout + done.stderr


def shown(value):
    try:
        signature = str(inspect.signature(value)) if callable(value) else f": {type(value).__name__}"
    except (TypeError, ValueError):
        signature = "(…)"
    doc = inspect.getdoc(value) if callable(value) or inspect.ismodule(value) else None
    return re.sub(r" at 0x[0-9a-f]+", "", signature) + (f"\n    {doc}" if doc else "")


def public_names():
    for name in MODULES:
        module = importlib.import_module(name)
        names = [n for n in sorted(getattr(module, "__all__", dir(module))) if not n.startswith("_")]
        yield f"names of {name}", "\n".join(f"{n}{shown(getattr(module, n))}" for n in names)


def lint_cases(path):
    for part in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
        title, *lines = part.splitlines()
        source = IMPORTS + "\n".join(lines) + "\n"
        version = re.search(r"^# version (\S+)$", source, re.M)
        options = {"api_version": version[1]} if version else {}
        yield f"{path.name}: {title}", lint.as_text(lint.check_source(source, **options))


def main(files):
    kiln.activate()
    told = [*explanations(), *helps(), *public_names()]
    for file in files:
        told += lint_cases(pathlib.Path(file))
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
