"""What a command says when a kernel, a function or an option is refused."""

import sys

from kiln import _check
from kiln._trace.errors import NkiValidationError
from kiln.commands import colour


def told(path, error):
    """Prints the diagnostics of an error to stderr; returns the exit code. Classes of users may have none."""
    diagnostics = list(error.diagnostics) or NkiValidationError(f"{type(error).__name__} without a word").diagnostics
    print("\n\n".join(d.text(colour.wanted(sys.stderr)) for d in diagnostics), file=sys.stderr)
    return _check.Report(path, diagnostics).exit_code
