#!/usr/bin/env python3
"""check_tidy.py BUILD [FILE...]: clang-tidy on what changed, or on FILEs; BUILD has a compile_commands.json.

Changed are the lines that differ from the branch main, and new files; on main itself, from the commit before. A header
is looked at through a source that includes it. Of more than MOST sources those with the most changed lines are looked
at, so that it stays a matter of a minute. Without a commit to compare with (an archive, a clone without history) there
is nothing to do.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

from source_files import ROOT, git

MOST = 8
MAIN = ("origin/main", "main")
KINDS = ("*.cpp", "*.h")
ALL_LINES = [1, 1_000_000]
BEGINS = re.compile(r"^(?=\S+:\d+:\d+: (?:error|warning): )", re.M)  # of a remark


def commit_before():
    """The commit that the tree is compared with, or None."""
    head = git("rev-parse", "HEAD")
    for branch in MAIN:
        common = git("merge-base", "HEAD", branch)
        if common and common != head:
            return common.strip()
    before = git("rev-parse", "--verify", "--quiet", "HEAD^")
    return before and before.strip()


def changed_lines():
    """{file: [[first, last], ...]}; files that only moved are not there."""
    before = commit_before()
    if before is None:
        return {}
    found = collections.defaultdict(list)
    for line in git("diff", "--unified=0", "--find-renames", "--dst-prefix=b/", before, "--", *KINDS).splitlines():
        if line.startswith("+++ b/"):
            name = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            if count:
                found[name].append([first, first + count - 1])
    for name in git("ls-files", "-z", "--others", "--exclude-standard", "--", *KINDS).split("\0"):
        if name:
            found[name] = [ALL_LINES]
    return found


def source_of(name, sources):
    """The source that a file is looked at through, or None."""
    beside = name.removesuffix(".h") + ".cpp"
    if name in sources or beside in sources:
        return name if name in sources else beside
    line = f'#include "{name}"'
    return next((source for source in sources if line in (ROOT / source).read_text()), None)


def look(build, source, changed):
    """(whether it is fine, what clang-tidy says); only what stands in changed lines counts."""
    lines = json.dumps([{"name": name, "lines": lines} for name, lines in changed.items()])
    command = [pathlib.Path(sys.executable).parent / "clang-tidy", "-p", build, "--quiet", "--warnings-as-errors=*",
               f"--line-filter={lines}", source]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode == 0, done.stdout


def main():
    build = pathlib.Path(sys.argv[1]).absolute()
    compiled = {pathlib.Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())}
    sources = sorted(str(path.relative_to(ROOT)) for path in compiled if path.is_relative_to(ROOT))
    changed = {name: [ALL_LINES] for name in sys.argv[2:]} or changed_lines()
    size = collections.Counter()
    for name, lines in changed.items():
        size[source_of(name, sources)] += sum(last - first + 1 for first, last in lines)
    del size[None]
    chosen = [source for source, _ in size.most_common(None if sys.argv[2:] else MOST)]
    print(f"clang-tidy: {len(chosen)} of {len(size)} sources that changed")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda source: look(build, source, changed), chosen))
    remarks = [remark for fine, said in found if not fine for remark in BEGINS.split(said)]
    print("".join(dict.fromkeys(remarks)), end="")  # one about a header comes with every source
    return not all(fine for fine, _ in found)


if __name__ == "__main__":
    sys.exit(main())
