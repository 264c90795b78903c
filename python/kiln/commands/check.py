"""`kiln check kernel.py ...`: the language lint, then the program checks for every kernel."""

import contextlib
import importlib.util
import sys

from kiln import _check, _kiln, nki
from kiln._trace import env
from kiln._trace.errors import NkiValidationError
from kiln.commands import arguments, kernel_file, named_function, other_targets, target
from kiln.commands.options import Options
from kiln.commands.verdicts import FileResult, NotTraced, Verdicts


def lint(path):
    """What the language lint finds in the file; nothing when it is not part of this build."""
    if importlib.util.find_spec("kiln.lint") is None:
        return []
    from kiln import lint as checker

    return checker.check_file(path, api_version=nki.api_version())


def _text_program(path, chip, options):
    """The FileResult of a program in text form, for the chip that --target says or the program names."""
    result = FileResult(path)
    program = _kiln.read_program(path, options.source_roots)
    if chip:
        program = program.for_chip(env.chip())
    report = program.check(0, options.strict_order, True)
    result.add(_check.Report("", report.diagnostics, [program], [report]), program.name)
    return result


def _python_file(path, options, given):
    result = FileResult(path)
    with kernel_file.opened(path, options.kernel) as file:
        result.file = file
        calls, untraced = file.calls(options, given)
        for call in calls:
            report = result.add(_check.check_call(call.kernel, call.args, call.kwargs, options.strict_order), call.name)
            report.others = other_targets.ask(file, call, report.programs) if report.ok else None
    inner = {code for report in result.reports for code in report.inner}
    for kernel in untraced:
        if kernel.code in inner:
            result.inside.append(kernel.name)
        else:
            result.add(NotTraced(kernel), kernel.name)
    return result


def _numpy_function(path, options):
    """The FileResult of file.py:function."""
    from kiln.commands import numpy_function

    result = FileResult(path)
    report = numpy_function.lowered(path, options).check()
    result.add(report, named_function.split(path)[1])
    return result


def _result(path, chip, options, given):
    try:
        if not path.endswith(".py") and ".py:" in path:
            return _numpy_function(path, options)
        return _python_file(path, options, given) if path.endswith(".py") else _text_program(path, chip, options)
    except NkiValidationError as error:
        result = FileResult(path)
        result.add(_check.Report("", error.diagnostics))
        return result


def _results(chip, options, given):
    """The FileResults for one chip. What users' code prints is no part of JSON."""
    with target.chosen(chip), contextlib.redirect_stdout(sys.stderr if options.json else sys.stdout):
        return [_result(path, chip, options, given) for path in options.files]


def _wrong_usage(results, options, given):
    """The diagnostics of a command line that fits none of its files."""
    files = [r.file for r in results if r.file is not None]
    if not files:
        return []
    if len(files) < sum(path.endswith(".py") for path in options.files):
        return []  # nobody knows what the others have
    try:
        kernel_file.require_kernels(files, options.kernel)
    except NkiValidationError as error:
        return error.diagnostics
    return arguments.unknown(given, [kernel for file in files for kernel in file.functions().items()])


def main(request):
    """Checks the files and returns the exit code."""
    options = Options(request)
    findings = {path: lint(path) for path in options.files if path.endswith(".py")}
    try:
        kernels = any(path.endswith(".py") for path in options.files)  # file.py:function reads them itself
        given = arguments.read(options.arguments) if kernels else {}
        by_chip = [_results(chip, options, given) for chip in target.asked_for(options.target)]
        wrong = _wrong_usage(by_chip[-1], options, given)
    except NkiValidationError as error:
        by_chip, wrong = [], error.diagnostics
    found = Verdicts(findings, by_chip, wrong)
    return found.show_json() if options.json else found.show_text()
