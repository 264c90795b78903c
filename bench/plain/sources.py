"""Published sources: the text of a row's kernel from a folder of fetched repositories, and the functions in it."""

import ast
import csv
import pathlib
import re
import subprocess
import types


class NoSource(Exception):
    """The folder does not hold the source of a row."""


def text_of(folder, row):
    """The text at the row's path and commit. The folder holds git directories (owner+name, or owner+name/repo) or
    copies of files."""
    place = pathlib.Path(folder) / row["repository"].replace("/", "+")
    for git in (place / "repo", place / ".git", place):
        if (git / "HEAD").exists():
            return _show(git, row)
    file = place / row["path"]
    if not file.exists():
        raise NoSource(f"{row['repository']} {row['path']} is not in the folder")
    return file.read_text()


def _show(git, row):
    name = f"{row['commit']}:{row['path']}"
    done = subprocess.run(["git", "-C", str(git), "show", name], capture_output=True, text=True)
    if done.returncode:
        raise NoSource(f"{row['repository']} has no {name}")
    return done.stdout


def picked(text, pick):
    """The part of a file that is the kernel: all of it, step n of a published search, or listing n of a page."""
    kind, _, number = pick.partition(":")
    if not kind:
        return text
    return {"step": _steps, "listing": _listings}[kind](text)[int(number)]


def _steps(text):
    """The `code` of every candidate in a trace of a search, the first one first: each holds its parent."""
    tree = ast.parse(text)
    found = [(k.value.lineno, k.value.value) for node in ast.walk(tree) if isinstance(node, ast.Call)
             for k in node.keywords if k.arg == "code" and isinstance(k.value, ast.Constant)]
    return [code for _, code in sorted(found)]


def _listings(text):
    """The Python listings of a page that define a kernel."""
    blocks = re.findall(r"^\.\. code-block:: python\n((?:[ \t]+\S.*\n|[ \t]*\n)+)", text, re.M)
    return [_dedented(b) for b in blocks if "@nki.jit" in b]


def _dedented(block):
    lines = [line for line in block.split("\n") if not re.match(r"\s*:\w+:", line)]
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[indent:] for line in lines)


def with_constants(text, settings):
    """The text with `NAME = n` set as the row says: a row measures one value of a constant that its author varied."""
    for setting in settings.split():
        name, value = setting.split("=")
        text, count = re.subn(rf"^(\s*{name}\s*=)\s*[^#\n]*", rf"\1 {value}", text, flags=re.M)
        if not count:
            raise NoSource(f"no constant {name} in the source")
    return text


def repaired(row, text, folder):
    """The text with lines that lost characters when it was published as repairs.csv (id, line, text) in the folder of
    the sources has them; as it is when there is no such file."""
    file = pathlib.Path(folder or "") / "repairs.csv"
    if folder is None or not file.exists():
        return text
    lines = text.split("\n")
    with open(file, newline="") as repairs:
        for repair in csv.DictReader(repairs):
            if repair["id"] == row["id"]:
                lines[int(repair["line"]) - 1] = repair["text"]
    return "\n".join(lines)


# What the measuring scripts of a search put before every candidate.
PROLOGUE = """
import math
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt
from neuronxcc.nki.language import par_dim
from neuronxcc.nki.typing import tensor
"""


def module_of(row, text, folder=None):
    """The executed source as a module. Its lines keep their numbers."""
    text = repaired(row, with_constants(picked(text, row["pick"]), row["set"]), folder)
    module = types.ModuleType("published")
    module.__file__ = f"{row['repository']}/{row['path']}"
    if row["pick"].startswith("step"):
        exec(PROLOGUE, module.__dict__)
    try:
        code = compile(renamed(text), module.__file__, "exec")
    except SyntaxError as error:
        raise NoSource(f"the text as published does not parse: {error}") from None
    exec(code, module.__dict__)
    return module


def renamed(text):
    """A source for NKI 0.2 with names of today: what a kernel returns was in nl.hbm until NKI 0.3."""
    return text if is_old(text) else re.sub(r"\bnl\.hbm\b", "nl.shared_hbm", text)


def is_old(text):
    return "neuronxcc" in text
