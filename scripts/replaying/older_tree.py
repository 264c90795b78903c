"""The tree of a commit, built below build/replay, to be asked like the tree at hand."""

import pathlib
import re
import subprocess
import sys

import cpp_examples
from tree import MissingError, Tree

PRESET = "release"
TARGETS = ("kiln_cli", "kiln_python", "isa_driver", "timing_rows")  # and the examples


def run(*words, cwd, **options):
    """A step that may take long; what it prints goes to stderr."""
    done = subprocess.run([str(w) for w in words], cwd=cwd, stdout=sys.stderr, **options)
    if done.returncode:
        raise MissingError(f"`{' '.join(map(str, words))}` fails in {cwd}")


def commit_of(root, name):
    """The full name of a commit."""
    words = ["git", "rev-parse", "--verify", "--quiet", name + "^{commit}"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise MissingError(f"there is no commit and no folder of records `{name}`")
    return done.stdout.strip()


def unpack(root, commit, place):
    if place.exists():
        return
    aside = place.with_name("tree.part")
    aside.mkdir(parents=True, exist_ok=True)
    archive = subprocess.Popen(["git", "archive", commit], cwd=root, stdout=subprocess.PIPE)
    run("tar", "-x", "-C", aside, cwd=root, stdin=archive.stdout)
    if archive.wait():
        raise MissingError(f"git cannot unpack {commit}")
    aside.rename(place)


def built(root, commit, place):
    """The tree of the commit, unpacked in `place` and built."""
    source = pathlib.Path(place, "tree")
    unpack(root, commit, source)
    run("cmake", "--preset", PRESET, f"-DKILN_PYTHON={sys.executable}", cwd=source)
    build = source / "build" / PRESET
    words = ["cmake", "--build", build, "--target", "help"]
    known = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^(\w+): phony$", known, re.M))
    wanted = [*TARGETS, *(oracle.__name__ for oracle in cpp_examples.tests().SIZES)]
    run("cmake", "--build", build, "--target", *(name for name in wanted if name in names), cwd=source)
    return Tree(source, build)
