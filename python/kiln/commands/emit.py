"""`kiln emit kernel.py`: traces the kernel and writes what it issues as NKI source."""

import contextlib
import os
import sys

from kiln import _emit, _kiln
from kiln._files import write_aside
from kiln._trace import rules, simulate
from kiln._trace.errors import NkiValidationError, refuse
from kiln.commands import kernel_file, numpy_function, refusal, target
from kiln.commands.named_function import file_of
from kiln.commands.options import Options


def main(request):
    """Writes the source and returns the exit code."""
    options = Options(request)
    path = options.files[0]
    try:
        if len(options.files) > 1:
            refuse(rules.ONE_KERNEL, f"`{path}` and `{options.files[1]}` are given",
                   "a kernel in Python brings both cores itself, see --lnc")
        if options.out is not None:
            _kiln.require_outputs([file_of(path), *filter(None, [options.record])], [options.out])
        text = _source(path, options)
    except NkiValidationError as error:
        return refusal.told(path, error)
    if options.out is None:
        sys.stdout.write(text)
    else:
        write_aside(options.out, text)
    return 0


def _source(path, options):
    if not path.endswith(".py"):
        with contextlib.redirect_stdout(sys.stderr):
            return numpy_function.lowered(path, options).source(options.roll, options.main, os.path.basename(path))
    # What users' code prints is no part of the source.
    with target.chosen(options.target), contextlib.redirect_stdout(sys.stderr), \
            kernel_file.opened(path, options.kernel) as file:
        kernel_file.require_kernels([file], options.kernel)
        cores = file.one_call(options, list(file.functions().items())).trace()
        simulate.check_all([core.program() for core in cores])
        return _emit.of_cores(cores, options.roll, options.main, os.path.basename(path))
