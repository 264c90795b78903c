"""Reads *.lint: cases that begin with `=== title`, with marks in comments.

    code  #! rule          the lint finds exactly this rule here
    code  #! a, not b      … and not that one: a near miss

`# version 0.4.0` in a line of its own sets the version of NKI. Three imports stand above every case.
"""

import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent / "cases"
IMPORTS = "import nki, nki.language as nl, nki.isa as nisa\n"
NEEDS = {"type_alias.lint": (3, 12)}


class Case:
    def __init__(self, file, title, lines):
        self.id = f"{file}: {title}"
        self.source = IMPORTS + "\n".join(lines) + "\n"
        version = re.search(r"^# version (\S+)$", self.source, re.M)
        self.options = {"api_version": version.group(1)} if version else {}
        self.expected, self.near_misses = set(), set()
        for number, line in enumerate(self.source.splitlines(), 1):
            for mark in line.split("#!")[1].split(",") if "#!" in line else ():
                rule = mark.strip()
                if rule.startswith("not "):
                    self.near_misses.add((number, rule[4:]))
                else:
                    self.expected.add((number, rule))


def cases(all_versions=False):
    found = []
    for path in sorted(FOLDER.glob("*.lint")):
        if sys.version_info < NEEDS.get(path.name, ()) and not all_versions:
            continue
        for part in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
            title, *lines = part.splitlines()
            found.append(Case(path.name, title, lines))
    return found
