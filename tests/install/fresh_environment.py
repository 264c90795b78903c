"""A new Python environment with kiln in it, for tests of what users install.

It sees the packages of .venv, so nothing is fetched, but not the kiln of the build."""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])

DOUBLE = '''
import sys

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, 2.0)
    nisa.dma_copy(out, t)
    return out
'''

KERNEL = DOUBLE + '''

if __name__ == "__main__":
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(double(x), 2 * x)
    print(sys.argv[1:], nki.__file__)
'''


def run(*words, **more):
    """What a command prints; it must succeed."""
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, timeout=800, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment_with(folder, *installed, env=None):
    """Makes the environment in a folder; `installed` are further words for pip install."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    packages = [entry for entry in sys.path if entry.endswith("-packages")]
    (pathlib.Path(site) / "packages_of_the_tests.pth").write_text("\n".join(packages) + "\n")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", *installed, env=env)
    return folder
