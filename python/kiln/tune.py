"""An autotuner by simulated time: of several ways to write a kernel, the one that is predicted to be fastest.

    tuned = kiln.tune.tune("my kernel", [64, 128, 256], build)   # build(candidate) gives a program
    tuned.best, tuned.times_ns

Times come from the model, so the answer is the same on every machine and every day; it is kept in a file under a key
with Kiln's version.
"""

import concurrent.futures
import functools
import json
import os
import pathlib
import sys

from kiln import _kiln
from kiln._files import write_aside
from kiln._trace.errors import NkiValidationError
from kiln import nki as _  # noqa: F401  with it, errors of the native half are exceptions of Kiln

__all__ = ["Cache", "Tuned", "cache_file", "predicted_ns", "tune"]


def cache_file():
    """Where choices are kept: KILN_TUNE_CACHE, or kiln/tune.json in the user's cache folder."""
    asked = os.environ.get("KILN_TUNE_CACHE")
    if asked:
        return pathlib.Path(asked)
    folder = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(folder) / "kiln" / "tune.json"


def predicted_ns(program):
    """Nanoseconds that the model of time predicts for a program; infinity for one that is not legal."""
    if not program.check().ok:
        return float("inf")
    return _kiln.time_programs([program], {}, [], None, False).total_ns


def _time_of(build, candidate):
    try:
        return predicted_ns(build(candidate))
    except NkiValidationError:  # nothing can be built from it
        return float("inf")


class Cache:
    """A file of choices. Another version of Kiln has keys of its own."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def _read(self):
        try:
            found = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @staticmethod
    def _full(key):
        return f"kiln {_kiln.__version__} {key}"

    def get(self, key):
        return self._read().get(self._full(key))

    def put(self, key, value):
        """Adds a choice; the file is written beside its place and renamed."""
        entries = self._read()
        entries[self._full(key)] = value
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(self.path, json.dumps(entries, indent=1, sort_keys=True) + "\n")

    def entries(self, prefix):
        """Choices of this version by what follows `prefix` in their keys."""
        start = self._full(prefix)
        return {key[len(start):]: value for key, value in self._read().items() if key.startswith(start)}


class Tuned:
    """The best candidate, and what was predicted for all of them ({} when the file already knew)."""

    def __init__(self, best, times_ns, from_cache):
        self.best, self.times_ns, self.from_cache = best, times_ns, from_cache

    def __repr__(self):
        return f"<tuned: {self.best}{', from the cache' if self.from_cache else ''}>"


class Progress:
    """A line on the terminal that grows while candidates are tried; nothing where there is no terminal."""

    def __init__(self, name, total, show):
        self.name, self.total, self.done = name, total, 0
        self.show = sys.stderr.isatty() if show is None else show

    def step(self):
        self.done += 1
        self._print(f"{self.done}/{self.total}", "\n" if self.done == self.total else "")

    def show_at(self, done, text):
        """The bar at a place, with a text behind it."""
        self.done = min(int(done), self.total)
        self._print(text, "")

    def close(self):
        if self.show:
            print(file=sys.stderr)

    def _print(self, text, end):
        if not self.show:
            return
        full = 30 * self.done // max(1, self.total)
        print(f"\r{self.name} [{'#' * full}{'.' * (30 - full)}] {text}", end=end, file=sys.stderr, flush=True)


def timed(function, candidates, *, executor=None, step=lambda: None):
    """function(candidate) of all candidates in order, here or by any concurrent.futures executor; step() after each."""
    if executor is None:
        times = []
        for candidate in candidates:
            times.append(function(candidate))
            step()
        return times
    futures = [executor.submit(function, candidate) for candidate in candidates]
    for future in futures:
        if isinstance(future, concurrent.futures.Future):
            future.add_done_callback(lambda _: step())
    return [future.result() for future in futures]


def _json_form(candidate):
    """The candidate as the file has it."""
    return json.loads(json.dumps(candidate))


def tune(name, candidates, build, *, key="", cache=None, executor=None, progress=None):
    """Tries all candidates and returns a Tuned.

    candidates: values that JSON can write. build(candidate): a program (kiln.program, or of a library). key: what else
    the choice depends on. cache: a file (None: cache_file(); False: none). executor: any concurrent.futures executor,
    such as Dask's or mpi4py's; build must be picklable for one that uses other processes. progress: True or False for
    a progress bar; None: on a terminal. The first of several equally fast candidates wins.
    """
    candidates = list(candidates)
    if not candidates:
        raise ValueError("candidates: there are none")
    store = None if cache is False else Cache(cache or cache_file())
    full = f"{name} {key}".strip()
    known = store.get(full) if store else None
    for candidate in candidates:
        if known is not None and _json_form(candidate) == known:
            return Tuned(candidate, {}, True)
    bar = Progress(name, len(candidates), progress)
    times = timed(functools.partial(_time_of, build), candidates, executor=executor, step=bar.step)
    best = min(range(len(candidates)), key=lambda i: (times[i], i))
    if times[best] == float("inf"):
        raise ValueError(f"candidates: none of {len(candidates)} is legal")
    if store:
        store.put(full, _json_form(candidates[best]))
    return Tuned(candidates[best], dict(enumerate(times)), False)
