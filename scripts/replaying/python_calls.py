"""python_calls.py EXAMPLE: as JSON, (title, text) for each call that the example's main function makes to a kernel:
program, check, results, time, report, page and trace. Runs with the package of the tree that is asked, in the folder of
the example."""

import contextlib
import importlib
import io
import json
import os
import pathlib
import sys
import tempfile
import warnings

import numpy as np

import kiln
from normal import normal, normal_bytes, normal_page
from records import array_line, digest, flat

SHOWN_LINES = 1000


def saved(save, *names):
    """What a method that writes files has written."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, name) for name in names]
        save(*map(str, paths))
        return b"".join(path.read_bytes() for path in paths)


def program_text(kernel, args, kwargs):
    program = kiln.program(kernel, *args, **kwargs)
    names = ["core0.kiln", "core1.kiln"] if isinstance(program, tuple) else ["program.kiln"]
    return saved(program.save, *names).decode()


def results_text(result):
    arrays = result if isinstance(result, (tuple, list)) else [result]
    return "\n".join(array_line(f"result {i}", np.asarray(array)) for i, array in enumerate(arrays))


def timing_texts(kernel, args, kwargs):
    """Sections of what kiln.time says."""
    timing = kiln.time(kernel)(*args, **kwargs)
    trace = saved(timing.save_trace, "trace")
    yield "time", f"{timing!r}\n{kiln.benchmark(kernel)(*args, **kwargs)!r}"
    yield "report", flat(timing.as_dict())
    yield "report as text", timing.report(SHOWN_LINES)
    yield "pictures", f"page: {digest(normal_page(timing.html()))}\ntrace: {digest(normal_bytes(trace))}"


def check_text(kernel, args, kwargs):
    report = kiln.check(kernel, *args, **kwargs)
    return f"{report}\n{flat(report.as_dict())}"


def attempt(make, *args):
    """What a call gives, or the error that came instead."""
    try:
        return make(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def tell(call, result):
    """`call`: kernel, positional and named arguments."""
    timing = attempt(lambda: list(timing_texts(*call)))
    sections = [("program", attempt(program_text, *call)), ("check", attempt(check_text, *call)), ("results", result),
                *([("time", timing)] if isinstance(timing, str) else timing)]
    return "".join(f"-- {title}\n{normal(text).rstrip()}\n" for title, text in sections)


class Listener:
    """Takes the place of the method that runs a kernel, and notes each call."""

    def __init__(self, run):
        self.run, self.told = run, []

    def __call__(self, kernel, *args, **kwargs):
        before = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        result = None
        try:
            result = self.run(kernel, *args, **kwargs)
            return result
        finally:
            text = "none" if result is None else results_text(result)
            self.told.append((f"{kernel.func.__name__}, call {len(self.told)}", tell((kernel, before, kwargs), text)))


def main(name):
    kiln.activate()
    import nki

    listener = Listener(nki.Kernel.__call__)
    nki.Kernel.__call__ = lambda *args, **kwargs: listener(*args, **kwargs)
    sys.path.insert(0, os.getcwd())
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        module = importlib.import_module(pathlib.Path(name).stem)
        ended = attempt(module.main) if hasattr(module, "main") else None
    said = [printed.getvalue(), ended or "", *(f"{w.category.__name__}: {w.message}" for w in warned)]
    json.dump([*listener.told, ("main", normal("\n".join(said)))], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
