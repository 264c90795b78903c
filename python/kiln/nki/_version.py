"""Which NKI the package behaves like: the newest, unless kiln.nki.api_version or KILN_NKI_VERSION says an older one."""

import importlib
import os

from kiln._errors import refuse

KNOWN = ("0.3.0", "0.4.0", "0.5.0", "0.6.0")

# What changed: (version that changed it, what, before, since). docs/migration.md shows the table.
CHANGES = (
    ("0.4.0", "NKI_PRECISE_FP", "0 by default: low-precision tensors are stored as float32", "1 by default"),
    ("0.4.0", "nki.isa.activate2, nl.abs_max, nl.abs_min", "do not exist", "exist"),
    ("0.5.0", "nl.float8_e8m0fnu", "does not exist: MX scales are uint8", "exists"),
    ("0.5.0", "nl.rsqrt", "an activation on the scalar engine; takes PSUM", "on gpsimd, more precise; SBUF only"),
    ("0.6.0", "nl.copy", "on the scalar engine, through float32: integers above 2^24 are rounded; SBUF only",
     "on the vector engine, bit for bit; SBUF and PSUM"),
    ("0.6.0", "nl.fori_loop, nl.while_loop, nki.isa.topk, nki.collectives.all_gather_v", "do not exist", "exist"),
    ("0.6.0", "while register:", "a device loop", "a device loop with a DeprecationWarning"),
)

# Names that came with a version: (version, module, name).
_NEW = (
    ("0.4.0", "isa", "activate2"), ("0.4.0", "language", "abs_max"), ("0.4.0", "language", "abs_min"),
    ("0.5.0", "language", "float8_e8m0fnu"),
    ("0.6.0", "collectives", "all_gather_v"), ("0.6.0", "isa", "topk"), ("0.6.0", "language", "fori_loop"),
    ("0.6.0", "language", "while_loop"),
)  # fmt: skip

_current = KNOWN[-1]
_hidden = {}


def _check(version, where):
    if version not in KNOWN:
        refuse("nki.R46", "the versions of NKI that Kiln can behave like are listed", f"{where} {version!r}",
               f"choose one of {', '.join(KNOWN)}", category="config")


def _show_names():
    """Takes newer names out of their modules, and puts back those that the version has."""
    for since, module_name, name in _NEW:
        module = importlib.import_module(f"kiln.nki.{module_name}")
        key = (module_name, name)
        if since <= _current and key in _hidden:
            setattr(module, name, _hidden.pop(key))
        elif since > _current and key not in _hidden and name in vars(module):
            _hidden[key] = vars(module)[name]
            delattr(module, name)


def api_version(version=None):
    """The version that the package behaves like; with an argument, e.g. "0.3.0", chooses it for the whole process."""
    global _current
    if version is not None:
        _check(version, "api_version of")
        _current = version
        _show_names()
    return _current


def at_least(version):
    """Whether the package behaves like this version or a newer one."""
    return _current >= version


def use_environment():
    """Takes the version from KILN_NKI_VERSION when it is set."""
    version = os.environ.get("KILN_NKI_VERSION", "").strip()
    if version:
        _check(version, "KILN_NKI_VERSION is")
        api_version(version)
