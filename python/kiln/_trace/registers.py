"""Registers in Python: they have no value while a kernel is traced.

What the vendor's tracer refuses raises TypeError with the rewrite. `while reg:` is the parser's device loop: the first
test opens the loop, the body is traced once, and the second test closes it.
"""

import ast
import functools
import linecache
import sys
import warnings

from kiln._trace import usual_passes, version

_HELP = "a register has no value while the kernel is traced; use nki.isa instructions on registers or tiles"

# What to write instead, by what was asked of the register.
_INSTEAD = {
    "the int": "a loop with a register as its bound is nl.fori_loop(0, register, body); a place that a register names "
               "is t.ap(pattern, scalar_offset=register) or t.select(dim, register)",
    "Python arithmetic": "compute with a (1, 1) int32 tile, nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, "
                         "operand0=1), and nisa.register_load(register, tile); a static part of a place is the "
                         "offset= of t.ap(pattern, offset=4, scalar_offset=register)",
    "truth": "a loop on the device is nl.while_loop(register, body) or nl.fori_loop; where values decide, take both "
             "sides and choose with nisa.select_reduce or nisa.tensor_copy_predicated",
}
_INSTEAD["a comparison"] = _INSTEAD["truth"]


def _no_value(what, more=""):
    error = TypeError(f"{what} of a register: {_HELP}{more}")
    error.help = _INSTEAD.get(what, _INSTEAD["the int"])  # for `kiln check`, which shows it as the remedy
    return error


def _refuse(what):
    def method(self, *args):
        raise _no_value(what)

    return method


@functools.lru_cache(maxsize=64)
def _while_tests(filename):
    """Where while statements and their tests begin: {(line, column)}; also the lines, for Pythons without columns.
    The jump that a while compiles to stands at either, depending on the Python."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return frozenset()
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While)]
    places = [(n.lineno, n.col_offset) for loop in loops for n in (loop, loop.test)]
    return frozenset(places + [(line, None) for line, _ in places])


def _place(frame):
    """Line and column of what the frame executes now."""
    if hasattr(frame.f_code, "co_positions"):
        line, _, column, _ = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        return line, column
    return frame.f_lineno, None


def _truth(register):
    frame = sys._getframe(1)
    place = _place(frame)
    key = (id(frame), place, register.id)
    trace = register.trace
    if not hasattr(trace, "open_whiles"):
        trace.open_whiles = []
    if trace.open_whiles and trace.open_whiles[-1] == key:
        trace.open_whiles.pop()
        trace.close_loop()
        return False
    if place not in _while_tests(frame.f_code.co_filename):
        raise _no_value("truth", "; a loop on the device is nl.while_loop or nl.fori_loop")
    if version.at_least("0.6.0"):
        warnings.warn("`while register:` is deprecated since NKI 0.6.0; use nl.while_loop", DeprecationWarning,
                      stacklevel=2)
    trace.open_while_loop(register)
    usual_passes.said(trace)
    trace.open_whiles.append(key)
    return True


_REFUSED = {
    "__int__": "the int", "__index__": "the int", "__float__": "the float", "__len__": "the length",
    "__iter__": "iteration",
    **{f"__{side}{op}__": "Python arithmetic" for op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or",
                                                         "xor", "lshift", "rshift") for side in ("", "r")},
    **{f"__{op}__": "a comparison" for op in ("lt", "le", "gt", "ge")},
    **{f"__{op}__": "Python arithmetic" for op in ("neg", "invert", "abs")},
}
# Members of VirtualRegister.
MEMBERS = {"__bool__": _truth, **{name: _refuse(what) for name, what in _REFUSED.items()}}
