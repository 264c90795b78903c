"""Records of the package's tests: the diagnostics and warnings that their kernels got, test by test. The tests' own
asserts look at a part of each message only."""

import json
import pathlib

from case_files import SEED
from normal import folder, without_test_lines

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("tests/python/test_*.py", "tests/python/language/test_*.py")
LONG = "not ten_thousand_runs"  # repeats one refusal for a minute


def jobs(tree):
    return [(f"refusals/{path.name}", records, (tree, path)) for part in FOLDERS for path in tree.files(part)]


def records(tree, path):
    with folder() as place:
        told = pathlib.Path(place, "told.json")
        words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "refusal_listener", "-k", LONG,
                 "--basetemp", f"{place}/made", path]
        done = tree.call(tree.python, *words, cwd=place, PYTHONPATH=f"{tree.package}:{HERE}", KILN_SEED=str(SEED),
                         KILN_BUILD_DIR=str(tree.build), KILN_SOURCE_DIR=str(tree.source), REPLAY_OUT=str(told))
        if not told.exists():
            raise RuntimeError(done.stdout + done.stderr)
        tests = json.loads(told.read_text())
    return [(title, "\n\n".join(without_test_lines(text) for text in texts)) for title, texts in tests.items()]
