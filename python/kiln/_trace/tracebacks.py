"""Tracebacks that show the user's frames: not ours, not those of the modules that run scripts. An error that is found
after the kernel's Python has run gets the frames that issued the instruction."""

import ast
import functools
import importlib
import linecache
import os
import runpy
import types

from kiln import _kiln

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # of which this one is a part
_MACHINERY = (runpy.__file__, "<frozen runpy>", importlib.__file__)


def is_ours(filename):
    """Whether a frame of this file is none of the user's business."""
    return filename.startswith(PACKAGE) or filename in _MACHINERY


def _chain(tb):
    while tb is not None:
        yield tb
        tb = tb.tb_next


def without_our_frames(tb):
    """The traceback with our frames taken out; None when nothing else is in it."""
    out = None
    for t in reversed([t for t in _chain(tb) if not is_ours(t.tb_frame.f_code.co_filename)]):
        out = types.TracebackType(out, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return out


@functools.lru_cache(maxsize=64)
def _functions(file):
    """(first line, last line, name) of the functions of a file, outer ones first."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return tuple((n.lineno, n.end_lineno, n.name) for n in found)


def _function_at(file, line):
    around = [f for f in _functions(file) if f[0] <= line <= f[1]]
    return min(around, key=lambda f: f[1] - f[0])[2] if around else "<module>"


def _entry(file, line, rest):
    """A traceback entry for a line that is not running any more, before the entries of `rest`."""
    return types.TracebackType(rest, _kiln.frame_at(file, _function_at(file, line), line), 0, line)


def of_location(loc):
    """The traceback of the calls that led to a place of a program."""
    out = _entry(loc.file, loc.line, None)
    for call in loc.stack:
        file, _, line = call.rpartition(":")
        out = _entry(file, int(line), out)
    return out


def of_user(error):
    """The exception, marked: it is raised here, and tells of a mistake of the user's."""
    error.is_of_user = True
    return error


def of_caller(error):
    """The traceback for an exception that leaves a function of ours that runs no code of the user: the caller's frames,
    which Python adds."""
    return error.__traceback__ if os.environ.get("KILN_FULL_TRACEBACK") else without_our_frames(error.__traceback__)


def to_show(error):
    """The traceback that the user sees for an exception that leaves a kernel call."""
    from kiln._trace.errors import NkiValidationError

    tb = error.__traceback__
    if os.environ.get("KILN_FULL_TRACEBACK"):
        return tb
    kept = without_our_frames(tb)
    if not isinstance(error, NkiValidationError):
        *_, last = _chain(tb)
        code = last.tb_frame.f_code
        # call_kernel fails when arguments do not fit the kernel
        bug = is_ours(code.co_filename) and code.co_name != "call_kernel" and not hasattr(error, "is_of_user")
        return tb if bug else kept
    loc = error.diagnostics[0].loc if error.diagnostics else None
    if kept is None and loc is not None and loc.line > 0:
        return of_location(loc)
    return kept
