"""Any bytes steer calls of nki.isa, nki.language and methods of tensors inside a kernel, with right and wrong
arguments. A call returns or raises an error of Kiln that says code, rule and what was found; so does the check of what
the kernel has issued then, and its run. Functions that are written in Python may raise errors of Python, too, when an
argument is of another type."""

import contextlib
import io
import json
import os
import warnings

import ml_dtypes
import numpy as np

import harness
import kiln
from choices import Choices
from kiln import _kiln, nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl
from random_values import FUNCTIONS, METHODS, OPERATORS, Evil, Values

os.environ.update(KILN_MAX_ITERATIONS="1000", KILN_MAX_INSTRUCTIONS="10000", KILN_THREADS="2")
warnings.simplefilter("ignore")

CALLS = 12
PYTHONS = (AttributeError, TypeError, ValueError)  # what functions that are written in Python may raise
ISA = list(_kiln.isa_functions.values())
ARRAYS = (np.ones((128, 64), np.float32), np.ones((64, 128), ml_dtypes.bfloat16), np.ones((128, 8), np.int32))


def judge(error, strict=True):
    """Raises the error when it is none that a user should see; if strict, errors of Python are none either."""
    if isinstance(error, Evil):
        return
    if isinstance(error, kiln.NkiValidationError):
        for d in error.diagnostics:
            assert d.category != "internal" and d.code and d.rule and d.severity in ("error", "warning"), str(error)
            json.loads(d.to_json())
        assert error.diagnostics and str(error)
    elif strict or not isinstance(error, PYTHONS) or isinstance(error, UnicodeError):
        raise error


class RandomKernel:
    def __init__(self, choices):
        self.c = choices
        self.wild = not choices.chance(3)
        self.failure = None  # what a call must not raise

    def __call__(self, *inputs):
        values = Values(self.c, self.wild)
        values.tensors += inputs
        for memory in (nl.sbuf, nl.sbuf, nl.psum):
            values.tensors.append(nl.ndarray((128, 64), dtype=self.c.any((nl.float32, nl.bfloat16)), buffer=memory))
        values.registers.append(nisa.register_alloc(1))
        for _ in range(CALLS):
            function, arguments = self.choose(values)
            try:
                self.remember(function(*arguments[0], **arguments[1]), values)
            except Exception as error:
                try:
                    judge(error, strict=function in ISA)
                except Exception as failure:
                    self.failure = failure
                    return None
        return values.tensors[0]

    def choose(self, values):
        """A function, and the arguments to call it with by position and by name."""
        kind = self.c.below(6)
        if kind == 0:
            name, parameters = self.c.any(METHODS)
            return getattr(values.tensor(), name), values.arguments(parameters)
        if kind == 1 and self.wild:
            function = getattr(values.tensor(), self.c.any(OPERATORS))
            return function, ([values.value("", None) for _ in range(self.c.below(3))], {})
        function, parameters = self.c.any(FUNCTIONS)
        return function, values.arguments(parameters)

    def remember(self, result, values):
        repr(result)
        if type(result) is type(values.tensors[0]):
            values.tensors.append(result)
        elif isinstance(result, nisa.VirtualRegister):
            values.registers.append(result)


def test_one_input(data):
    choices = Choices(data)
    kernel = RandomKernel(choices)

    def fuzzed(x, y, z):
        return kernel(x, y, z)

    with contextlib.redirect_stdout(io.StringIO()):
        report = kiln.check(fuzzed, *ARRAYS)
        if kernel.failure is None:
            json.dumps(report.as_dict())
            str(report)
            assert report.exit_code < 3, str(report)
        if kernel.failure is None and report.ok and not kernel.wild:
            kernel.c = Choices(data)
            kernel.c.chance(3)
            try:
                nki.simulate(fuzzed)(*(array.copy() for array in ARRAYS))
            except Exception as error:
                judge(error)
    if kernel.failure is not None:
        raise kernel.failure


if __name__ == "__main__":
    harness.main(test_one_input)
