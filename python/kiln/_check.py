"""kiln.check: whether a kernel is legal, from shapes alone."""

import json
import traceback

from kiln import _kiln
from kiln._program import plain
from kiln._trace import divergence, env, rules, shown, simulate, tracebacks
from kiln._trace.errors import NkiValidationError, broken
from kiln._trace.specs import from_annotations, of_value

# Exit codes as for text programs; every other category is 1.
_EXIT = {"internal": 3, "config": 2, "not_yet": 2}


class Report:
    """What a check found: `diagnostics`, and whether there is no error among them. True when the kernel is legal."""

    def __init__(self, name, diagnostics, programs=(), reports=()):
        self.name, self.diagnostics = name, list(diagnostics)
        self.programs, self._reports = list(programs), list(reports)
        self.inner = set()  # code objects of kernels that this one called

    @property
    def errors(self):
        return [d for d in self.diagnostics if d.severity == "error"]

    @property
    def ok(self):
        return not self.errors

    @property
    def exit_code(self):
        return max((_EXIT.get(d.category, 1) for d in self.errors), default=0)

    def __bool__(self):
        return self.ok

    def __str__(self):
        return "".join(f"{d}\n\n" for d in self.diagnostics) + self.summary()

    __repr__ = __str__

    def _repr_html_(self):
        return shown.as_html("", str(self))

    def summary(self):
        """The verdict and, for a legal kernel, what it uses."""
        return _kiln.check_summary(self.name, *self.figures())

    def figures(self):
        """What summaries are made of: programs with their native reports, how many errors and how many warnings."""
        errors = len(self.errors)
        return list(zip(self.programs, self._reports)), errors, len(self.diagnostics) - errors

    def as_dict(self):
        """The report as JSON has it."""
        out = {"kernel": self.name, "ok": self.ok}
        if self.programs:
            out["target"] = self.programs[0].target
        if self.ok and self._reports:
            out["memory"] = [{m: getattr(r, m) for m in ("sbuf", "psum")} for r in self._reports]
            out["instructions"] = [p.instructions_by_engine for p in self.programs]
        out["diagnostics"] = [json.loads(d.to_json()) for d in self.diagnostics]
        return out


def _plural(n, word):
    return f"{n} {word}{'' if n == 1 else 's'}"


# What an exception of Python's own usually means in a kernel.
_USUALLY = {
    AssertionError: "the kernel asks for it itself: look at what it says of its arguments, and at --arg or the call",
    NameError: "Python does not know the name at this line: is it misspelt, or made in another function or branch?",
}


def stopped(error, rule=rules.PYTHON_RUNS):
    """The diagnostic for Python of the user that ends with an exception of its own, or with one that has its remedy as
    `help`."""
    frames = traceback.extract_tb(tracebacks.without_our_frames(error.__traceback__))
    place = (frames[-1].filename, frames[-1].lineno) if frames else ("", 0)
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    usual = next((help for kind, help in _USUALLY.items() if isinstance(error, kind)), "")
    return broken(rule, text, getattr(error, "help", "") or usual, at=place)


def check(kernel, *specs, strict_order=False, **named):
    """Checks a kernel without values. Arguments are shapes ("float32[128,512]", kiln.Spec, arrays) and plain values;
    parameters annotated with nt.tensor[...] may be left out. Returns a Report. strict_order: a kernel that fits into
    SBUF and PSUM only when the vendor's compiler reorders instructions is refused, and not only warned of."""
    return check_call(kernel, specs, named, strict_order)


def check_call(kernel, specs, named, strict_order=False):
    """The same with the kernel's arguments apart from ours."""
    function, lnc = plain(kernel)
    name = getattr(function, "__name__", "kernel")
    given = {k: of_value(v) for k, v in named.items()}
    code = getattr(function, "__code__", None)
    positional = code.co_varnames[:len(specs)] if code else ()
    for parameter, spec in from_annotations(function).items():
        if parameter not in positional:
            given.setdefault(parameter, spec)
    args = [of_value(s) for s in specs]
    try:
        cores = simulate.trace_cores(function, lnc, args, given, getattr(kernel, "schedule", ()))
        programs = [core.program() for core in cores]
        simulate.require_effect(cores, programs)
        divergence.require_same(function, cores, programs)
        reports = [program.check(env.reserved_psum_banks(), strict_order, True) for program in programs]
    except NkiValidationError as error:
        return Report(name, error.diagnostics)
    except (Exception, SystemExit) as error:
        return Report(name, [stopped(error)])
    diagnostics = [d for r in reports for d in r.diagnostics] + _kiln.check_launch(programs)
    found = Report(name, diagnostics, programs, reports)
    found.inner = {code for core in cores for code in core.inner}
    return found
