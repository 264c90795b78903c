"""Shows where two folders of records differ."""

import difflib
import re

import records
from replaying import MADE_BY, is_chosen

SHOWN_FILES = 8  # of those with the same change


def load(folder, only):
    """{(file, title): text}"""
    found = {}
    for path in sorted(folder.rglob("*.txt")):
        name = str(path.relative_to(folder))[:-len(".txt")]
        if is_chosen(name, only):
            found |= {(name, title): text for title, text in records.read(path).items()}
    return found


def without(text, ignored):
    return [line for line in text.split("\n") if not any(pattern.search(line) for pattern in ignored)]


def changes(old, new, ignored):
    """[(lines of a unified diff, [(file, title)])]: records with the same lines taken out and put in stand together."""
    grouped = {}
    for key in old.keys() & new.keys():
        if old[key] == new[key]:
            continue
        lines = list(difflib.unified_diff(without(old[key], ignored), without(new[key], ignored), n=1, lineterm=""))[2:]
        if lines:
            kind = tuple(line for line in lines if line[0] in "+-")
            grouped.setdefault(kind, (lines, []))[1].append(key)
    for _, keys in grouped.values():
        keys.sort()
    return sorted(grouped.values(), key=lambda change: change[1])


def more(keys):
    """The other records with the same change."""
    files = list(dict.fromkeys(file for file, _ in keys))
    left = len(files) - SHOWN_FILES
    names = ", ".join(files[:SHOWN_FILES]) + (f" and {left} more files" if left > 0 else "")
    return f"the same change in {len(keys)} more record{'s' * (len(keys) > 1)}, of {names}"


def show(old_folder, new_folder, only, ignore):
    """Prints the differences and a count; returns how many records differ."""
    old, new = load(old_folder, only), load(new_folder, only)
    found = changes(old, new, [re.compile(pattern) for pattern in ignore])
    for lines, (first, *others) in found:
        print(f"\n{first[0]}: {first[1]}")
        if others:
            print(more(others))
        print("\n".join(lines))
    gone, fresh = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    for title, keys in (("gone", gone), ("new", fresh)):
        for file, name in keys:
            print(f"\n{file}: {name}\n{title}")
    if (old_folder / MADE_BY).read_text() != (new_folder / MADE_BY).read_text():
        print("\nanother version of this program wrote the older records: some differences may come of that")
    changed = sum(len(keys) for _, keys in found)
    print(f"\n{changed} of {len(old)} records differ, in {len(found)} ways; {len(gone)} are gone, {len(fresh)} are new")
    return changed + len(gone) + len(fresh)
