"""What runs and is worth a word: warnings at the user's line, by default once per line and process."""

import warnings

from kiln import _kiln
from kiln._trace import rules


class NkiWarning(UserWarning):
    """Something that runs, and that the manual advises against or leaves open."""


_shown = {}  # by file: what Python's filters remember


def warn_at(loc, text):
    """Warns of `text` at a place in the user's source; Python's filters decide whether it is shown again."""
    file = loc.file or "<kernel>"
    warnings.warn_explicit(text, NkiWarning, file, max(loc.line, 1), registry=_shown.setdefault(file, {}))


def warn_of_rule(loc, rule, found, help=""):
    """Warns of a rule of the Python layer, in the words of a diagnostic."""
    said = _kiln.diagnostic(rule.category, rule.label, rule.text, found, help or rule.help, file="", severity="warning")
    warn_at(loc, str(said))  # Python shows the place


def warn_not_portable(found, help):
    """Warns at the user's line about something that runs here and that the device's compiler refuses."""
    warn_of_rule(_kiln.current_location(), rules.PORTABLE, found, help)
