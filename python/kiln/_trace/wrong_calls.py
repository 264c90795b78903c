"""Calls of native functions that do not fit: the binding's words for them, as one of our errors."""

import re
import traceback

from kiln._trace import rules, tracebacks
from kiln._trace.errors import NkiValidationError, broken

_BINDING = re.compile(r"(\w+)\(\): incompatible function arguments.*?1\. \w+\((.*?)\) ->", re.S)


class NkiCallError(NkiValidationError, TypeError):
    """A call that does not fit its function; a TypeError, as Python's own are."""

    __module__ = "kiln"  # as the others are shown


def refuse_binding(error):
    """Refuses, at the line of the kernel, what the binding has refused; leaves other errors alone."""
    found = _BINDING.match(str(error)) if isinstance(error, TypeError) else None
    if found is None:
        return
    frames = traceback.extract_tb(tracebacks.without_our_frames(error.__traceback__))
    method = found[2].startswith("self")
    parameters = re.sub(r": [^,=]*", "", found[2].removeprefix("self").removeprefix(", "))
    call = f"{'tensor.' if method else ''}{found[1]}({parameters})"
    at = (frames[-1].filename, frames[-1].lineno) if frames else None
    what = f"a call of `{found[1]}` with other arguments than it takes"
    raise NkiCallError([broken(rules.SIGNATURE, what, at=at, call=call)]) from None
