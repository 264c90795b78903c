"""How programs and diagnostics show themselves: a line in a terminal, their text in a notebook."""

import html

from kiln import _kiln

_LINES = 400  # of a program in a notebook; print() shows all


def as_html(title, text):
    """A text in a notebook, as it is: nothing in it is markup."""
    heading = f"<b>{html.escape(title)}</b>" if title else ""
    return f'{heading}<pre style="line-height:1.25">{html.escape(text)}</pre>'


def _program(program):
    count, tensors = program.instruction_count, len(program.tensors)
    return (f"Program {program.name} for {program.target}: {count} instruction{'' if count == 1 else 's'}, "
            f"{tensors} tensor{'' if tensors == 1 else 's'}")


def program_html(program):
    lines = str(program).splitlines()
    left_out = [f"... {len(lines) - _LINES} more lines: print(program) shows them"] if len(lines) > _LINES else []
    return as_html(_program(program), "\n".join([*lines[:_LINES], *left_out]))


def _diagnostic(diagnostic):
    place = f" at {diagnostic.loc}" if diagnostic.loc.line else ""
    return f"<Diagnostic {diagnostic.severity}[{diagnostic.code}]{place}: {diagnostic.found}>"


# Members of native classes.
MEMBERS = {
    _kiln.Program: {"__repr__": lambda program: f"<{_program(program)}>", "_repr_html_": program_html},
    _kiln.Diagnostic: {"__repr__": _diagnostic, "_repr_html_": lambda d: as_html("", str(d).rstrip())},
    _kiln.SourceLoc: {"__repr__": lambda loc: f"<SourceLoc {loc}>"},
    _kiln.Note: {"__repr__": lambda note: f"<Note {note.text}>"},
}
