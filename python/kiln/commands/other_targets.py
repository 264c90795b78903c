"""Whether a kernel that is legal on the default target is legal on the others too: told where no target was chosen."""

import contextlib
import io
import warnings

from kiln import _check, _kiln
from kiln._trace import env
from kiln.commands import target

_CHEAP = 20_000  # instructions: longer programs are not traced again unasked


def place_of(diagnostic):
    """The label of a diagnostic, and its line."""
    loc = diagnostic.loc
    return f"{diagnostic.code} at {loc.file}:{loc.line}" if loc.line > 0 else diagnostic.code


class OtherTargets:
    """What tracing a call again says: `verdicts` (chip -> the first error, or None), or `reason` why nobody asked."""

    def __init__(self, verdicts=None, reason=""):
        self.verdicts, self.reason = verdicts or {}, reason

    def __str__(self):
        legal = [chip for chip, error in self.verdicts.items() if error is None]
        said = [f"also legal on {' and '.join(legal)}"] if legal else []
        said += [f"not legal on {chip}: {place_of(error)}" for chip, error in self.verdicts.items() if error]
        if self.reason:
            said = [f"the others are not asked, {self.reason}: --target {target.ALL} asks"]
        return f"{env.DEFAULT_TARGET} is the default target; {'; '.join(said)}"

    def as_dict(self):
        return {chip: {"ok": error is None, **({"code": error.code} if error else {})}
                for chip, error in self.verdicts.items()}


def of_programs(programs):
    """chip -> the first error of these programs on it, or None; {} for long ones."""
    verdicts = {}
    for chip in target.others() if _is_cheap(programs) else []:
        with target.chosen(chip):
            reports = [p.for_chip(_kiln.chips[chip]).check(env.reserved_psum_banks()) for p in programs]
        found = [d for report in reports for d in report.diagnostics if d.severity == "error"]
        verdicts[chip] = found[0] if found else None
    return verdicts


def _is_cheap(programs):
    return sum(program.instruction_count for program in programs) <= _CHEAP


def ask(file, call, programs):
    """The OtherTargets of a call of a kernel of this file that gave legal programs; None when a target was chosen."""
    if env.is_target_chosen():
        return None
    if file.asks_for_chip:
        return OtherTargets(reason="as the file asks for the chip while it is imported")
    if not _is_cheap(programs):
        return OtherTargets(reason=f"as there are more than {_CHEAP} instructions")
    verdicts = {}
    for chip in target.others():
        with target.chosen(chip), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = _check.check(call.kernel, *call.args, **call.kwargs)
        verdicts[chip] = report.errors[0] if report.errors else None
    return OtherTargets(verdicts)
