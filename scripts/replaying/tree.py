"""A source tree and its build: where the files and programs are. Files are found by name, because folders move."""

import functools
import os
import pathlib
import re
import subprocess
import sys

TIMEOUT_SECONDS = 600
PASSED_ON = ("HOME", "LANG", "PATH", "TMPDIR")  # of the environment; nothing else is to change what a program says


class MissingError(Exception):
    """Something that a replay needs is not there."""


class Tree:
    def __init__(self, source, build):
        self.source, self.build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
        if not (self.build / "CMakeCache.txt").exists():
            raise MissingError(f"{build} is no build folder: make build makes one, --build names another")

    @classmethod
    def of_build(cls, build):
        """The tree whose build this is."""
        cache = pathlib.Path(build) / "CMakeCache.txt"
        found = cache.exists() and re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.+)$", cache.read_text(), re.M)
        if not found:
            raise MissingError(f"{build} is no build folder")
        return cls(found[1], build)

    def files(self, pattern):
        """Files of the tree that match, by name; build folders and hidden ones do not count."""
        return sorted((path for path in _walk(self.source) if path.match(pattern)), key=lambda p: (p.name, p))

    def program(self, name):
        """A program of the build."""
        found = [p for p in _built(self.build) if p.name == name and p.open("rb").read(4) == b"\x7fELF"]
        if len(found) != 1:
            raise MissingError(f"{self.build} has {len(found)} programs {name}, not one: build everything first")
        return found[0]

    @functools.cached_property
    def package(self):
        """The folder that `import kiln` finds the package in."""
        found = [p for p in _built(self.build) if p.name.startswith("_kiln.") and p.suffix == ".so"]
        if len(found) != 1:
            raise MissingError(f"{self.build} has {len(found)} Python packages, not one: build everything first")
        return found[0].parent.parent

    @functools.cached_property
    def python(self):
        """The interpreter that the package was built for."""
        chosen = re.search(r"^KILN_PYTHON:\w+=(.+)$", (self.build / "CMakeCache.txt").read_text(), re.M)
        return chosen[1] if chosen and os.path.exists(chosen[1]) else sys.executable

    def environment(self, **more):
        """The same for every tree and every user."""
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return {**kept, "PYTHONPATH": str(self.package), "KILN_PYTHON": self.python, "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONHASHSEED": "0", "COLUMNS": "120", **more}

    def call(self, *words, cwd, input=None, **environment):
        """What a program of the tree prints."""
        return subprocess.run([str(w) for w in words], cwd=cwd, input=input or "", capture_output=True, text=True,
                              errors="replace", timeout=TIMEOUT_SECONDS, env=self.environment(**environment))

    def kiln(self, *words, cwd, **environment):
        return self.call(self.program("kiln"), *words, cwd=cwd, **environment)


def find(root, name, beside=None):
    """The one file of that name below a folder, or the one that stands beside another."""
    found = [p for p in _walk(root) if p.name == name and (not beside or p.with_name(beside).exists())]
    if len(found) != 1:
        raise MissingError(f"{root} has {len(found)} files {name}, not one")
    return found[0]


@functools.cache
def _walk(root):
    found = []
    for folder, folders, names in os.walk(root):
        skipped = {"__pycache__", "build" if folder == str(root) else ""}
        folders[:] = [] if "CMakeCache.txt" in names else [f for f in folders if f not in skipped and f[0] != "."]
        found += [pathlib.Path(folder, name) for name in names]
    return found


@functools.cache
def _built(root):
    found = []
    for folder, folders, names in os.walk(root):
        # tests/install installs a second kiln below its folder.
        folders[:] = [f for f in folders if f not in ("CMakeFiles", "Testing", "__pycache__", "install", "venv")]
        found += [path for path in (pathlib.Path(folder, n) for n in names)
                  if path.is_file() and os.access(path, os.X_OK)]
    return found
