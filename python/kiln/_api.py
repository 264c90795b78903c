"""The page docs/api.md, walked from the package itself: `python -m kiln._api docs/api.md` writes it."""

import enum
import inspect
import re
import sys
import textwrap
import warnings

import numpy as np

import kiln
from kiln import _kiln, nki
from kiln._files import write_aside
from kiln.nki import _as_of, _changes, collectives, isa, language, typing

_HEAD = """# The API

What `kiln` and `kiln.nki` (`nki` after `kiln.activate()`) offer. This page is written from the package:
`python -m kiln._api docs/api.md`. `help(nl.softmax)` shows the same in Python.
"""

# Arguments that show what a function of nki.language becomes, where those by name below do not fit.
_SHAPE = (64, 32)
_CALLS = {
    "broadcast_to": lambda f, tile, hbm: f(tile[:, 0:1], _SHAPE),
    "device_print": None,
    "gather_flattened": lambda f, tile, hbm: f(tile, language.ndarray(_SHAPE, language.uint32)),
    "matmul": lambda f, tile, hbm: f(tile, tile, transpose_x=True),
    "random_seed": lambda f, tile, hbm: f(language.ndarray((1, 1), language.int32)),
    "rms_norm": lambda f, tile, hbm: f(tile, tile, 1, 32),
    "shared_constant": None,
    "shared_identity_matrix": lambda f, tile, hbm: f(32),
    "store": lambda f, tile, hbm: f(hbm, tile),
    "where": lambda f, tile, hbm: f(language.ndarray(_SHAPE, language.uint8), tile, tile),
}  # fmt: skip
_INTEGERS = ("bitwise_", "left_shift", "right_shift", "invert", "logical_not")
_GROUPS = (("_creation", "Creation"), ("_movement", "Data movement and layout"), ("_elementwise", "Elementwise"),
           ("_division", "Elementwise"), ("_activations", "Elementwise"), ("_rounding", "Elementwise"),
           ("_trigonometry", "Elementwise"), ("_reductions", "Reductions"), ("_composite", "Composite"),
           ("_random", "Random numbers"), ("_loops", "Loops and program ids"),
           ("device_print", "Loops and program ids"), ("memory", "Buffers"))  # fmt: skip


def _row(*cells):
    """A row of a table; a[0](b) in prose is no link."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("](", "]\\(") for cell in cells) + " |"


def _table(head, rows):
    return "\n".join([_row(*head), "|" + "---|" * len(head), *(_row(*r) for r in rows)]) + "\n"


def _about(thing):
    """The sentences of a docstring up to the first empty line, on one line; nanobind puts the signature first."""
    text = inspect.getdoc(thing) or ""
    parts = [" ".join(p.split()) for p in text.split("\n\n")]
    if re.match(r"\w+\(.*\) -> |^\(self\)", parts[0]):
        parts = parts[1:] or [""]
    return parts[0]


def _signature(name, function):
    text = str(inspect.signature(function))
    return f"`{name}{text.split(' -> ')[0]}`"


def _since():
    return {(module, name): change.since for change in _changes.CHANGES for module, name in change.names}


def _arguments(function, tile, hbm):
    known = {"x": tile, "y": tile, "axis": 1, "shape": _SHAPE, "fill_value": 2.0, "dtype": tile.dtype, "src": hbm,
             "rate": 0.5, "buffer": tile.buffer}
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return [known[p.name] for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD]


def instructions(name, function):
    """Names of the instructions that a call of nl.<name> becomes, in order."""
    call = _CALLS.get(name, lambda f, tile, hbm: f(*_arguments(f, tile, hbm)))
    if call is None or function.__module__.endswith("._loops"):
        return []

    def kernel(hbm):
        integer = name.startswith(_INTEGERS)
        tile = language.ndarray(_SHAPE, language.int32 if integer else language.float32)
        call(function, tile, hbm)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = kiln.program(kernel, np.zeros(_SHAPE, np.float32))
    return re.findall(r"^\s*(?:%\d+ = )?(\w+)\(", str(program), re.M)


def _becomes(name, function):
    found = instructions(name, function)
    counted = [(n, found.count(n)) for n in dict.fromkeys(found)]
    return ", ".join(f"`{n}`" + (f" x {count}" if count > 1 else "") for n, count in counted)


def language_functions():
    """name -> function of nki.language, of those that kernels call."""
    names = (n for n in dir(language) if not n.startswith("_"))
    found = {n: getattr(language, n) for n in names}
    modules = {f"kiln.nki.language.{m}" for m, _ in _GROUPS} | {"kiln._trace.memory", "kiln._trace.device_print"}
    return {n: f for n, f in ((n, _plain(v)) for n, v in found.items())
            if callable(f) and getattr(f, "__module__", "") in modules and n not in ("MemoryRegion", "tensor")}


def _plain(value):
    """What a call of an op token does."""
    return value.function if isinstance(value, _kiln.Op) else value


def _language():
    since, out = _since(), []
    functions = language_functions()
    for title in dict.fromkeys(t for _, t in _GROUPS):
        modules = [m for m, t in _GROUPS if t == title]
        rows = [(_signature(f"nl.{n}", f), _about(f), _becomes(n, f), since.get(("language", n), ""))
                for n, f in functions.items() if f.__module__.rpartition(".")[2] in modules]
        out.append(f"### {title}\n\n" + _table(("call", "what it is", "instructions", "since"), rows))
    others = sorted(n for n in dir(language) if isinstance(getattr(language, n), _kiln.Op) and n not in functions)
    out.append("Operators without a call of their own: " + ", ".join(f"`nl.{n}`" for n in others) + ".\n")
    sizes = ", ".join(f"`{n}`" for n in dir(language.tile_size) if not n.startswith("_"))
    out.append(f"`nl.tile_size`, ints of the target: {sizes}.\n")
    buffers = ", ".join(f"`nl.{n}`" for n in dir(language) if isinstance(getattr(language, n), language.MemoryRegion))
    out.append(f"Buffers: {buffers}.\n")
    dtypes = sorted(n for n in dir(language) if type(getattr(language, n)).__name__ == "DType")
    out.append("Dtypes: " + ", ".join(f"`nl.{n}`" for n in dtypes) + ".\n")
    return "\n".join(out)


def _tensor():
    new = {name for change in _changes.CHANGES for name in change.attributes}
    rows = []
    for name in sorted(n for n in dir(_kiln.NkiTensor) if not n.startswith("_") and n not in ("tensor_id", "trace")):
        thing = getattr(_kiln.NkiTensor, name)
        doc = inspect.getdoc(thing) or ""
        shown = f"`{name}`"
        if not isinstance(thing, property):
            parameters = re.match(r"\w+\(self,? ?(.*?)\) -> ", doc)[1]
            shown = f"`{name}({re.sub(r': [^,=)]*', '', parameters).replace('=', ' = ').replace('  ', ' ')})`"
        rows.append((shown, _about(thing), "0.5.0" if name in new else ""))
    return _table(("member", "what it is", "since"), rows)


def _isa():
    since, ours = _since(), _as_of.newest("isa")
    calls = {n: f"`nisa.{_kiln.isa_signature(n)}`" for n in _kiln.isa_functions}
    calls.update({n: _signature(f"nisa.{n}", f) for n, f in ours.items() if inspect.isfunction(f) and n[0] != "_"})
    rows = [(calls[n], _about(getattr(isa, n)) if n not in _kiln.isa_functions else _kiln.isa_summary(n),
             since.get(("isa", n), "")) for n in sorted(calls)]
    enums = {n: v for n, v in ours.items() if inspect.isclass(v) and issubclass(v, enum.Enum) and n[0] != "_"}
    members = [(f"`{n}`", ", ".join(f"`{m.name}`" for m in v)) for n, v in sorted(enums.items())]
    return _table(("call", "what it does", "since"), rows) + "\n" + _table(("enumeration", "members"), members)


def _public(module, names):
    found = {name: getattr(module, name) for name in names}
    return _table(("name", "what it is"), [(_signature(name, thing), _about(thing)) for name, thing in found.items()])


def _wrapped(text):
    """Prose in lines of 120 characters; tables are left alone."""
    wrap = textwrap.TextWrapper(120, break_long_words=False, break_on_hyphens=False).fill
    return "\n".join(line if line.startswith("|") else wrap(line) for line in text.split("\n"))


def page():
    """The text of docs/api.md."""
    return _wrapped("\n".join([
        _HEAD,
        "## kiln\n",
        _public(kiln, ["activate", "deactivate", "check", "compare", "program", "time", "profile", "benchmark",
                       "emit"]),
        "## nki\n", _public(nki, ["jit", "simulate", "cpu_simulate", "Kernel", "api_version"]),
        "## nki.language\n",
        "The instructions are those of a call with float32 tiles of 64 x 32 in SBUF (int32 for bits); views and Python "
        "numbers need none.\n",
        _language(),
        "## NkiTensor\n", _tensor(),
        "## nki.isa\n",
        "`kiln isa NAME` shows the whole page of an instruction: operands, dtypes, meaning, rules, cost.\n", _isa(),
        "## nki.collectives\n",
        _public(collectives, [n for n in dir(collectives) if n[0] != "_" and inspect.isfunction(getattr(collectives, n))
                              and getattr(collectives, n).__module__ == collectives.__name__]),
        "## nki.typing\n",
        " ".join(inspect.getdoc(typing).split()) + "\n",
    ]))  # fmt: skip


if __name__ == "__main__":
    write_aside(sys.argv[1], page())
