"""Arguments of kernels on a command line: what --arg says, which kernel has such a parameter, what is lacking."""

import difflib
import inspect

from kiln._trace import rules, specs
from kiln._trace.errors import broken, refuse


def read(texts):
    """--arg NAME=VALUE, ... as {name: value}."""
    given = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not value or not name.isidentifier():
            refuse(rules.ARG_OPTION, f"`{text}` is not of the form NAME=VALUE")
        if name in given:
            refuse(rules.ARGUMENT_ONCE, f"`{name}` is given twice")
        given[name] = specs.parse(value)
    return given


def parameters(function):
    """The parameters that a call may name; None when it may name any."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in found):
        return None
    return [p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def of(function, given):
    """Of the arguments on the command line, those that the function has."""
    names = parameters(function)
    return {k: v for k, v in given.items() if names is None or k in names}


def unknown(given, kernels):
    """A diagnostic for each argument that none of the kernels, (name, function), has."""
    each = [parameters(function) for _, function in kernels]
    if None in each or not each:
        return []
    names = list(dict.fromkeys(name for names in each for name in names))
    lack = f"`{kernels[0][0]}` has no" if len(kernels) == 1 else "no kernel has a"
    return [broken(rules.KNOWN_ARGUMENT, f"{lack} parameter `{name}`", did_you_mean(name, names),
                   parameters=", ".join(names) or "none") for name in given if name not in names]


def did_you_mean(name, names):
    """The remedy for a name that is nearly one of these; "" when none is near."""
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean `{close[0]}`?" if close else ""


def lacking(file, kernel, names):
    """The diagnostic for parameters that nothing gives a value to."""
    *first, last = [f"`{name}`" for name in names]
    said = f"{', '.join(first)} and {last} are" if first else f"{last} is"
    return broken(rules.ARGUMENTS_GIVEN, f"nothing says what {said}, so `{kernel}` is not traced", file=file,
                  options=" ".join(f"--arg {name}=float32[128,512]" for name in names))
