"""Records of what Kiln says about itself: help, manual, rules, constants, and what the Python package has."""

import json
import pathlib
import re

import programs
from normal import folder, normal
from records import flat

HERE = pathlib.Path(__file__).resolve().parent


def jobs(tree):
    groups = {"help": help_records, "isa": isa_records, "rules": rule_records, "table": table_records,
              "package": package_records}
    return [(f"words/{name}", function, (tree,)) for name, function in groups.items()]


def said(tree, *words):
    with folder() as place:
        return (" ".join(["kiln", *words]), programs.said(tree.kiln(*words, cwd=place)))


def help_records(tree):
    overview = said(tree, "help")
    section = re.search(r"^Subcommands:\n((?:  .*\n?)+)", overview[1], re.M)
    commands = re.findall(r"^  (\w+)", section[1], re.M) if section else []
    calls = [["--version"], *(["help", name] for name in commands), ["time", "--what-if", "list"]]
    wrong = [[], ["chek"], ["--json"], ["help", "nothing"], ["isa", "nc_matmull"], ["explain", "nc_matmul.R99"],
             ["check", "no_such_file.kiln"], ["run"], ["time", "--target", "trn9"]]
    return [overview, *(said(tree, *words) for words in calls + wrong)]


def isa_records(tree):
    names = [row["name"] for row in json.loads(tree.kiln("isa", "--json", cwd=tree.build).stdout)]
    calls = [[], ["--status"], ["--markdown"], ["operands"], ["operands", "--markdown"]]
    calls += [[name, *form] for name in names for form in ([], ["--markdown"], ["--json"])]
    return [*(said(tree, "isa", *words) for words in calls), manual(tree)]


def manual(tree):
    with folder() as place:
        done = tree.kiln("isa", "--write-manual", "manual", cwd=place)
        pages = sorted(pathlib.Path(place, "manual").rglob("*"))
        return "the manual", "\n".join([programs.said(done), *(f"{p.name}\n{normal(p.read_text())}" for p in pages)])


def rule_records(tree):
    rules = json.loads(tree.kiln("explain", "--json", cwd=tree.build).stdout)
    each = [said(tree, "explain", rule["code"]) for rule in rules]
    return [said(tree, "explain"), *each, *((f"{rule['code']} as JSON", flat(rule)) for rule in rules)]


def table_records(tree):
    """The instruction table, as the tests' driver tells it."""
    with folder() as place:
        table = json.loads(tree.call(tree.program("isa_driver"), "--table", cwd=place).stdout)
    return [("rules", "\n".join(table["rules"])), *((row["name"], flat(row)) for row in table["instructions"])]


def package_records(tree):
    """What the Python package says of itself, and what its lint finds in *.lint files."""
    files = tree.files("*.lint")
    with folder() as place:
        done = tree.call(tree.python, HERE / "package_words.py", *files, cwd=place)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [(title, normal(text)) for title, text in json.loads(done.stdout)]
