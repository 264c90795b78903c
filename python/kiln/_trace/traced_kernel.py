"""One traced run of a kernel's Python: the Program it issues, its arguments and what it returns."""

import copy
import hashlib
import threading

import numpy as np

from kiln import _kiln
from kiln._trace import argument_kinds, arrays, env, lines, memory, rules, specs, unrolled, version, views, wrong_calls
from kiln._trace.errors import NkiValidationError, refuse
from kiln._trace.nki_object import NKIObject

NkiTensor = _kiln.NkiTensor


def call_kernel(function, args, kwargs):
    """Where the user's stack begins."""
    return function(*args, **kwargs)


_explain = None  # adds to one of Python's own errors what it means for a kernel
_this_thread = threading.local()  # .running: the TracedKernel whose Python runs


def explain_errors_with(function):
    """Sets the function that gets Python's own errors in a kernel, and (name, value) of the kernel's arguments."""
    global _explain
    _explain = function


def running_or_none():
    """The kernel that is being traced on this thread, or None."""
    return getattr(_this_thread, "running", None)


def running(what):
    """The kernel that is being traced; refuses when there is none."""
    kernel = running_or_none()
    if kernel is None:
        refuse(rules.INSIDE_KERNEL, f"`{what}` called outside a kernel")
    return kernel


def note_inner(function):
    """Remembers that the kernel which is traced calls another one."""
    kernel = running_or_none()
    if kernel is not None:
        kernel.inner.add(getattr(function, "__code__", None))


class Grid(int):
    """The n of kernel[n]: a launch grid, of one core as well."""


class TracedKernel:
    """A kernel that ran once with arguments: `function`, `trace`, `arguments` (name -> Argument), `result` (its return
    value) and `peer`, the core of the pair that ran before."""

    def __init__(self, function, args, kwargs, target, lnc=1, program_id=0, schedule=(), peer=None, limit=None):
        self.function, self.peer = function, peer
        name = getattr(function, "__name__", "kernel")
        self.trace = _kiln.Trace(name, target, lnc, program_id, env.max_instructions() if limit is None else limit)
        self.trace.nki = version.minor()
        self.arguments = {}
        self.has_grid = lnc > 1 or isinstance(lnc, Grid)
        self.names = set()  # that the kernel gave to tensors itself
        self.ones = {}  # dtype -> a row of ones in SBUF, of nl.broadcast_to
        self.inner = set()  # code objects of the kernels that it called
        self.prints = []  # of nl.device_print, that wait for their values
        self._constants = {}
        self._constant_calls = {}  # place -> names of the constants that were made there
        self._objects = {}  # id of an NKIObject of the caller -> the kernel's copy
        self._buffer = memory.shared_hbm if lnc > 1 else memory.hbm
        outer, outer_kernel = _kiln.active_trace(), running_or_none()
        _kiln.activate(self.trace)
        _this_thread.running = self
        try:
            names = _parameter_names(function, len(args))
            if program_id == 0:
                for name, value in [*zip(names, args), *kwargs.items()]:
                    argument_kinds.check(function, name, value)
            args = [self._convert(value, name) for value, name in zip(args, names)]
            kwargs = {name: self._convert(value, name) for name, value in kwargs.items()}
            try:
                self.result = call_kernel(function, args, kwargs)
            except MemoryError as error:
                self._out_of_memory(error)
            except NkiValidationError as error:
                if limit is None:  # else it was to stop there
                    self._name_loops(error)
                raise
            except (TypeError, AttributeError, NameError) as error:
                wrong_calls.refuse_binding(error)
                if _explain is not None:
                    _explain(error, [*zip(names, args), *kwargs.items()])
                raise
            if self.trace.open_loops:
                refuse(rules.LOOP_RUNS_TO_ITS_END, "break or return inside a device loop",
                       at=lines.of_exit(function))
            for consumer, producers in schedule:
                self.trace.schedule(consumer, producers)
        finally:
            _kiln.activate(outer)
            _this_thread.running = outer_kernel
        self.outputs = [t for t in leaves(self.result) if isinstance(t, NkiTensor)]
        self._check_outputs()

    def _out_of_memory(self, error):
        """Says which loop unrolled to so much; an array of the user's that is too large speaks for itself."""
        if type(error) is not MemoryError:
            raise error
        found = f"no memory is left for more than {self.trace.instructions} instructions"
        raise unrolled.too_many(self.trace, found, "") from None

    def _name_loops(self, error):
        """Raises the error of too many instructions with the loops that made them."""
        if error.code == rules.BOUNDED_SIZE.label:
            first = error.diagnostics[0]
            raise unrolled.too_many(self.trace, first.found, first.help) from None

    def _convert(self, value, name):
        """An argument as the kernel sees it: arrays and shapes become tensors in HBM, also those in containers and
        objects."""
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            return type(value)(self._convert(v, f"{name}_{i}") for i, v in enumerate(value))
        if isinstance(value, dict) and type(value) is dict:
            return {k: self._convert(v, f"{name}_{k}") for k, v in value.items()}
        if isinstance(value, NKIObject):
            return self._convert_object(value, name)
        if isinstance(value, specs.Spec):
            return self._add(specs.Valueless(value, name), name)
        if not arrays.is_array(value):
            return value
        for argument, tensor in self.arguments.values():
            if argument.value is value:
                return tensor
        return self._add(arrays.Argument(value, name), name)

    def _add(self, argument, name):
        tensor = _kiln.new_tensor(argument.shape, argument.dtype, self._buffer, name, None, "inout")
        self.arguments[tensor.name] = (argument, tensor)
        return tensor

    def _convert_object(self, value, name):
        """An NKIObject is seen as a copy: what the kernel changes in it, neither the caller nor the other core sees."""
        if id(value) not in self._objects:
            seen = self._objects[id(value)] = copy.copy(value)
            for field, content in vars(value).items():
                object.__setattr__(seen, field, self._convert(content, f"{name}_{field}"))
        return self._objects[id(value)]

    def constant(self, array):
        """A tensor in shared HBM with the array's content; equal constants are one tensor, on all cores."""
        array = np.array(array, order="C")
        key = hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).hexdigest()[:16]
        if key not in self._constants:
            argument = arrays.Argument(array)
            tensor = _kiln.new_tensor(array.shape, argument.dtype, memory.shared_hbm, f"constant_{key}", None, "inout")
            self.arguments[tensor.name] = (argument, tensor)
            self._constants[key] = tensor
        return self._constants[key]

    @property
    def constants(self):
        """The tensors of nl.shared_constant."""
        return list(self._constants.values())

    def note_constant(self, tensor):
        """Remembers that a call made this constant; the name of the one that the other core's call made, or None."""
        loc = _kiln.current_location()
        place = (loc.file, loc.line, *loc.stack)
        names = self._constant_calls.setdefault(place, [])
        names.append(tensor.name)
        theirs = self.peer._constant_calls.get(place, []) if self.peer else []
        return theirs[len(names) - 1] if len(names) <= len(theirs) else None

    def is_argument(self, tensor):
        return tensor.name in self.arguments

    def _check_constants(self, program):
        names = {t.name for t in self._constants.values()}
        for tensor in program.tensors if names else ():
            if tensor["name"] in names and tensor["role"] != "input":
                loc = program.first_write(tensor["name"])
                refuse(rules.READ_ONLY_CONSTANT, f"the kernel writes `{tensor['name']}`", at=(loc.file, loc.line))

    def _check_outputs(self):
        for tensor in self.outputs:
            self._check_output(tensor)

    def _check_output(self, tensor):
        def wrong(found, help):
            refuse(rules.SHARED_OUTPUTS, found, help, at=lines.of_return(self.function, tensor.name))

        if tensor.trace is not self.trace and tensor.trace != self.trace:
            refuse(rules.OWN_TENSORS, "a returned tensor of another run",
                   at=lines.of_return(self.function, tensor.name))
        if memory.is_on_chip(tensor.buffer):
            wrong(f"`{tensor.name}` is returned from {tensor.buffer.name}",
                  "copy it with nisa.dma_copy into nl.ndarray(..., buffer=nl.shared_hbm) and return that")
        if tensor.buffer is memory.private_hbm and not self.is_argument(tensor):
            wrong(f"`{tensor.name}` is returned from nl.hbm",
                  "allocate it with buffer=nl.shared_hbm: since NKI 0.3.0 nl.hbm is private to one core")
        if views.is_indirect(tensor):
            wrong("a view with a run-time address is returned", "return the tensor itself")

    def program(self):
        """The Program with its inputs and outputs drawn."""
        try:
            program = _kiln.finish(self.trace, [t.tensor_id for t in self.outputs])
        except MemoryError as error:
            self._out_of_memory(error)
        self._check_constants(program)
        return program


def leaves(value):
    """The values inside nested tuples, lists and dicts, in order."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def _parameter_names(function, count):
    code = getattr(function, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code else []
    if getattr(function, "__self__", None) is not None:
        names = names[1:]
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]
