#!/usr/bin/env python3
"""Checks what no formatter looks at.

SOURCES lists of the CMake files: files of one folder stand together, sorted and without repetition, so that two changes
that add a file rarely touch the same line and a missing file is easy to see. Pages: prose has lines of at most 120
characters; tables and code have the length that they need.
"""
import pathlib
import re
import sys

LONGEST = 120
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


def wrong_lists(root):
    """(file, line, what is wrong) of each SOURCES list."""
    for path in sorted(root.glob("*/**/CMakeLists.txt")):
        text = re.sub(r"#.*", "", path.read_text())
        for match in LISTS.finditer(text):
            wrong = complaint(match.group(1).split())
            if wrong:
                yield path, text[: match.start()].count("\n") + 1, f"SOURCES: {wrong}"


def long_lines(root):
    """(file, line, what is wrong) of each line of prose that is too long."""
    for path in sorted([*root.glob("*.md"), *root.glob("*/**/*.md")]):
        code = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code ^= line.startswith("```")
            if len(line) > LONGEST and not code and not line.startswith("|"):
                yield path, number, f"{len(line)} characters, at most {LONGEST} fit"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    failed = False
    for path, line, wrong in [*wrong_lists(root), *long_lines(root)]:
        relative = path.relative_to(root)
        if relative.parts[0] not in ("build", ".venv"):
            print(f"{relative}:{line}: {wrong}", file=sys.stderr)
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
