#!/usr/bin/env python3
"""Checks the SOURCES lists of the CMake files: files of one folder stand together, sorted and without repetition, so that
two changes that add a file rarely touch the same line and a missing file is easy to see."""
import pathlib
import re
import sys

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


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    failed = False
    for path in sorted(root.glob("*/**/CMakeLists.txt")):
        relative = path.relative_to(root)
        if relative.parts[0] in ("build", ".venv"):
            continue
        text = re.sub(r"#.*", "", path.read_text())
        for match in LISTS.finditer(text):
            wrong = complaint(match.group(1).split())
            if wrong:
                line = text[: match.start()].count("\n") + 1
                print(f"{relative}:{line}: SOURCES: {wrong}", file=sys.stderr)
                failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
