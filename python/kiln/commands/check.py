"""`kiln check kernel.py`: the language lint, then the program checks for every kernel whose arguments are known."""

import importlib.util
import json
import sys

from kiln import _check, nki
from kiln._trace import rules
from kiln._trace.errors import NkiValidationError
from kiln.commands import colour, kernel_file, target


def _parser():
    parser = kernel_file.parser("check", "tell whether kernels in Python are legal, without values")
    parser.add_argument("file", help="a .py file")
    kernel_file.add_options(parser)
    parser.add_argument("--strict-order", action="store_true",
                        help="refuse what fits into SBUF and PSUM only when instructions are reordered")
    parser.add_argument("--json", action="store_true", help="print JSON, diagnostics included, to stdout")
    return parser


def lint(path):
    """What the language lint finds in the file; nothing when it is not part of this build."""
    if importlib.util.find_spec("kiln.lint") is None:
        return []
    from kiln import lint as checker

    return checker.check_file(path, api_version=nki.api_version())


def _reports(path, options):
    try:
        calls, unknown = kernel_file.calls(path, options)
    except NkiValidationError as error:
        return [_check.Report(path, error.diagnostics)], []
    except Exception as error:
        found = _check.stopped(error, rules.IMPORTABLE_FILE)
        return [_check.Report(path, [found])], []
    reports = []
    for call in calls:
        report = _check.check_call(call.kernel, call.args, call.kwargs, options.strict_order)
        report.name = f"{path}: {call.name}"
        reports.append(report)
    return reports, unknown


def _not_traced(path, name, lacking):
    example = " ".join(f"--arg {p}=float32[128,512]" for p in lacking)
    return (f"{path}: {name}: not traced, nothing says what {', '.join(lacking)} "
            f"{'is' if len(lacking) == 1 else 'are'}: annotate with nt.tensor[...], give e.g. {example}, or --record\n")


def main(words):
    """Checks the file and returns the exit code."""
    options = _parser().parse_args(words)
    target.use(options)
    findings = lint(options.file)
    reports, unknown = _reports(options.file, options)
    code = max([r.exit_code for r in reports] + [any(f.severity == "error" for f in findings)], default=0)
    if options.json:
        json.dump({"ok": code == 0, "lint": [f.as_dict() for f in findings],
                   "programs": [r.as_dict() for r in reports],
                   "not_traced": [{"kernel": n, "parameters": p} for n, p in unknown]}, sys.stdout, indent=2)
        print()
        return int(code)
    has_colour = colour.wanted(sys.stderr)
    for d in [*(f.diagnostic() for f in findings), *(d for r in reports for d in r.diagnostics)]:
        print(d.text(has_colour) + "\n", file=sys.stderr)
    errors = sum(f.severity == "error" for f in findings)
    if findings:
        print(f"{options.file}: language: {_check._plural(errors, 'error')}, "
              f"{_check._plural(len(findings) - errors, 'warning')}")
    for report in reports:
        print(report.summary(), end="")
    for name, lacking in unknown:
        print(_not_traced(options.file, name, lacking), end="")
    if not reports and not unknown:
        print(f"{options.file}: no kernel: mark functions with @nki.jit, or name one with --kernel")
    return int(code)
