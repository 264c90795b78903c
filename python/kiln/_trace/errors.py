"""Exceptions of Kiln: a list of diagnostics, shown like a compiler's, at the user's line."""

from kiln import _kiln
from kiln._trace import rules


class NkiValidationError(AssertionError):
    """A kernel breaks a rule. ``diagnostics`` holds code, rule, place, what was found, and the remedy."""

    def __init__(self, diagnostics=()):
        if isinstance(diagnostics, str) or not diagnostics:
            diagnostics = diagnostics or "an exception that says nothing"
            diagnostics = [_kiln.diagnostic("invalid", rules.ONLY_TEXT.label, "", diagnostics, "")]
        self.diagnostics = list(diagnostics)
        super().__init__(self._text())

    def _text(self):
        return "\n\n".join(map(str, self.diagnostics))

    @property
    def code(self):
        """The label of the first rule that is broken, e.g. ``nc_matmul.R3``."""
        return self.diagnostics[0].code if self.diagnostics else None

    def __reduce__(self):
        return (NkiValidationError, (str(self),))


class NkiUndefinedError(NkiValidationError):
    """The manual promises nothing about what the kernel does."""


class NkiNotYetError(NkiValidationError, NotImplementedError):
    """Part of NKI that Kiln does not have yet."""


class NkiConfigError(NkiValidationError, ValueError):
    """Options, environment or arrays that do not fit the kernel."""


for _class in (NkiValidationError, NkiUndefinedError, NkiNotYetError, NkiConfigError):
    _class.__module__ = "kiln"  # where users find them

_CLASSES = {"undefined": NkiUndefinedError, "not_yet": NkiNotYetError, "config": NkiConfigError}


def make_error(diagnostics):
    """The exception for diagnostics of the native half."""
    return _CLASSES.get(diagnostics[0].category, NkiValidationError)(diagnostics)


def broken(rule, found, help="", at=None, **words):
    """The diagnostic of a broken rule of the Python layer, at the user's line, or at=(file, line). The rule's own
    remedy is filled with words, unless the case has another."""
    place = {} if at is None else {"file": at[0], "line": at[1]}
    return _kiln.diagnostic(rule.category, rule.label, rule.text, found, help or rule.help.format(**words), **place)


def refuse(rule, found, help="", at=None, **words):
    """Raises the exception for a broken rule of the Python layer."""
    raise make_error([broken(rule, found, help, at, **words)])


def not_yet(what, help=""):
    """Raises for something that is planned and not built."""
    refuse(rules.NOT_BUILT, what, help)
