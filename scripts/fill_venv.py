"""Puts the kiln of a build tree into a Python environment: `import kiln`, the command `kiln` and what pytest loads, as
after `pip install .`, but with the files of the build, so that a new build needs no new installation.

CMake runs it with the interpreter that has the packages of requirements.txt. An environment of its own is made where
there is none; it sees those packages.
"""

import argparse
import importlib.metadata
import os
import pathlib
import shutil
import site
import subprocess
import sys
import sysconfig
import venv

try:
    import tomllib
except ImportError:  # CPython 3.10
    from pip._vendor import tomli as tomllib

PROJECT = pathlib.Path(__file__).resolve().parent.parent / "pyproject.toml"
INSTALLED = ("kiln_nki", "kiln")  # what brings a package `kiln`; the second was its name once

# The first line that pip writes too: a path of any length, with spaces or without.
SCRIPT = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import sys

from {module} import {first}

sys.exit({called}())
"""


def write(path, text):
    """Leaves a file alone that has that text already."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def write_command(folder, entry):
    """The command of an entry point."""
    path = folder / "bin" / entry.name
    write(path, SCRIPT.format(python=folder / "bin" / "python", module=entry.module, called=entry.attr,
                              first=entry.attr.partition(".")[0]))
    path.chmod(0o755)


def write_metadata(package, version, project):
    """What importlib.metadata reads, beside the package: pytest finds its plugins there."""
    folder = package / f"{INSTALLED[0]}-{version}.dist-info"
    for other in package.glob("kiln*.dist-info"):
        if other != folder:
            shutil.rmtree(other)
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}"]
    lines += [f"Requires-Dist: {name}" for name in project["dependencies"]]
    write(folder / "METADATA", "\n".join(lines) + "\n")
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    text = "\n".join(f"[{group}]\n" + "".join(f"{name} = {entry}\n" for name, entry in entries.items())
                     for group, entries in groups.items())
    write(folder / "entry_points.txt", text)


def packages_of_this_python():
    return [folder for folder in [*site.getsitepackages(), site.getusersitepackages()] if pathlib.Path(folder).is_dir()]


def make_environment(folder):
    """A new environment, with the commands of the packages that it will see."""
    if os.path.realpath(folder / "bin" / "python") != os.path.realpath(sys.executable):
        venv.EnvBuilder(symlinks=True, clear=True).create(folder)
    for found in importlib.metadata.distributions(path=packages_of_this_python()):
        for entry in found.entry_points.select(group="console_scripts"):
            write_command(folder, entry)


def remove_installed(folder, packages):
    """Without what `pip install .` left there, which would be found first."""
    found = [name for name in INSTALLED if any(packages.glob(f"{name}-*.dist-info"))]
    if found:
        print(f"{folder}: the installed kiln makes way for that of the build")
        subprocess.run([folder / "bin" / "python", "-m", "pip", "uninstall", "--quiet", "--yes", *found], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("venv", type=pathlib.Path, help="the environment")
    parser.add_argument("--package", type=pathlib.Path, help="folder in which the build has the package kiln")
    parser.add_argument("--version", help="version of that package")
    chosen = parser.parse_args()
    folder = chosen.venv.absolute()
    packages = pathlib.Path(sysconfig.get_path("purelib", "posix_prefix", {"base": folder}))
    lines = [] if chosen.package is None else [chosen.package.absolute()]
    if not (folder.exists() and folder.samefile(sys.prefix)):
        make_environment(folder)
        lines += packages_of_this_python()
    remove_installed(folder, packages)
    write(packages / "kiln.pth", "".join(f"{line}\n" for line in lines))
    if chosen.package is not None:
        project = tomllib.loads(PROJECT.read_text())["project"]
        write_metadata(chosen.package, chosen.version, project)
        for name, entry in project["scripts"].items():
            write_command(folder, importlib.metadata.EntryPoint(name, entry, "console_scripts"))


if __name__ == "__main__":
    main()
