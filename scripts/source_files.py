"""Which files belong to the project; used by the checks beside it."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_OURS = {".git", ".venv", "build"}


def git(*words):
    """What git prints; None without git or outside a repository (an unpacked archive)."""
    try:
        # The machine that runs the tests may have the tree from another user.
        done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout


def source_files(*endings):
    """The project's files whose names end so, new ones included, as paths from the root."""
    known = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")] if known is None else known.split("\0")
    paths = {pathlib.Path(name) for name in names if name and name.endswith(endings)}
    return sorted(path for path in paths if path.parts[0] not in NOT_OURS and (ROOT / path).is_file())
