"""Which functions of NumPy there are, and why the others are not: the table of docs/numpy.md, walked from NumPy's own
namespaces. `python -m kiln.numpy._support FILE` writes it."""

import sys
import textwrap

import numpy as np

_FILES = "reads or writes files and text"
_HOST = "works on the host, as ever"
_COMPLEX = "complex numbers: the chip has none"
_VALUES = "its shape depends on the values"
_OBJECTS = "makes arrays of Python objects"
_DATES = "dates: the chip has none"

REASONS = {
    **dict.fromkeys(
        (
            "fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed array2string "
            "array_repr array_str format_float_positional format_float_scientific base_repr binary_repr "
            "datetime_as_string info"
        ).split(),
        _FILES,
    ),
    **dict.fromkeys(("busday_count busday_offset is_busday isnat datetime_data").split(), _DATES),
    **dict.fromkeys(("roots sort_complex eig eigvals").split(), _COMPLEX),
    **dict.fromkeys(("frompyfunc asmatrix bmat from_dlpack nested_iters").split(), _OBJECTS),
    **dict.fromkeys("argwhere flatnonzero polydiv".split(), _VALUES),
}
HOST = set(
    (
        "broadcast_shapes get_include get_printoptions getbufsize geterr geterrcall printoptions promote_types "
        "set_printoptions setbufsize seterr seterrcall show_config show_runtime isdtype issubdtype isscalar iterable "
        "mintypecode typename isfortran test LinAlgError"
    ).split()
)


def reason(function):
    """Why a function is not there."""
    if getattr(function, "__module__", "") == "numpy.fft":
        return _COMPLEX + "; kiln.fft has transforms, to call beside a jitted function"
    if function.__name__.endswith(" (vectorized)"):
        return _OBJECTS + "; call the function itself, or np.vectorize(function)"
    return REASONS.get(function.__name__, "not there yet")


def namespaces():
    """(title, module) of what is walked."""
    return ("numpy", np), ("numpy.linalg", np.linalg)


def functions(module):
    """name -> function of a namespace."""
    out = {}
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            out[name] = value
    return out


def state(name, function):
    """("yes" | "host" | "no", words)."""
    from kiln.numpy._creation import ORIGINAL
    from kiln.numpy._dispatch import FUNCTIONS, UFUNCS

    if name in HOST:
        return "host", _HOST
    if isinstance(function, np.ufunc):
        return ("yes", "") if function in UFUNCS else ("no", reason(function))
    ours = FUNCTIONS.get(function)
    if ours is not None and hasattr(ours, "refuses"):
        return "no", ours.refuses
    if ours is not None or name in ORIGINAL:
        return "yes", ""
    return "no", REASONS.get(name, "not there yet")


def supported():
    """The names of all that is there, e.g. "numpy.sum"."""
    return [f"{title}.{name}" for title, module in namespaces() for name, f in functions(module).items()
            if state(name, f)[0] == "yes"]


def _wrapped(text):
    return textwrap.fill(text, 120, break_long_words=False)


def table():
    """The table as Markdown."""
    lines = []
    for title, module in namespaces():
        found = {name: state(name, f) for name, f in functions(module).items()}
        there = [name for name, (s, _) in found.items() if s == "yes"]
        host = [name for name, (s, _) in found.items() if s == "host"]
        lines += [f"**{title}: {len(there)} functions**", "", _wrapped(", ".join(f"`{n}`" for n in there) + "."), ""]
        if host:
            lines += [_wrapped("On the host, as ever: " + ", ".join(f"`{n}`" for n in host) + "."), ""]
        lines += ["| not there | why |", "|---|---|"]
        by_reason = {}
        for name, (s, why) in found.items():
            if s == "no":
                by_reason.setdefault(why, []).append(f"`{name}`")
        lines += [f"| {', '.join(names)} | {why} |" for why, names in sorted(by_reason.items())]
        lines.append("")
    return "\n".join(lines)


START, END = "<!-- support table: python -m kiln.numpy._support docs/numpy.md -->", "<!-- end of the table -->"


def rewritten(text):
    """A page with the table between its marks made anew."""
    head, _, rest = text.partition(START)
    return f"{head}{START}\n\n{table()}\n{END}{rest.partition(END)[2]}"


def main(path):
    from kiln._files import write_aside

    with open(path) as file:
        text = file.read()
    write_aside(path, rewritten(text))


if __name__ == "__main__":
    main(sys.argv[1])
