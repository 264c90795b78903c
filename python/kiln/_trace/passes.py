"""In which pass of the user's loops an instruction was issued: i=3, j=77. Loops in Python leave no trace in a program,
so the kernel's Python runs once more, up to the instruction, and the frames are asked."""

import ast
import contextlib
import functools
import io
import linecache
import os
import warnings

from kiln import _kiln
from kiln._trace import env, rules, tracebacks
from kiln._trace.errors import NkiValidationError
from kiln._trace.traced_kernel import TracedKernel

_MOST = 4  # times that a kernel's Python runs again for the diagnostics of one run
_DEVICE_LOOPS = {"fori_loop", "while_loop"}  # functions of ours that call a body of the user's
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_PLAIN = (bool, int, float, str)


class Passes:
    """Of a run of a kernel with arguments."""

    def __init__(self, cores, args, kwargs):
        self._cores, self._args, self._kwargs = cores, args, kwargs
        self._left = _MOST

    def describe(self, core, instruction, device_loops):
        """The pass of an instruction of a core as text; empty when there is nothing to add. device_loops: (name, value,
        whether the value is that of a variable) of the loops of the program, from the outside in."""
        if self._left == 0:
            return ""
        self._left -= 1
        stop = self._stopped_at(core, instruction)
        return "" if stop is None else ", ".join(_in_frames(stop.__traceback__, device_loops))

    def _stopped_at(self, core, instruction):
        """The exception that ends the kernel's Python at an instruction; None when it comes to no such end."""
        traced = self._cores[core]
        quiet = contextlib.redirect_stdout(io.StringIO())
        try:
            with quiet, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                TracedKernel(traced.function, self._args, self._kwargs, env.target(), len(self._cores), core,
                             peer=traced.peer, limit=instruction)
        except NkiValidationError as stop:
            return stop if len(stop.diagnostics) == 1 and stop.code == rules.BOUNDED_SIZE.label else None
        except Exception:
            return None
        return None


def _in_frames(traceback, device_loops):
    """The words of all loops that the frames of a traceback stand in, from the outside in."""
    rest, found, body_of = iter(device_loops), [], None
    while traceback is not None:
        frame = traceback.tb_frame
        code = frame.f_code
        if tracebacks.is_ours(code.co_filename):
            body_of = code.co_name if code.co_name in _DEVICE_LOOPS else body_of
        else:
            if body_of:
                found += _of_body(body_of, code, next(rest, None))
                body_of = None
            found += _of_frame(frame, traceback.tb_lineno, rest)
        traceback = traceback.tb_next
    return found + [_word(*loop) for loop in rest]


def _of_body(loop, code, device_loop):
    if device_loop is None:
        return []
    _, value, is_counted = device_loop
    name = code.co_varnames[0] if code.co_argcount else loop
    return [_word(name if is_counted else loop, value, is_counted)]


def _word(name, value, is_counted):
    return f"{name}={value}" if is_counted else f"pass {value + 1} of {name}"


def _of_frame(frame, line, device_loops):
    """The loops of one frame's function that the line stands in."""
    local = frame.f_locals
    if frame.f_code.co_name in _COMPREHENSIONS:
        return [f"{n}={v!r}" for n, v in local.items() if n.isidentifier() and type(v) in _PLAIN]
    found = []
    for names in _loops_around(frame.f_code.co_filename, line):
        for name in names:
            value = local.get(name)
            if isinstance(value, _kiln.VirtualRegister):
                device_loop = next(device_loops, None)
                found += [] if device_loop is None else [_word(name, *device_loop[1:])]
            elif type(value) in _PLAIN:
                found.append(f"{name}={value!r}")
    return found


@functools.lru_cache(maxsize=16)
def _tree(file, size, time):
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _loops_around(file, line):
    """The names that each loop sets in whose body a line stands, from the outside in: those of the innermost
    function."""
    linecache.checkcache(file)
    about = os.stat(file) if os.path.isfile(file) else None
    node, loops = _tree(file, about and about.st_size, about and about.st_mtime_ns), []
    while node is not None:
        inner = next((n for n in ast.iter_child_nodes(node) if _is_around(n, line)), None)
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            loops = []
        if isinstance(inner, ast.For) and inner.body[0].lineno <= line <= inner.body[-1].end_lineno:
            loops.append([n.id for n in ast.walk(inner.target) if isinstance(n, ast.Name)])
        node = inner
    return loops


def _is_around(node, line):
    return getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or -1)
