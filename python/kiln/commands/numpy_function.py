"""file.py:function on a command line: a NumPy function, compiled for the shapes that --arg gives."""

import ast
import contextlib
import os
import re

import numpy as np

from kiln import _activate, _check
from kiln._trace.errors import NkiValidationError, make_error
from kiln.commands import arguments, module_file, target
from kiln.commands.named_function import split
from kiln.numpy import _arguments
from kiln.numpy._jit import Jitted, default_target, jit
from kiln.numpy._rules import FILE_FUNCTION, refuse
from kiln.numpy._sequence import Sequence


_LIKE_A_SHAPE = re.compile(r"[A-Za-z]\w*\s*\[")


def _value(text):
    shape = _arguments.parsed_shape(text)
    if shape is not None:
        return shape
    if _LIKE_A_SHAPE.match(text):
        refuse(FILE_FUNCTION, f"`{text}` is no shape", "write it as in x=float32[128,512]")
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def read(texts):
    """--arg NAME=VALUE, ... as {name: value}."""
    given = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not value or not name.isidentifier():
            refuse(FILE_FUNCTION, f"--arg `{text}` is not of the form NAME=VALUE")
        if name in given:
            refuse(FILE_FUNCTION, f"`{name}` is given twice")
        given[name] = _value(value)
    return given


def _require_arguments(name, function, given):
    names = arguments.parameters(function)
    if names is None:
        return
    for other in given:
        if other not in names:
            refuse(FILE_FUNCTION, f"`{name}` has no parameter `{other}`", arguments.did_you_mean(other, names))
    from kiln._trace import specs

    lacking = specs.missing(function, given)
    if lacking:
        refuse(FILE_FUNCTION, f"nothing says what {', '.join(f'`{n}`' for n in lacking)} of `{name}` is",
               " ".join(f"add --arg '{n}=float32[128,512]'" for n in lacking))


@contextlib.contextmanager
def opened(path, options):
    """(the jitted function, its arguments) of file.py:function, as long as the file is open."""
    file, name = split(path)
    if not os.path.isfile(file):
        refuse(FILE_FUNCTION, f"there is no file `{file}`")
    _activate.activate()  # it may call kernels
    with contextlib.ExitStack() as stack:
        try:
            module = stack.enter_context(module_file.imported(os.path.abspath(file))).module
        except NkiValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise make_error([_check.stopped(error)]) from None
        function = getattr(module, name, None)
        if not callable(function):
            names = [
                n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__
            ]
            refuse(FILE_FUNCTION, f"`{file}` has no function `{name}`",
                   arguments.did_you_mean(name, names) or f"its functions are {', '.join(names) or 'none'}")
        jitted = function if isinstance(function, (Jitted, Sequence)) else jit(function)
        given = read(options.arguments)
        _require_arguments(name, jitted._function, given)
        yield jitted, given


def lowered(path, options, opt=None, search=None, kernel_ops=None):
    """What the function becomes, as the command line says, or as it was jitted. What its Python raises is a
    diagnostic."""
    with target.chosen(options.target), opened(path, options) as (jitted, given):
        own = isinstance(jitted, Jitted) and jitted.options
        chip = default_target() if options.target or not own or own["target"] is None else own["target"]
        try:
            made = jitted.lower(target=chip, opt=opt or (own["opt"] if own else 2),
                                lnc=options.lnc or (own["lnc"] if own else 1), search=search, kernel_ops=kernel_ops,
                                **given)
            made.model  # noqa: B018  (errors of the compiler belong here)
            return made
        except NkiValidationError:
            raise
        except (Exception, SystemExit) as error:
            raise make_error([_check.stopped(error)]) from None


def random_array(shape, dtype, random):
    """Floats around zero, integers and bool from 0 on."""
    if dtype.kind in "biu":
        return np.asarray(random.integers(0, 2, shape)).astype(dtype)
    return np.asarray(random.normal(size=shape)).astype(dtype)


def random_arguments(given, seed=0):
    """Arrays of the shapes among the arguments."""
    random = np.random.default_rng(seed)
    return {name: random_array(x.shape, x.dtype, random) if isinstance(x, _arguments.Shape) else x
            for name, x in given.items()}
