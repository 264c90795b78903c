"""`kiln compile file.py:function`: the instructions, the NKI source or the report of a NumPy function."""

import contextlib
import os
import sys

import numpy as np

from kiln import _kiln
from kiln._files import write_aside
from kiln._trace.errors import NkiValidationError
from kiln.commands import numpy_function, refusal
from kiln.commands.named_function import file_of
from kiln.commands.options import Options
from kiln.numpy._rules import FILE_FUNCTION, refuse


def main(request):
    """Writes what is asked for and returns the exit code."""
    options, given = Options(request), request.options
    path = options.files[0]
    try:
        if "donate" in given:
            refuse(FILE_FUNCTION, f"--donate {given['donate'][-1]}",
                   "a function overwrites the arguments that it writes to: x[...] = ... says which")
        if options.out:
            _kiln.require_outputs([file_of(path)], [options.out])
        with contextlib.redirect_stdout(sys.stderr):
            level = int(given["O"][-1]) if "O" in given else None
            made = numpy_function.lowered(path, options, level, _search(given), _most_ops(given))
            python = (options.out or "").endswith(".py")
            texts = [_texts(kernel, python) for kernel in made.kernels]
    except NkiValidationError as error:
        return refusal.told(path, error)
    wants_report = "report" in given
    if options.out:
        _write(options.out, texts, made)
    elif not wants_report:
        sys.stdout.write("".join(text for kernel in texts for text in kernel))
    if wants_report:
        sys.stdout.write(shown(made.report()))
    return 0


def _search(given):
    """The options of -O 3."""
    search = {}
    if "time-limit" in given:
        search["time_limit"] = float(given["time-limit"][-1])
    if "seed" in given:
        search["seed"] = int(given["seed"][-1])
    if "cache" in given:
        search["cache"] = os.path.join(given["cache"][-1], "search.json")
    return search


def _most_ops(given):
    """--kernel-ops; None: as many as usual."""
    return int(given["kernel-ops"][-1]) if "kernel-ops" in given else None


def _texts(kernel, python):
    """One text, or one for each core of a pair."""
    return [kernel.nki] if python else [str(program) for program in kernel.programs]


def _write(out, texts, made):
    stem, ending = os.path.splitext(out)
    if made.is_one_kernel:
        _write_kernel(stem, ending, texts[0], made)
        return
    files = [_write_kernel(f"{stem}.kernel{i}", ending, texts[i], kernel) for i, kernel in enumerate(made.kernels)]
    write_aside(f"{stem}.plan.json", made.model.plan(files))


def _write_kernel(stem, ending, texts, kernel):
    """The names of the files, without their folder."""
    if ending != ".py":  # the source holds its constants itself
        for name, array in kernel.constants.items():
            np.save(f"{stem}.{name}.npy", array)
    files = [stem + ending] if len(texts) == 1 else [f"{stem}.core{i}{ending}" for i in range(len(texts))]
    for file, text in zip(files, texts):
        write_aside(file, text)
    return [os.path.basename(file) for file in files]


def shown(report):
    """The report as text."""
    lines = [f"{report['name']} for {report['target']}: {report['instructions_static']} instructions, "
             f"{report['instructions_executed']} executed, in {len(report['groups'])} groups",
             f"  predicted {report['time_ns'] / 1000:.2f} us, between {report['time_low_ns'] / 1000:.2f} and "
             f"{report['time_high_ns'] / 1000:.2f}; at least {report['roofline_ns'] / 1000:.2f} by the roofline",
             f"  {report['bytes_moved']:.0f} bytes of HBM moved, {report['bytes_compulsory']:.0f} compulsory"]
    for kernel in report.get("kernels", ()):
        lines.append(f"  {kernel['name']}: called {kernel['calls']} times, {kernel['time_ns'] / 1000:.2f} us each, "
                     f"{kernel['instructions_static']} instructions")
    if "hbm" in report:
        hbm = report["hbm"]
        lines.append(f"  HBM between kernels: {len(hbm['buffers'])} buffers of {hbm['handed_on_bytes']} bytes in "
                     f"{hbm['between_bytes']}; within kernels at most {hbm['scratch_bytes']}")
    for i, group in enumerate(report["groups"], 1):
        lines.append(f"  {i}. {group['ops']}: {group['rows'] * group['packed']} rows, "
                     f"{group['instructions_static']} instructions")
    return "\n".join(lines) + "\n"
