"""`kiln time kernel.py`: traces kernels for the native command."""

import contextlib
import json
import os
import sys
from unittest import mock

from kiln import _native
from kiln._trace import env
from kiln._trace.errors import NkiValidationError
from kiln.commands import kernel_file, other_targets, refusal, target
from kiln.commands.named_function import nki_kernel
from kiln.commands.options import Options


class _Tracer:
    """Whom the native command asks for the programs of a file."""

    def __init__(self, options):
        self._options, self._kernels = options, []  # (name, function) of the files so far

    def trace(self, path, compared, chip):
        """(programs, title, reserved PSUM banks, note) of the kernel in a file, for a chip ("": as the environment
        says)."""
        named = nki_kernel(path)
        path = named[0] if named else path
        if not path.endswith(".py"):
            return self._numpy_function(path, chip)
        kernel = named[1] if named else self._options.compare_kernel if compared else None
        with contextlib.ExitStack() as stack:
            stack.enter_context(target.chosen(chip))
            if self._options.ranks:  # what kiln.ranks() tells the file
                stack.enter_context(mock.patch.dict(os.environ, KILN_RANKS=self._options.ranks))
            if self._options.json:  # what users' code prints is no part of it
                stack.enter_context(contextlib.redirect_stdout(sys.stderr))
            file = stack.enter_context(kernel_file.opened(path, kernel or self._options.kernel))
            if compared and not kernel and not file.kernels:
                file.kernels = file.all  # --kernel is that of the other file
            call = self._call(file, compared)
            programs = [core.program() for core in call.trace()]
            title = f"{path}: {call.name}" if named or [self._options.compare] == self._options.files else path
            return programs, title, env.reserved_psum_banks(), str(other_targets.ask(file, call, programs) or "")

    def _numpy_function(self, path, chip):
        from kiln.commands import numpy_function

        with target.chosen(chip), contextlib.redirect_stdout(sys.stderr):
            return numpy_function.lowered(path, self._options).programs, path, env.reserved_psum_banks(), ""

    def _call(self, file, compared):
        """The one call that is to be timed."""
        kernel_file.require_kernels([file], self._options.kernel)
        self._kernels += file.functions().items()
        another = not compared and (self._options.compare or "").endswith(".py")  # may have the other parameters
        return file.one_call(self._options, self._kernels, another)


def _times_sequence(options):
    """`kiln time file.py:function` of a kiln.numpy.sequence, or of a function that is several kernels: prints the
    timeline. False for anything else."""
    from kiln.commands import numpy_function
    from kiln.numpy._sequence import Sequence

    with target.chosen(options.target), contextlib.redirect_stdout(sys.stderr), \
            numpy_function.opened(options.files[0], options) as (jitted, given):
        timing = jitted.time(**given) if isinstance(jitted, Sequence) else None
    if timing is None:
        with contextlib.redirect_stdout(sys.stderr):
            lowered = numpy_function.lowered(options.files[0], options)
        if lowered.is_one_kernel:
            return False
        timing = lowered.time()
    sys.stdout.write(json.dumps(timing.as_dict(), indent=2) + "\n" if options.json else timing.report())
    return True


def main(request):
    """Times the kernels and returns the exit code."""
    options = Options(request)
    if ".py:" in options.files[0]:
        try:
            if _times_sequence(options):
                return 0
        except NkiValidationError as error:
            return refusal.told(options.files[0], error)
    return _native.cli(request.words, _Tracer(Options(request)).trace)
