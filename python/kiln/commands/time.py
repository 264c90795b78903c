"""`kiln time kernel.py`: traces kernels for the native command."""

import contextlib
import sys

from kiln import _native
from kiln._trace import env
from kiln.commands import kernel_file, other_targets, target
from kiln.commands.options import Options


class _Tracer:
    """Whom the native command asks for the programs of a file."""

    def __init__(self, options):
        self._options, self._kernels = options, []  # (name, function) of the files so far

    def trace(self, path, compared, chip):
        """(programs, title, reserved PSUM banks, note) of the kernel in a file, for a chip ("": as the environment
        says)."""
        kernel = self._options.compare_kernel if compared else None
        with contextlib.ExitStack() as stack:
            stack.enter_context(target.chosen(chip))
            if self._options.json:  # what users' code prints is no part of it
                stack.enter_context(contextlib.redirect_stdout(sys.stderr))
            file = stack.enter_context(kernel_file.opened(path, kernel or self._options.kernel))
            if compared and not kernel and not file.kernels:
                file.kernels = file.all  # --kernel is that of the other file
            call = self._call(file, compared)
            programs = [core.program() for core in call.trace()]
            title = f"{path}: {call.name}" if [self._options.compare] == self._options.files else path
            return programs, title, env.reserved_psum_banks(), str(other_targets.ask(file, call, programs) or "")

    def _call(self, file, compared):
        """The one call that is to be timed."""
        kernel_file.require_kernels([file], self._options.kernel)
        self._kernels += file.functions().items()
        another = not compared and (self._options.compare or "").endswith(".py")  # may have the other parameters
        return file.one_call(self._options, self._kernels, another)


def main(request):
    """Times the kernels and returns the exit code."""
    return _native.cli(request.words, _Tracer(Options(request)).trace)
