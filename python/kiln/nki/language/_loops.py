"""Ranges, device loops, ids."""

import collections.abc
import contextlib
import warnings

from kiln import _kiln
from kiln._trace import device_print, rules, usual_passes, version
from kiln._trace.errors import refuse
from kiln._trace.traced_kernel import running
from kiln.nki import _older

__all__ = ["affine_range", "ds", "dynamic_range", "fori_loop", "no_reorder", "num_programs", "program_id",
           "program_ndim", "range", "sequential_range", "static_range", "while_loop"]

range = range  # noqa: A001  (kernels write nl.range)


class _Passes(collections.abc.Sequence):
    """The numbers of a range whose passes do not depend on each other. The trace learns where they begin and end."""

    def __init__(self, numbers):
        self._numbers = numbers

    def __iter__(self):
        trace = _kiln.active_trace()
        first = 0 if trace is None else trace.instructions
        yield from self._numbers
        if trace is not None:
            trace.note_loop(first, len(self._numbers))

    def __len__(self):
        return len(self._numbers)

    def __getitem__(self, index):
        return self._numbers[index]

    def __eq__(self, other):
        return self._numbers == (other._numbers if isinstance(other, _Passes) else other)

    __hash__ = None

    def __repr__(self):
        return repr(self._numbers)


def affine_range(start, stop=None, step=1):
    """range, for loops whose passes do not depend on each other."""
    return _Passes(range(start) if stop is None else range(start, stop, step))


def sequential_range(start, stop=None, step=1):
    """range, under its old name."""
    return range(start) if stop is None else range(start, stop, step)


def static_range(start, stop=None, step=1):
    """range, under its old name."""
    return sequential_range(start, stop, step)


def ds(start, size):
    """The slice start : start + size."""
    if isinstance(start, (_kiln.VirtualRegister, _kiln.NkiTensor)):
        if not version.at_least("0.4.0"):
            _older.no_loop_variable(start)
        return _kiln.DynamicSlice(start, size)
    return slice(start, start + size)


def _trace(what):
    trace = _kiln.active_trace()
    if trace is None:
        refuse(rules.INSIDE_KERNEL, f"`{what}` called outside a kernel")
    return trace


def _open_loop(trace, lower, upper, step):
    if trace.in_no_reorder:
        refuse(rules.LOOP_IN_NO_REORDER, "a device loop in a no_reorder block")
    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        refuse(rules.LOOP_STEP, f"step {step!r}")
    register = trace.open_fori_loop(lower, upper, step)
    usual_passes.said(trace, depth=2)
    return register


def _close_loop(trace):
    trace.close_loop()
    device_print.show_pending(running("a device loop"))


def dynamic_range(start, stop=None, step=1):
    """A loop on the device: for i in nl.dynamic_range(n). The body is traced once; i is a register."""
    trace = _trace("nl.dynamic_range")
    if version.at_least("0.6.0"):
        warnings.warn("nl.dynamic_range is deprecated since NKI 0.6.0; use nl.fori_loop", DeprecationWarning,
                      stacklevel=2)
    lower, upper = (0, start) if stop is None else (start, stop)
    depth = trace.open_loops
    register = _open_loop(trace, lower, upper, step)
    yield register  # a break or return leaves the loop open, which the end of the enclosing one reports
    if trace.open_loops != depth + 1:
        refuse(rules.LOOP_RUNS_TO_ITS_END, "a loop inside it is still open", "end the inner loop first")
    _close_loop(trace)


def fori_loop(lower, upper, body_fun, step=1):
    """A loop on the device: body_fun(i) is traced once, with i a register. Writing i does not change the loop."""
    trace = _trace("nl.fori_loop")
    register = _open_loop(trace, lower, upper, step)
    register.thaw()  # a write changes the body's copy
    result = body_fun(register)
    _close_loop(trace)
    if result is not None:
        refuse(rules.FORI_BODY, f"it returns a {type(result).__name__}")


def while_loop(init, body_fun):
    """A loop on the device that goes on while a register is not 0; body_fun returns the next condition."""
    trace = _trace("nl.while_loop")
    if not isinstance(init, _kiln.VirtualRegister):
        refuse(rules.WHILE_CONDITION, f"a {type(init).__name__}")
    if trace.in_no_reorder:
        refuse(rules.LOOP_IN_NO_REORDER, "a device loop in a no_reorder block")
    from kiln.nki import isa

    condition = isa.register_alloc()
    isa.register_move(condition, init)
    trace.open_while_loop(condition)
    usual_passes.said(trace)
    following = body_fun(condition) if _takes_argument(body_fun) else body_fun()
    if not isinstance(following, _kiln.VirtualRegister):
        refuse(rules.WHILE_BODY, f"it returns a {type(following).__name__}")
    isa.register_move(condition, following)
    _close_loop(trace)


def _takes_argument(function):
    code = getattr(function, "__code__", None)
    return code is None or code.co_argcount - (getattr(function, "__self__", None) is not None) > 0


@contextlib.contextmanager
def no_reorder():
    """Instructions issued inside keep their order."""
    trace = _trace("nl.no_reorder")
    trace.enter_no_reorder()
    try:
        yield
    finally:
        trace.leave_no_reorder()


def _axis(axis):
    if axis not in (0, [0], (0,)):
        refuse(rules.GRID_AXIS, f"axis {axis}")


def program_id(axis=0):
    """The number of this core in its logical core; 0 without a grid."""
    _axis(axis)
    return _trace("nl.program_id").program_id


def num_programs(axes=0):
    """The number of cores that run the kernel."""
    _axis(axes)
    return _trace("nl.num_programs").lnc


def program_ndim():
    """1 with a launch grid, also one of one core, else 0."""
    return 1 if running("nl.program_ndim").has_grid else 0
