#!/usr/bin/env python3
"""Checks what no formatter looks at.

SOURCES lists of the CMake files: files of one folder stand together, sorted and without repetition, so that two changes
that add a file rarely touch the same line and a missing file is easy to see. Lines have at most 120 characters; in
pages only those of prose, as tables and code there have the length that they need.
"""

import re
import sys

from source_files import ROOT, source_files

LONGEST = 120
# Not here: .py and .pyi (ruff looks at them); .def, .test, .kiln and .csv, where a row of a table or an instruction is
# one line, however long.
ENDINGS = (".cmake", ".cpp", ".css", ".h", ".html", ".in", ".js", ".json", ".md", ".toml", ".txt", "Makefile")
LISTS = re.compile(r"\bSOURCES\b([^)$]*?)(?=\b[A-Z_]{3,}\b|\))", re.S)


def complaint(names):
    """What is wrong with one list of source files, or None."""
    folders = [name.rpartition("/")[0] for name in names]
    seen = []
    for folder in folders:
        if folder not in seen:
            seen.append(folder)
        elif seen[-1] != folder:
            return f"files of '{folder or '.'}' do not stand together"
    for previous, name in zip(names, names[1:]):
        if previous == name:
            return f"{name} is listed twice"
        if previous.rpartition("/")[0] == name.rpartition("/")[0] and name < previous:
            return f"{name} stands after {previous}"
    return None


def wrong_lists():
    """(file, line, what is wrong) of each SOURCES list."""
    for path in source_files("/CMakeLists.txt"):
        text = re.sub(r"#.*", "", (ROOT / path).read_text())
        for match in LISTS.finditer(text):
            wrong = complaint(match.group(1).split())
            if wrong:
                yield path, text[: match.start()].count("\n") + 1, f"SOURCES: {wrong}"


def is_script(path):
    return not path.suffix and (ROOT / path).read_bytes().startswith(b"#!")


def lines_of(path):
    """(number, line) of the lines that have to fit."""
    lines = list(enumerate((ROOT / path).read_text().splitlines(), 1))
    if path.suffix != ".md":
        return lines
    prose, code = [], False
    for number, line in lines:
        code ^= line.startswith("```")
        if not code and not line.startswith("|"):
            prose.append((number, line))
    return prose


def long_lines():
    """(file, line, what is wrong) of each line that is too long."""
    for path in source_files(""):
        if path.name.endswith(ENDINGS) or is_script(path):
            for number, line in lines_of(path):
                if len(line) > LONGEST:
                    yield path, number, f"{len(line)} characters, at most {LONGEST} fit"


def main():
    wrong = [*wrong_lists(), *long_lines()]
    for path, line, what in wrong:
        print(f"{path}:{line}: {what}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
