"""A function as it is traced: the tensor program that its NumPy calls become, and the lines that they come from."""

import math
import os
import sys
import sysconfig
import threading

import numpy as np

from kiln import _kiln
from kiln._trace import tracebacks
from kiln._trace.errors import NkiValidationError
from kiln.numpy import _dtypes

_OTHERS = (os.path.dirname(os.path.abspath(np.__file__)) + os.sep, os.path.join(sysconfig.get_path("stdlib"), ""),
           tracebacks.PACKAGE, "<__array_function__", "<frozen", os.path.join(sysconfig.get_path("scripts"), "kiln"))
_local = threading.local()
_is_users = {}  # file -> whether its lines are the user's
CODES = _kiln.tensor_op_codes()


def active():
    """The Trace of this thread; None outside of tracing."""
    return getattr(_local, "trace", None)


_boundary = []  # the code that calls a function to trace it: what stands outside is not of that function


def is_users(file):
    """Whether a file is neither ours nor NumPy's nor of Python's own library."""
    users = _is_users.get(file)
    if users is None:
        users = _is_users[file] = not file.startswith(_OTHERS)
    return users


def user_frame():
    """The innermost frame of the user's; None where the function that is traced has no frame, before and after it."""
    frame, known = sys._getframe(1), _is_users.get
    while frame is not None:
        code = frame.f_code
        users = known(code.co_filename)
        if users or (users is None and is_users(code.co_filename)):
            return frame
        if code in _boundary and active() is not None and active().place is not None:
            return None
        frame = frame.f_back
    return None


def user_place():
    frame = user_frame()
    if frame is not None:
        return frame.f_code.co_filename, frame.f_lineno
    return ("", 0) if active() is None or active().place is None else active().place


def traces(function):
    """Decorator: of the code that calls a function to trace it."""
    _boundary.append(function.__code__)
    return function


class Trace:
    """A tensor program that grows."""

    def __init__(self, name):
        self.graph = _kiln.TensorGraph(name)
        self._file, self._line = "", 0
        self._constants = {}  # (dtype, shape, bytes) -> Node
        self.single = {}  # value of a constant with one element -> the element
        self.uniform = {}  # value of a constant with many equal elements -> the element
        self._numbers = {}  # (type, Python number, dtype) -> Node
        self.quotients = {}  # value of a quotient in float32 -> (dividend, divisor)
        self.limits = {}  # value -> what it is known to lie between
        self.doubts = None  # [(node: whether a sum needs more than 32 bits, what it is, (file, line))] where one asks
        self.names = set()
        self.last_input = ""

        self.around = active()  # of which this one is a body
        self.place = self.around.place if self.around else None  # (file, line) of the user's function that is traced
        self.target = self.around.target if self.around else None  # that the program is for, set by who asks for it
        self.ranks = self.around.ranks if self.around else None  # how many run it; None: it is on no ranks

    def __enter__(self):
        _local.trace = self
        return self

    def __exit__(self, *_):
        _local.trace = self.around

    def is_inside(self, other):
        """Whether this is the other one, or a body of it."""
        trace = self
        while trace is not None and trace is not other:
            trace = trace.around
        return trace is not None

    def own(self, node):
        """The node, or what stands for it in this body."""
        return node if node.trace is self else self.capture(node)

    def capture(self, node):
        """A whole function reads nothing from elsewhere."""
        from kiln.numpy._rules import ARGUMENT, refuse

        refuse(ARGUMENT, "a value of another traced function, or of the body of a loop", "return it from there",
               kind=ValueError)

    def at_user_line(self):
        frame = user_frame()
        if frame is None:
            return
        file, line = frame.f_code.co_filename, frame.f_lineno
        if line != self._line or file != self._file:
            self._file, self._line = file, line
            self.graph.at(file, line)

    def unique(self, name):
        """The name, or one like it that no input or output has yet."""
        made, i = name, 0
        while made in self.names:
            i += 1
            made = f"{name}_{i}"
        self.names.add(made)
        return made

    def input(self, name, dtype, shape):
        self.last_input = self.unique(name)
        value = self.graph.input(self.last_input, _dtypes.NAME[dtype], list(shape))
        return Node(value, dtype, tuple(shape), self)

    def constant(self, array):
        """A constant with the elements of an array of the chip's dtypes."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        data = array.tobytes()
        key = array.dtype, array.shape, data
        if key not in self._constants:
            value, _, shape = self.graph.constant_of_bytes(_dtypes.NAME[array.dtype], list(array.shape), data)
            self._constants[key] = Node(value, array.dtype, shape, self)
            if array.size == 1:
                self.single[value] = array.reshape(-1)[0]
            elif array.size and data == data[:array.itemsize] * array.size:
                self.uniform[value] = array.reshape(-1)[0]
        return self._constants[key]

    def ramp(self, shape, axis):
        """The index along an axis, in float32."""
        return Node(self.graph.iota("float32", list(shape), axis), _dtypes.FLOAT32, tuple(shape), self)

    def number(self, x, dtype):
        """A Python number as a constant of a dtype."""
        key = type(x), x if x == x and x != 0 else repr(x), dtype
        if key not in self._numbers:
            with np.errstate(all="ignore"):
                self._numbers[key] = self.constant(np.array(x).astype(dtype))
        return self._numbers[key]

    def push(self, op, nodes, *attributes):
        self.at_user_line()
        values = tuple([n.value if n.trace is self else self.capture(n).value for n in nodes])
        try:
            value, dtype, shape = self.graph.push(CODES[op], values, *attributes)
        except NkiValidationError as error:  # a ValueError, too, as in NumPy
            from kiln.numpy._rules import as_value_error

            raise as_value_error(error) from None
        return Node(value, _dtypes.BY_CODE[dtype], shape, self)


class Node:
    """A value of the program, that never changes."""

    __slots__ = ("dtype", "shape", "trace", "value")

    def __init__(self, value, dtype, shape, trace):
        self.value, self.dtype, self.shape, self.trace = value, dtype, shape, trace

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)
