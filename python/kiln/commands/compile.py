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
            made = numpy_function.lowered(path, options, int(given.get("O", ["2"])[-1]))
            text = made.nki if (options.out or "").endswith(".py") else str(made.program)
    except NkiValidationError as error:
        print("\n\n".join(d.text(colour.wanted(sys.stderr)) for d in error.diagnostics), file=sys.stderr)
        return _check.Report(path, error.diagnostics).exit_code
    wants_report = "report" in given
    if options.out:
        _write(options.out, text, made)
    elif not wants_report:
        sys.stdout.write(text)
    if wants_report:
        sys.stdout.write(shown(made.report()))
    return 0


def _write(out, text, made):
    if not out.endswith(".py"):  # the source holds its constants itself
        folder, stem = os.path.split(os.path.splitext(out)[0])
        for name, array in made.constants.items():
            np.save(os.path.join(folder, f"{stem}.{name}.npy"), array)
    write_aside(out, text)


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
