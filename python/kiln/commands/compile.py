"""`kiln compile file.py:function`: the instructions, the NKI source or the report of a NumPy function."""

import contextlib
import os
import sys

import numpy as np

from kiln import _check
from kiln._files import write_aside
from kiln._trace.errors import NkiValidationError
from kiln.commands import colour, numpy_function
from kiln.commands.options import Options


def main(request):
    """Writes what is asked for and returns the exit code."""
    options, given = Options(request), request.options
    path = options.files[0]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            made = numpy_function.lowered(path, options, int(given.get("O", ["2"])[-1]), _search(given))
            python = (options.out or "").endswith(".py")
            texts = [made.nki] if python else [str(program) for program in made.programs]
    except NkiValidationError as error:
        print("\n\n".join(d.text(colour.wanted(sys.stderr)) for d in error.diagnostics), file=sys.stderr)
        return _check.Report(path, error.diagnostics).exit_code
    wants_report = "report" in given
    if options.out:
        _write(options.out, texts, made)
    elif not wants_report:
        sys.stdout.write("".join(texts))
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


def _write(out, texts, made):
    if not out.endswith(".py"):  # the source holds its constants itself
        folder, stem = os.path.split(os.path.splitext(out)[0])
        for name, array in made.constants.items():
            np.save(os.path.join(folder, f"{stem}.{name}.npy"), array)
    stem, ending = os.path.splitext(out)
    for i, text in enumerate(texts):  # of a pair one file for each core
        write_aside(out if len(texts) == 1 else f"{stem}.core{i}{ending}", text)


def shown(report):
    """The report as text."""
    lines = [f"{report['name']} for {report['target']}: {report['instructions_static']} instructions, "
             f"{report['instructions_executed']} executed, in {len(report['groups'])} groups",
             f"  predicted {report['time_ns'] / 1000:.2f} us, between {report['time_low_ns'] / 1000:.2f} and "
             f"{report['time_high_ns'] / 1000:.2f}; at least {report['roofline_ns'] / 1000:.2f} by the roofline",
             f"  {report['bytes_moved']:.0f} bytes of HBM moved, {report['bytes_compulsory']:.0f} compulsory"]
    for i, group in enumerate(report["groups"], 1):
        lines.append(f"  {i}. {group['ops']}: {group['rows'] * group['packed']} rows, "
                     f"{group['instructions_static']} instructions")
    return "\n".join(lines) + "\n"
