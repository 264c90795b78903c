"""What a call in the form of an older NKI is told: of nki.isa by its arguments, of nki.language by keyword."""

import difflib
import re

from kiln import _kiln
from kiln._old_forms import PSUM_INSTRUCTIONS, keyword_hint
from kiln.nki._changes import CHANGES

# Operators that the engines do not have, as `op` of an instruction.
OPERATORS = {
    "divide": "the engines do not divide: nisa.reciprocal(r, y), then multiply with op=nl.multiply; by a number, "
              "operand0=1.0 / number with op0=nl.multiply",
    "mod": "the engines have no remainder: nl.mod(x, y) works it out with several instructions in the simulator; by a "
           "power of two use op=nl.bitwise_and with number - 1 on integers",
    "fmod": "the engines have no remainder: nl.fmod(x, y) works it out with several instructions in the simulator; by "
            "a power of two use op=nl.bitwise_and with number - 1 on integers",
    "logical_not": "compare with 0: op0=nl.equal, operand0=0.0",
}  # fmt: skip

# (function, parameter) -> [(type of what was passed, what to write)]: arguments that stood elsewhere.
MOVED = {
    ("affine_select", "on_true_tile"): [((int, float), "`offset` is a keyword since NKI 0.3.0: nisa.affine_select(dst, "
                                         "pattern, channel_multiplier, on_true_tile, on_false_value, offset=…)")],
    ("dma_compute", "reduce_op"): [((list, tuple), "`reduce_op` comes before `scales` since NKI 0.3.0: "
                                    "nisa.dma_compute(dst, srcs, nl.add, scales=[…])")],
    ("dma_copy", "priority"): [(int, "the third argument is `priority` since NKI 0.4.0: write oob_mode=…")],
    ("dma_transpose", "priority"): [(int, "the fourth argument is `priority` since NKI 0.4.0: write dge_mode=…")],
    ("nc_matmul", "perf_mode"): [(str, "write perf_mode=nisa.matmul_perf_mode.double_row: names are enum members since "
                                  "NKI 0.2.0")],
    ("nc_stream_shuffle", "src"): [((list, tuple), "the order is nisa.nc_stream_shuffle(dst, src, shuffle_mask) since "
                                    "NKI 0.2.0")],
}  # fmt: skip

# Names that people give to parameters of other names.
ALSO_CALLED = {
    "data": ("src", "data1"), "in_tile": ("data", "src"), "input": ("data", "src"), "op": ("op0",),
    "operand": ("operand0",), "out": ("dst",), "output": ("dst",), "src": ("data",), "src0": ("data1",),
    "src1": ("data2",), "x": ("stationary", "data"), "y": ("moving",),
}  # fmt: skip


def _needs_dst(function):
    """What a call of 0.1.0 is told, which returned its tile."""
    buffer = "nl.psum" if function in PSUM_INSTRUCTIONS else "nl.sbuf"
    return ("since NKI 0.2.0 every instruction writes into `dst`, its first argument: allocate it with "
            f"nl.ndarray(shape, dtype=…, buffer={buffer}) and pass it first")  # fmt: skip


def _tiles(function):
    return [name for name, kind, required, _ in _kiln.isa_parameters(function) if "tile" in kind and required]


def _argument(function, parameter, value):
    if _stands_for_a_tile(function, parameter, value):
        return _needs_dst(function)
    if isinstance(value, _kiln.Op):
        return OPERATORS.get(value.name)
    for kinds, help in MOVED.get((function, parameter), ()):
        if isinstance(value, kinds):
            return help
    if isinstance(value, _kiln.NkiInstruction):
        return "a call of nki.isa returns no tile since NKI 0.2.0: pass the tile that it writes, its dst"
    if type(value).__name__ == "ufunc":
        return _numpy_function(value.__name__)
    return None


def _stands_for_a_tile(function, parameter, value):
    """Is there, where a tile is due, what in 0.1.0 came after it: an operator, or the shape of a new tile?"""
    tiles = _tiles(function)
    if "dst" not in tiles or parameter not in tiles:
        return False
    operator = isinstance(value, _kiln.Op) or type(value).__name__ == "ufunc"
    return operator or (parameter == "dst" and isinstance(value, (tuple, list)))


def _numpy_function(name):
    from kiln.nki import language

    return f"write nl.{name}: NumPy functions are no operators since NKI 0.2.0" if hasattr(language, name) else None


def _missing(function, parameter):
    """A call of 0.1.0 returned its tile: everything stands one place further left."""
    tiles = _tiles(function)
    if any(("isa", function) in change.names for change in CHANGES):  # there is no older form
        return None
    if "dst" not in tiles or parameter not in tiles:
        return None
    return f"pass {parameter}=; {_needs_dst(function)}"


def _meant(function, keyword):
    """What someone who wrote a keyword that a function never had wants, or None."""
    names = [row[0] for row in _kiln.isa_parameters(function)]
    if keyword == "engine":
        return f"drop it: nisa.{function} has one engine and no choice"
    close = [word for word in ALSO_CALLED.get(keyword, ()) if word in names]
    close += difflib.get_close_matches(keyword, names, 1)
    return f"write {close[0]}=" if close else None


def hint(kind, function, parameter, value):
    """The help for a mistake in a call of nki.isa, or None: kind is "keyword", "missing" or "argument"."""
    if kind == "keyword":
        return keyword_hint("nki.isa", function, parameter) or _meant(function, parameter)
    return _missing(function, parameter) if kind == "missing" else _argument(function, parameter, value)


# Memories that were names of the language itself, as in sbuf.view(dtype, shape).
MEMORIES = ("hbm", "psum", "private_hbm", "sbuf", "shared_hbm")


def explain(error, arguments):
    """Adds to one of Python's own errors what it means for a kernel: what became of a memory or of a keyword of
    nki.language or nki.collectives, or which argument is no array. `arguments` are (name, value) of the kernel's
    call."""
    if isinstance(error, NameError) and getattr(error, "name", None) in MEMORIES:
        new = "shared_hbm" if error.name == "hbm" else error.name
        error.args = (f"{error}: memories are members of nki.language since NKI 0.2.0; write nl.ndarray(shape, "
                      f"dtype=…, buffer=nl.{new}) for {error.name}.view(dtype, shape)",)  # fmt: skip
        return
    keyword = re.match(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'$", str(error))
    if keyword:
        for package, short in (("nki.language", "nl"), ("nki.collectives", "nki.collectives")):
            help = keyword_hint(package, *keyword.groups())
            if help:
                error.args = (f"{short}.{error}: {help}",)
                error.help = help
                return
        return
    attribute = re.match(r"'(\w+)' object has no attribute '(\w+)'$", str(error))
    if attribute is None or not hasattr(_kiln.NkiTensor, attribute[2]):
        return
    named = [f"`{name}`" for name, value in arguments if type(value).__name__ == attribute[1]]
    if named:
        who = f"the argument {named[0]} of the kernel is" if len(named) == 1 else (
            f"the arguments {', '.join(named[:3])}{'' if len(named) <= 3 else ' and others'} of the kernel are each")
        error.args = (f"{error}: {who} a {attribute[1]}; tensors are made of arrays, e.g. np.array(..., np.float32)",)
