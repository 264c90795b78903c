"""Records of the examples in Python: every kernel that the main function of an example calls, with the arguments that
it calls it with, on every chip; and what the command says about the file."""

import json
import pathlib
import shutil

import programs
from normal import folder

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = ("trn1", "trn2", "trn3")
TARGET = "NEURON_PLATFORM_TARGET_OVERRIDE"


def jobs(tree):
    return [(f"python/{path.name}", records, (tree, path)) for path in tree.files("examples/nki/*.py")]


def records(tree, path):
    told = []
    with folder() as place:
        place = pathlib.Path(place)
        for example in path.parent.glob("*.py"):  # they import each other
            shutil.copy(example, place)
        for target in TARGETS:
            told += calls(tree, place, path.name, target)
        told += commands(tree, place, path.name)
    return told


def calls(tree, place, name, target):
    """One record for each call of a kernel, made in a process with the package of the tree."""
    done = tree.call(tree.python, HERE / "python_calls.py", name, cwd=place, **{TARGET: target})
    if done.returncode:
        return [(f"on {target}", programs.said(done))]
    return [(f"{title} on {target}", text) for title, text in json.loads(done.stdout)]


def commands(tree, place, name):
    """`kiln run`, `kiln check` and `kiln time` on the file, with the calls that the run recorded."""
    run = tree.kiln("run", name, cwd=place, KILN_RECORD="calls.json")
    told = [("kiln run", programs.said(run))]
    recorded = place / "calls.json"
    words = ["--record", recorded.name] if recorded.exists() else []
    told.append(("kiln check", programs.said(tree.kiln("check", name, *words, "--json", cwd=place))))
    told.append(("kiln check as text", programs.said(tree.kiln("check", name, *words, cwd=place))))
    for kernel in sorted({c["kernel"] for c in json.loads(recorded.read_text())["calls"]} if words else ()):
        done = tree.kiln("time", name, "--kernel", kernel, *words, "--json", cwd=place)
        told.append((f"kiln time {kernel}", programs.said(done)))
    return told
