"""Times the published source of one row through kiln.time, as a user would: no hints, default options."""

import ast
import re
import time

import kiln
from kiln import _kiln
from kiln._time import Timing

kiln.activate()

import old_api  # noqa: E402
import sources  # noqa: E402

# Options of the vendor's compiler that a row was measured with, as kiln.time has them.
FLAGS = {"": {}, "--disable-dge": {"disable_dge": True}}
SHAPE = re.compile(r"\w+\[[\d,]+\]$")


def arguments(text):
    """(args, kwargs) of a row: shapes stay texts, which kiln.time takes."""
    args, kwargs = [], {}
    for word in text.split():
        name, _, value = word.rpartition("=")
        value = value if SHAPE.match(value) else ast.literal_eval(value)
        if name:
            kwargs[name] = value
        else:
            args.append(value)
    return args, kwargs


class Clock:
    """Processor time of the model alone, without tracing and checking, and what it was asked last."""

    WHAT_IF, WITHOUT = 2, 7  # arguments of the model

    def __init__(self):
        self.seconds, self._model, self._asked = 0.0, _kiln.time_programs, None

    def __enter__(self):
        _kiln.time_programs = self._timed
        return self

    def _timed(self, *args, take):  # programs are not taken: the model may be asked again
        begin = time.process_time()
        self._asked = args
        try:
            return self._model(*args)
        finally:
            self.seconds += time.process_time() - begin

    def __exit__(self, *_):
        _kiln.time_programs = self._model

    def again(self, variant):
        """The Timing of the same programs with other constants and passes."""
        args = list(self._asked)
        args[self.WHAT_IF] = [*args[self.WHAT_IF], *variant["what_if"]]
        args[self.WITHOUT] = [*args[self.WITHOUT], *variant["without"]]
        return Timing(self._model(*args))


def timed(kernel, args, kwargs, options):
    """A Timing, the clock, and whether the kernel fits only with spills, which is what check then says."""
    with Clock() as clock:
        try:
            return kiln.time(kernel, advice=False, **options)(*args, **kwargs), clock, False
        except kiln.NkiValidationError as error:
            if "memory.R8" not in str(error):
                raise
        return kiln.time(kernel, advice=False, spill=True, **options)(*args, **kwargs), clock, True


TRACED = {}  # rows that are asked for again


def time_row(folder, row, options, variants=()):
    """What the model says of a row: figures of each of its kernels, and whether the rewrite was exact. `variants` are
    figures of the kernels with other constants and passes."""
    if not variants:
        return _time_row(folder, row, options)[0]
    if row["id"] not in TRACED:
        TRACED[row["id"]] = _time_row(folder, row, options)
    answer, clocks = TRACED[row["id"]]
    return answer | {"variants": [[figures(clock.again(variant)) for clock in clocks] for variant in variants]}


def _time_row(folder, row, options):
    text = sources.text_of(folder, row)
    old_api.NOTES.clear()
    old_api.GUESSES.clear()
    old = sources.is_old(text)
    if old:
        old_api.install()
    module = sources.module_of(row, text, folder)
    parts, clocks = [], []
    for name, words in zip(row["function"].split(" + "), row["arguments"].split(" + ")):
        function = getattr(module, name)
        kernel = old_api.kernel_of(function) if old else function
        timing, clock, spilled = timed(kernel, *arguments(words), options | FLAGS[row["flags"]])
        parts.append(figures(timing) | {"seconds": clock.seconds, "spilled": spilled})
        clocks.append(clock)
    return {"parts": parts, "api": "old" if old else "new", "notes": dict(old_api.NOTES),
            "guesses": dict(old_api.GUESSES)}, clocks


def figures(timing):
    report = timing.as_dict()
    summary = report["summary"]
    return {
        "total_ns": report["total_ns"], "low_ns": report["band"]["low_ns"], "high_ns": report["band"]["high_ns"],
        "profiler_ns": 1e9 * summary["total_time"], "benchmark_ns": 1e9 * summary["benchmark_latency"],
        "dma_busy_ns": 1e9 * summary["dma_active_time"], "bottleneck": timing.bottleneck,
        "compiled": report["compiled"],
        "lanes": {e["name"]: {k: e[k] for k in ("active_ns", "busy_ns")} for e in report["engines"]},
        "instructions": summary["instruction_count"],
    }
