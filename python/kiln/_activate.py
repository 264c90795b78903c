"""kiln.activate(): `import nki` gives kiln.nki, the very same module objects; kiln.deactivate() ends that."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

from kiln import _migration

# What an importable name stands for. Names below one of these stand for the same names below its target.
ALIASES = {
    "neuronxcc.nki.typing": "kiln.nki.typing",
    "nki": "kiln.nki",
    "nki_cpu_simulator.nki": "kiln.nki",
}
# Packages that exist only so that the names above can be imported.
_HOLLOW = ("neuronxcc", "neuronxcc.nki", "nki_cpu_simulator")


def _within(name, package):
    return name == package or name.startswith(package + ".")


def target_of(name):
    """The module of ours behind an importable name, or None."""
    for alias, target in ALIASES.items():
        if _within(name, alias):
            return target + name[len(alias):]
    return None


def _requested(name):
    """The dotted name that the running import statement asks for, of which `name` is a part."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            asked = frame.f_locals.get("name", "")
            if isinstance(asked, str) and _within(asked, name):
                name = asked
        frame = frame.f_back
    return name


class _Loader(importlib.abc.Loader):
    """Hands out a module that exists, and leaves its own spec in place."""

    def __init__(self, module):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec


def _hollow(name):
    """A package that only leads to the modules below it; asking it for anything else tells how code is written now."""
    package = types.ModuleType(name)
    package.__path__ = []

    def __getattr__(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise ModuleNotFoundError(_migration.import_hint(f"{name}.{attribute}"), name=f"{name}.{attribute}")

    package.__getattr__ = __getattr__
    package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    return package


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        module = target_of(name)
        if module is not None:
            return self._ours(name, module)
        if name in _HOLLOW and (name != "neuronxcc" or not self._installed(name)):
            if target_of(_requested(name)) is not None or name == "nki_cpu_simulator":
                return self._spec(name, _hollow(name))
        if _within(name, "neuronxcc.nki") or (name == "neuronxcc" and not self._installed(name)):
            wanted = _requested(name)
            raise ModuleNotFoundError(_migration.import_hint(wanted), name=wanted)
        return None

    def _ours(self, name, module):
        try:
            if importlib.util.find_spec(module) is None:
                return None
        except ModuleNotFoundError:
            return None
        return self._spec(name, importlib.import_module(module))

    def _spec(self, name, module):
        return importlib.machinery.ModuleSpec(name, _Loader(module), is_package=hasattr(module, "__path__"))

    def _installed(self, name):
        others = (f for f in sys.meta_path if f is not self and hasattr(f, "find_spec"))
        return any(f.find_spec(name, None) is not None for f in others)


_finder = _Finder()
_set_aside = {}


def _is_ours(name, module):
    return getattr(module, "__name__", "") == target_of(name)


def _vendor_modules():
    return {n: m for n, m in sys.modules.items() if _within(n, "nki") and m is not None and not _is_ours(n, m)}


def is_active():
    """Whether `import nki` gives kiln.nki."""
    return _finder in sys.meta_path


def activate(force=False):
    """Makes `import nki` give kiln.nki in this process. With another `nki` imported already it refuses, unless forced:
    then that one is set aside until kiln.deactivate()."""
    from kiln._trace import rules
    from kiln._trace.errors import refuse

    vendor = _vendor_modules()
    if vendor and not force:
        where = getattr(sys.modules.get("nki"), "__file__", None) or "?"
        refuse(rules.NAME_IN_USE, f"another `nki` is imported already, from {where}")
    for name, module in vendor.items():
        _set_aside.setdefault(name, module)
        del sys.modules[name]
    if not is_active():
        sys.meta_path.insert(0, _finder)


def deactivate():
    """Gives the name `nki` back: imports from now on find what is installed."""
    if is_active():
        sys.meta_path.remove(_finder)
    for name, module in list(sys.modules.items()):
        ours = target_of(name) is not None and _is_ours(name, module)
        hollow = name in _HOLLOW and getattr(module, "__path__", None) == []
        if ours or hollow:
            del sys.modules[name]
    sys.modules.update(_set_aside)
    _set_aside.clear()
