"""`kiln time kernel.py`: traces the kernel and hands its programs to the native command."""

import sys

from kiln import _check, _kiln
from kiln._program import plain
from kiln._trace import env, rules, simulate, specs
from kiln._trace.errors import NkiValidationError, make_error, refuse
from kiln.commands import colour, kernel_file, target


def _parser():
    parser = kernel_file.parser(
        "time", "tell how long a kernel in Python takes on the chip, and why; all other options of kiln time (--html, "
                "--trace, --json, --what-if, --trip-count, ...) work as for text programs")
    parser.add_argument("file", help="a .py file")
    kernel_file.add_options(parser)
    return parser


def _one_call(path, options):
    calls, unknown = kernel_file.calls(path, options)
    if len(calls) == 1:
        return calls[0]
    names = ", ".join([c.name for c in calls] + [n for n, _ in unknown]) or "none"
    help = "" if calls else "give its arguments, e.g. --arg x=float32[128,512]"
    refuse(rules.ONE_KERNEL, f"kernels of {path}: {names}", help)


def main(words):
    """Times the kernel and returns the exit code."""
    options, rest = _parser().parse_known_args(words)
    target.use(options)
    try:
        return _time(_one_call(options.file, options), rest)
    except NkiValidationError as error:
        print("\n\n".join(d.text(colour.wanted(sys.stderr)) for d in error.diagnostics), file=sys.stderr)
        return _check.Report(options.file, error.diagnostics).exit_code


def _time(call, rest):
    function, lnc = plain(call.kernel)
    args = [specs.with_arrays(a) for a in call.args]
    kwargs = {k: specs.with_arrays(v) for k, v in call.kwargs.items()}
    schedule = getattr(call.kernel, "schedule", ())
    try:
        programs = [core.program() for core in simulate.trace_cores(function, lnc, args, kwargs, schedule)]
    except NkiValidationError:
        raise
    except Exception as error:
        raise make_error([_check.stopped(error)]) from None
    suffixes = [""] if lnc == 1 else [f".core{i}" for i in range(lnc)]
    given = {f"{programs[0].name}{suffix}.kiln": program for suffix, program in zip(suffixes, programs)}
    sys.stdout.flush()
    return _kiln.cli(["time", *given, *rest], given, env.reserved_psum_banks())
