"""Kernels of a Python file, and the arguments that a command line, annotations or a recorded call give them."""

import argparse
import os

from kiln import _activate
from kiln._trace import record, rules, specs
from kiln._trace.errors import refuse
from kiln._trace.kernel import Kernel
from kiln.commands import module_file, target


def add_options(parser):
    """The options that say which kernel and with which arguments."""
    parser.add_argument("--kernel", metavar="NAME",
                        help="the kernel to take; otherwise every one whose arguments are known")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE",
                        help="an argument: float32[128,512] for a tensor, a Python literal for anything else")
    parser.add_argument("--dtype", default="float32", help="the dtype of tensors whose shape an annotation gives")
    parser.add_argument("--record", metavar="FILE", help="calls that a run with KILN_RECORD=FILE wrote")
    parser.add_argument("--lnc", type=int, choices=(1, 2),
                        help="cores of the logical core; otherwise as recorded, or 1")
    target.add_option(parser)


class Call:
    """A kernel and arguments for it."""

    def __init__(self, kernel, name, args, kwargs):
        self.kernel, self.name, self.args, self.kwargs = kernel, name, args, kwargs


def load(path):
    """The kernels of a file, by name, in the order of the file. The file runs as a module, not as __main__."""
    if not os.path.isfile(path):
        refuse(rules.KERNEL_FILE, f"there is no file {path}")
    _activate.activate()
    here = os.path.abspath(path)
    module = module_file.load(here)
    kernels = {n: k for n, k in vars(module).items() if isinstance(k, Kernel)
               and os.path.abspath(getattr(getattr(k.func, "__code__", None), "co_filename", "")) == here}
    return module, kernels


def _choose(module, kernels, options, path):
    if options.kernel is None:
        return kernels
    found = getattr(module, options.kernel, None)
    if not callable(found):
        refuse(rules.KERNEL_OPTION, f"`{options.kernel}` of {path}", kernels=", ".join(kernels) or "none")
    return {options.kernel: found}


def _options_as_arguments(options):
    given = {}
    for text in options.arg:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            refuse(rules.ARG_OPTION, f"`{text}`")
        given[name] = specs.parse(value)
    return given


def _with_lnc(kernel, lnc):
    kernel = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    return kernel[lnc] if lnc and lnc != kernel.lnc else kernel


def _recorded(kernel, name, path, options, given):
    """The calls of this kernel in the file of recorded calls, with --arg in place of what it names."""
    calls = []
    for i, call in enumerate(c for c in record.read(options.record) if c["kernel"] == name):
        args, kwargs = record.decode(call["args"]), {k: record.decode(v) for k, v in call["kwargs"].items()}
        launched = _with_lnc(kernel, options.lnc or call["lnc"])
        calls.append(Call(launched, f"{name} (call {i})", args, {**kwargs, **given}))
    return calls


def calls(path, options):
    """(calls to trace, [(kernel, parameters without a value)])."""
    module, kernels = load(path)
    given, found, unknown = _options_as_arguments(options), [], []
    for name, kernel in _choose(module, kernels, options, path).items():
        function = getattr(kernel, "func", kernel)
        if options.record:
            found += _recorded(kernel, name, path, options, given)
            continue
        arguments = {**specs.from_annotations(function, options.dtype), **_for(function, given)}
        lacking = specs.missing(function, arguments)
        if lacking:
            unknown.append((name, lacking))
        else:
            found.append(Call(_with_lnc(kernel, options.lnc), name, [], arguments))
    return found, unknown


def _for(function, given):
    """Of the arguments on the command line, those that the function has."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {k: v for k, v in given.items() if k in names}


def parser(command, description):
    return argparse.ArgumentParser(prog=f"kiln {command}", description=description,
                                   epilog=f"Text programs (.kiln) have other options: kiln {command} --help.")
