"""What `kiln check` found in its files, and how it is shown: diagnostics to stderr and verdicts to stdout, or JSON."""

import json
import sys

from kiln import _check, _kiln
from kiln.commands import colour


class NotTraced(_check.Report):
    """The report on a kernel that nothing gives arguments to."""

    def __init__(self, untraced):
        super().__init__("", [untraced.diagnostic])
        self.parameters = untraced.parameters

    def summary(self):
        return f"{self.name}: not checked\n"


class FileResult:
    """What was found in a file for one chip: the KernelFile, if there is one; reports; and kernels that are checked
    where another one calls them."""

    def __init__(self, path):
        self.path, self.file, self.reports, self.inside = path, None, [], []

    def add(self, report, kernel=""):
        report.name = f"{self.path}: {kernel}" if kernel else self.path
        report.file, report.kernel, report.others = self.path, kernel, None
        self.reports.append(report)
        return report


def _plural(n, word):
    return f"{n} {word}{'' if n == 1 else 's'}"


class Verdicts:
    """`findings`: those of the lint, by file. `by_chip`: the FileResults of every file, for each chip that was asked
    about. `wrong`: what is wrong with the command line; what was found with it is no verdict then."""

    def __init__(self, findings, by_chip, wrong):
        self._findings, self._by_chip, self._wrong = findings, by_chip, wrong
        self._usage = _check.Report("", wrong)
        for result in [result for results in by_chip if wrong for result in results]:
            result.inside, result.reports = [], [r for r in result.reports if isinstance(r, NotTraced)]

    def _reports(self):
        return [report for results in self._by_chip for result in results for report in result.reports]

    def exit_code(self):
        lint_errors = any(f.severity == "error" for found in self._findings.values() for f in found)
        return max([int(lint_errors), self._usage.exit_code, *(r.exit_code for r in self._reports())])

    def show_json(self):
        not_traced = [{"file": r.file, "kernel": r.kernel, "parameters": r.parameters}
                      for r in self._reports() if isinstance(r, NotTraced)]
        code = self.exit_code()
        json.dump({"ok": code == 0, "diagnostics": [json.loads(d.to_json()) for d in self._wrong],
                   "lint": [f.as_dict() for found in self._findings.values() for f in found],
                   "programs": [_as_dict(r) for r in self._reports()],
                   "not_traced": not_traced},
                  sys.stdout, indent=2)
        print()
        return code

    def show_text(self):
        _show_errors([*(f.diagnostic() for found in self._findings.values() for f in found), *self._wrong,
                      *self._diagnostics()])
        for path, found in self._findings.items():
            if found:
                errors = sum(f.severity == "error" for f in found)
                print(f"{path}: language: {_plural(errors, 'error')}, {_plural(len(found) - errors, 'warning')}")
        for each in zip(*self._by_chip):
            _show_file(each)
        return self.exit_code()

    def _diagnostics(self):
        """Those of every chip, the same of several chips once."""
        if len(self._by_chip) == 1:
            return [d for report in self._reports() for d in report.diagnostics]
        return _kiln.each_once([[d for result in results for r in result.reports for d in r.diagnostics]
                                for results in self._by_chip])


def _as_dict(report):
    out = {"file": report.file, **report.as_dict()}
    if report.others is not None:
        out["other_targets"] = report.others.as_dict()
    return out


def _show_errors(diagnostics):
    coloured = colour.wanted(sys.stderr)
    for diagnostic in diagnostics:
        print(diagnostic.text(coloured) + "\n", file=sys.stderr)


def _show_file(results):
    """The verdicts on the kernels of a file, results of which are given for each chip."""
    for title in dict.fromkeys(report.name for result in results for report in result.reports):
        _show_kernel([next((r for r in result.reports if r.name == title), None) for result in results])
    for name in dict.fromkeys(name for result in results for name in result.inside):
        print(f"{results[0].path}: {name}: checked where other kernels call it")
    if not any(result.file is None or result.file.all for result in results):
        print(f"{results[0].path}: no kernel")


def _show_kernel(reports):
    """The verdicts on a kernel, for each chip; None where it does not exist."""
    known = [r for r in reports if r is not None]
    if len(reports) == 1 or any(isinstance(r, NotTraced) for r in known):
        print(known[0].summary(), end="")
        if known[0].others is not None:
            print(f"  {known[0].others}")
        return
    print(_kiln.check_side_by_side(known[0].name, [([], 1, 0) if r is None else r.figures() for r in reports]), end="")
