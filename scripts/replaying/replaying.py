"""Asks a tree about everything that it has and writes the answers into a folder."""

import collections
import concurrent.futures
import fnmatch
import hashlib
import pathlib
import shutil
import sys

import case_files
import cpp_examples
import kiln_files
import published_rows
import python_examples
import python_refusals
import records
import timing_rows
import words
from tree import MissingError

HERE = pathlib.Path(__file__).resolve().parent
# Long ones first.
GROUPS = (published_rows, cpp_examples, python_examples, python_refusals, words, timing_rows, kiln_files, case_files)
MADE_BY = "made_by"  # names the version of this program that wrote a folder


def is_chosen(name, only):
    """Whether a pattern, or a part of the name, fits the name of a file of records."""
    return not only or any(part in name or fnmatch.fnmatch(name, part) for part in only)


def version():
    """Changes with this program and with what it takes from the tests."""
    borrowed = [pathlib.Path(m.__file__) for m in case_files.borrowed()] + [pathlib.Path(cpp_examples.tests().__file__)]
    files = sorted([*HERE.glob("*.py"), *borrowed], key=lambda path: path.name)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def ask(name, function, arguments, folder):
    try:
        records.write(folder / f"{name}.txt", function(*arguments))
    except MissingError:
        raise
    except Exception as error:
        raise RuntimeError(f"while {name} was asked: {error}") from error


def all_jobs(tree):
    """[(name of the file of records, function, arguments)]; the second file of a name gets a number."""
    jobs, seen = [], collections.Counter()
    for name, function, arguments in (job for group in GROUPS for job in group.jobs(tree)):
        seen[name] += 1
        jobs.append((name if seen[name] == 1 else f"{name}.{seen[name]}", function, arguments))
    return jobs


def replay(tree, out, only, workers):
    """Writes aside, so that a folder of records is complete. Returns how many files of records it has."""
    jobs = [job for job in all_jobs(tree) if is_chosen(job[0], only)]
    aside = out.with_name(out.name + ".part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(ask, *job, aside): job[0] for job in jobs}
        try:
            for count, done in enumerate(concurrent.futures.as_completed(waiting), 1):
                done.result()
                show_progress(count, len(jobs), waiting[done])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    (aside / MADE_BY).write_text(version() + "\n")
    shutil.rmtree(out, ignore_errors=True)
    aside.rename(out)
    return len(jobs)


def show_progress(count, total, name):
    """One line that changes, on a terminal only."""
    if sys.stderr.isatty():
        width = 30
        full = width * count // total
        end = "\n" if count == total else ""
        bar = f"[{'#' * full}{' ' * (width - full)}]"
        print(f"\r{bar} {count} of {total} {name:<40.40}", end=end, file=sys.stderr, flush=True)
