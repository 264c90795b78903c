"""Exceptions of Kiln: a list of diagnostics, shown like a compiler's, at the user's line."""

from kiln import _kiln
from kiln._trace import excerpt


class NkiValidationError(AssertionError):
    """A kernel breaks a rule. ``diagnostics`` holds code, rule, place, what was found, and the remedy."""

    def __init__(self, diagnostics=()):
        if isinstance(diagnostics, str):
            diagnostics = [_kiln.diagnostic("invalid", "nki.R0", "", diagnostics, "")]
        self.diagnostics = list(diagnostics)
        super().__init__(self._text())

    def _text(self):
        return "\n" + "\n\n".join(map(excerpt.text, self.diagnostics)) if self.diagnostics else ""

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


RULES = _kiln.rules()  # that both halves raise, by label; the others stand where they are raised


def refuse(code, rule, found, help, category="invalid", at=None):
    """Raises the exception for a broken rule of the Python layer, at the user's line, or at=(file, line)."""
    if at is not None:
        raise make_error([_kiln.diagnostic_at(category, code, rule, found, help, *at)])
    raise make_error([_kiln.diagnostic(category, code, rule, found, help)])


def not_yet(what, help="docs/status.md lists what is there"):
    """Raises for something that is planned and not built."""
    refuse("nki.R13", "this part of NKI is not built yet", what, help, category="not_yet")

