"""Writes what this tree says about every example, every .test and .kiln file, every row of timing_rows.csv and every
rule into a folder: printed programs, verdicts with all diagnostics, digests of results, times, reports. With --against
it shows what another tree says differently."""

import argparse
import os
import pathlib
import sys

import compare
import older_tree
from replaying import MADE_BY, replay, version
from tree import MissingError, Tree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def options():
    parser = argparse.ArgumentParser(prog="scripts/replay", description=__doc__,
                                     epilog="Exit code: 0 no difference, 1 differences, 2 something is missing.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release",
                        help="the build that is asked (default: build/release)")
    parser.add_argument("--out", type=pathlib.Path, help="where the records go (default: build/replay/here)")
    parser.add_argument("--only", action="append", metavar="PATTERN",
                        help="only files of records with this in their name, such as test/nc_matmul or python/*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="processes (default: one per processor)")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--against", metavar="COMMIT",
                       help="show what differs from a commit, which is built below build/replay; or from a folder of "
                            "records")
    other.add_argument("--against-build", type=pathlib.Path, metavar="DIR",
                       help="show what differs from the tree that was built in this folder")
    parser.add_argument("--ignore", action="append", default=[], metavar="REGEX",
                        help="lines that do not count, where a difference is meant")
    chosen = parser.parse_args()
    chosen.home = chosen.build.resolve().parent / "replay"
    chosen.out = chosen.out or chosen.home / "here"
    return chosen


def older_records(chosen):
    """The folder to compare with; written when it is not there or not by this program."""
    if chosen.against_build:
        out = chosen.home / "other"
        replay(Tree.of_build(chosen.against_build), out, chosen.only, chosen.jobs)
        return out
    if (pathlib.Path(chosen.against) / MADE_BY).exists():
        return pathlib.Path(chosen.against)
    commit = older_tree.commit_of(ROOT, chosen.against)
    place = chosen.home / commit[:12]
    whole = place / "records"
    if (whole / MADE_BY).exists() and (whole / MADE_BY).read_text() == version() + "\n":
        return whole
    out = place / "some_records" if chosen.only else whole
    replay(older_tree.built(ROOT, commit, place), out, chosen.only, chosen.jobs)
    return out


def main():
    chosen = options()
    try:
        tree = Tree.of_build(chosen.build)
        older = older_records(chosen) if chosen.against or chosen.against_build else None
        count = replay(tree, chosen.out, chosen.only, chosen.jobs)
    except MissingError as error:
        print(f"scripts/replay: {error}", file=sys.stderr)
        return 2
    if not count:
        print(f"scripts/replay: nothing has {' or '.join(chosen.only)} in its name", file=sys.stderr)
        return 2
    if older:
        return 1 if compare.show(older, chosen.out, chosen.only, chosen.ignore) else 0
    print(f"{count} files of records in {chosen.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
