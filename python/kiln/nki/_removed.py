"""Names that older NKI had and 0.6.0 has not, with what to write instead. The documentation walks the tables too."""

import difflib
import dis
import sys

from kiln._old_forms import name_hint
from kiln._trace import rules, tracebacks, version
from kiln._trace.errors import NkiValidationError, broken
from kiln.nki import _changes

# nki.language: name -> rewrite.
LANGUAGE = {
    "all_reduce": "nki.collectives.all_reduce(srcs, dsts, replica_group, op)",
    "arange": "slices, t[0:128, 4:8], or an explicit pattern, t.ap(pattern=[[step, num], ...])",
    "atomic_rmw": "nisa.dma_compute(dst, [dst, src], reduce_op=nl.add)",
    "cast": "nl.copy(x, dtype=nl.float32)",
    "fp32": "the number: -3.4028235e38 for nl.fp32.min",
    "loop_reduce": "nisa.nc_matmul(..., accumulate=True) over one PSUM tile, or nl.add into a tile that lives outside "
                   "the loop",
    "mgrid": "slices, t[0:128, 4:8], or an explicit pattern, t.ap(pattern=[[step, num], ...])",
    "nc": "kernel[2](...): the launch grid is one int, the number of cores",
    "par_dim": "the size alone, (128, 512): dimension 0 of a tile is the partition dimension; fold blocks into the "
               "free dimensions, (128, blocks, 512), or keep a list of tiles",
    "simulate_kernel": "nki.simulate(kernel)(...)",
    "spmd_dim": "kernel[2](...): the launch grid is one int, the number of cores",
    "static_cast": "nl.copy(x, dtype=nl.float32); for the same bits x.view(nl.float32)",
}

# Methods and attributes of tensors: name -> rewrite.
TENSOR = {
    "T": "nl.transpose(x) for a tile, nl.load_transpose2d(x) from HBM, x.permute((1, 0)) for a view of HBM",
    "astype": "nl.copy(x, dtype=nl.float32)",
    "pattern": "x.get_pattern()",
    "broadcast_to": "nl.broadcast_to(x, shape), or the view x.broadcast(dim, size)",
}


# Modules as kernels write them.
_SHORT = {"module 'nki.language'": "nl.", "module 'nki.isa'": "nisa.", "module 'nki'": "nki."}
_NAMES_HELP = "dir() of it, or docs/api.md, lists the names that there are"


class NkiRemovedError(NkiValidationError, AttributeError):
    """A name that NKI no longer has; hasattr sees that it is missing."""


def _no_attribute(owner, name, hint, names):
    """The exception for a name that is not among `names`; it is the user's line that is wrong."""
    close = [] if hint or name.startswith("_") else difflib.get_close_matches(name, names, 1)
    said = f": {hint}" if hint else f". Did you mean: {close[0]!r}?" if close else ""
    error = AttributeError(f"{owner} has no attribute {name!r}{said}")
    error.help = hint or (f"write {_SHORT.get(owner, '')}{close[0]}" if close else _NAMES_HELP)
    return tracebacks.of_user(error)


def missing(table, name, spelled, owner, names):
    """The exception for an attribute that `owner`, which has `names`, lacks."""
    if name not in table:
        return _no_attribute(owner, name, None, names)
    return NkiRemovedError([broken(rules.REMOVED_NAME, f"`{spelled}`", rewrite=table[name])])


def _hint(module, name):
    """What became of a name of a module, or None."""
    if name.startswith("_"):  # a question of Python's own, while modules are imported
        return None
    since = next((c.since for c in _changes.CHANGES if (module[4:], name) in c.names), None)
    if since is not None:
        return f"it came with NKI {since}; the version in use is {version.current()}"
    if module == "nki.language" and name in LANGUAGE:
        return f"NKI has it no more: write {LANGUAGE[name]}"
    if module == "nki.language" and name in ("float64", "int64", "uint64"):
        return f"NKI has no 64-bit types: write nl.{name[:-2]}32"
    return name_hint(f"{module}.{name}")


def _is_import(frame):
    """Whether a frame is in the middle of `from module import name`."""
    return frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def absent(module, name):
    """The exception for a name that a module of nki lacks: what became of it, also for `from module import name`."""
    hint = _hint(module, name)
    if hint is not None and _is_import(sys._getframe(2)):  # Python itself drops what an AttributeError says
        return ImportError(f"cannot import name {name!r} from {module!r}: {hint}", name=module)
    if module == "nki.language" and name in LANGUAGE:
        return missing(LANGUAGE, name, f"nl.{name}", "module 'nki.language'", ())
    return _no_attribute(f"module {module!r}", name, hint, dir(sys.modules[f"kiln.{module}"]))
