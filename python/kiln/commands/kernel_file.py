"""Kernels of a Python file, and the calls of them that a command line, annotations or recorded calls give."""

import contextlib
import os

from kiln import _activate, _check
from kiln._program import plain
from kiln._trace import env, rules, simulate, specs
from kiln._trace.errors import NkiValidationError, broken, make_error, refuse
from kiln._trace.kernel import Kernel
from kiln.commands import arguments, module_file, recorded


class Call:
    """A kernel and arguments for it."""

    def __init__(self, kernel, name, args, kwargs):
        self.kernel, self.name, self.args, self.kwargs = kernel, name, args, kwargs

    def trace(self):
        """The TracedKernels of its cores; what the kernel's Python raises is a diagnostic."""
        function, lnc = plain(self.kernel)
        try:
            return simulate.trace_cores(function, lnc, self.args, self.kwargs, getattr(self.kernel, "schedule", ()))
        except NkiValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise make_error([_check.stopped(error)]) from None

    @property
    def code(self):
        return getattr(getattr(self.kernel, "func", self.kernel), "__code__", None)


class Untraced:
    """A kernel that nothing gives arguments to: the parameters that lack a value, and the diagnostic."""

    def __init__(self, name, function, parameters, diagnostic):
        self.name, self.parameters, self.diagnostic = name, parameters, diagnostic
        self.code = getattr(function, "__code__", None)


class KernelFile:
    """The kernels of a file that --kernel chooses, by name, in the order of the file."""

    def __init__(self, path, imported, kernel, asks_for_chip):
        self.path, self._imported, self.asks_for_chip = path, imported, asks_for_chip
        here = os.path.abspath(path)
        self.all = {n: k for n, k in vars(imported.module).items() if isinstance(k, Kernel)
                    and os.path.abspath(getattr(getattr(k.func, "__code__", None), "co_filename", "")) == here}
        named = getattr(imported.module, kernel, None) if kernel else None
        self.kernels = ({kernel: named} if callable(named) else {}) if kernel else self.all

    def functions(self):
        """name -> function of the chosen kernels."""
        return {name: getattr(kernel, "func", kernel) for name, kernel in self.kernels.items()}

    def calls(self, options, given):
        """(calls to trace, kernels that lack arguments), for arguments {name: value} of the command line."""
        found, untraced = [], []
        for name, kernel in self.kernels.items():
            function = getattr(kernel, "func", kernel)
            calls = self._recorded(kernel, name, options, arguments.of(function, given)) if options.record else []
            if not calls:
                known = {**specs.from_annotations(function, options.dtype), **arguments.of(function, given)}
                missing = specs.missing(function, known)
                if missing:
                    untraced.append(Untraced(name, function, missing, self._lacks(name, missing, options)))
                else:
                    calls = [Call(_with_lnc(kernel, options.lnc), name, [], known)]
            found += calls
        return found, untraced

    def one_call(self, options, known, others=False):
        """The one call that a command line means. known: (name, function) of the kernels that --arg may be about;
        `others`: of more that are not known yet."""
        given = arguments.read(options.arguments)
        calls, untraced = self.calls(options, given)
        wrong = [] if others else arguments.unknown(given, known)
        if wrong or not calls:
            raise make_error([*wrong, *(kernel.diagnostic for kernel in untraced if not calls)])
        if len(calls) > 1:
            refuse(rules.ONE_KERNEL, f"`{self.path}` has {', '.join(call.name for call in calls)}",
                   "give the arguments of one call with --arg" if len(self.kernels) == 1 else
                   "choose one with --kernel NAME")
        return calls[0]

    def _lacks(self, name, missing, options):
        if not options.record:
            return arguments.lacking(self.path, name, missing)
        others = ", ".join(recorded.kernels_in(options.record)) or "none"
        return broken(rules.CALL_RECORDED, f"`{options.record}` has no call of `{name}`; its calls are of: {others}",
                      file=options.record)

    def _recorded(self, kernel, name, options, given):
        """The calls of this kernel in the file of calls, with --arg in place of what it names."""
        calls = []
        for i, (bound, lnc) in enumerate(recorded.calls_of(name, self.path, self._imported, options.record)):
            for parameter, value in given.items():
                bound.arguments[parameter] = value
            launched = _with_lnc(kernel, options.lnc or lnc)
            calls.append(Call(launched, f"{name} (call {i})", list(bound.args), bound.kwargs))
        return calls


def _with_lnc(kernel, lnc):
    kernel = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    return kernel[lnc] if lnc and lnc != kernel.lnc else kernel


@contextlib.contextmanager
def opened(path, kernel=None):
    """The KernelFile of a path, as long as it is open. The file runs as a module, not as __main__; one that cannot be
    imported is refused with the line that raises."""
    if not os.path.isfile(path):
        refuse(rules.KERNEL_FILE, f"there is no file `{path}`")
    _activate.activate()
    asked = env.times_asked()
    with contextlib.ExitStack() as stack:
        try:
            imported = stack.enter_context(module_file.imported(os.path.abspath(path)))
        except NkiValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise make_error([_check.stopped(error, rules.IMPORTABLE_FILE)]) from None
        yield KernelFile(path, imported, kernel, env.times_asked() > asked)


def require_kernels(files, kernel):
    """Refuses when there is no kernel in any of the files, or none that --kernel names."""
    if any(file.kernels for file in files):
        return
    paths = ", ".join(f"`{file.path}`" for file in files)
    names = [name for file in files for name in file.all]
    if kernel:
        refuse(rules.KERNEL_OPTION, f"{paths} {'has' if len(files) == 1 else 'have'} no kernel `{kernel}`",
               arguments.did_you_mean(kernel, names), kernels=", ".join(names) or "none")
    refuse(rules.HAS_KERNELS, f"{paths} {'has' if len(files) == 1 else 'have'} no kernel")


