"""The package as the version of NKI in use has it (kiln.nki.api_version): names of modules, attributes of tensors and
calls of nki.isa. Each asks for the version when it is used; what a version changed stands in _changes.py."""

import functools

from kiln import _kiln
from kiln._trace import version
from kiln.nki import _older, _removed
from kiln.nki._changes import CHANGES

_namespaces = {}  # module -> (its namespace, the names that came with a version)


def newest(package):
    """name -> what it stands for in nki.language, nki.isa or nki.collectives, in the newest version."""
    scope, newer = _namespaces[package.removeprefix("nki.")]
    return {**scope, **newer}


def names(module, scope):
    """`__getattr__` and `__dir__` of a module, for the names that came with a version: they are taken out of its
    namespace, and handed out where the version in use has them. `from module import *` takes those too."""
    since = {name: change.since for change in CHANGES for owner, name in change.names if owner == module}
    newer = {name: scope.pop(name) for name in since}
    _namespaces[module] = scope, newer

    def there():
        return sorted([*scope, *(name for name in newer if version.at_least(since[name]))])

    def find(name):
        if name in newer and version.at_least(since[name]):
            return newer[name]
        if name == "__all__":
            return [name for name in there() if not name.startswith("_")]
        raise _removed.absent(f"nki.{module}", name)

    return find, there


class _TensorMember:
    """A member of tensors that a version added or changed."""

    def __init__(self, name, since, older=None):
        self._name, self._since, self._older = name, since, older
        self._newest = getattr(_kiln.NkiTensor, name)

    def __get__(self, tensor, cls=None):
        if tensor is None or version.at_least(self._since):
            return self._newest.__get__(tensor, cls)
        if self._older is None:
            _older.missing(f"`{self._name}` of tensors", self._since)
        return functools.partial(self._older, tensor)


def tensor_members():
    """Members of tensors that a version added or changed, by name."""
    added = {name: _TensorMember(name, change.since) for change in CHANGES for name in change.attributes}
    changed = {name: _TensorMember(name, change.since, older) for change in CHANGES for name, older in change.methods}
    return {**added, **changed}


@functools.cache
def _form(function, chosen):
    """A function of nki.isa in a version: its parameters, those that came later, and what is done to arguments."""
    later = [change for change in CHANGES if change.since > chosen]
    newer = {p: change.since for change in later for f, p in change.parameters if f == function}
    adapters = [adapt for change in later for f, adapt in change.calls if f == function]
    return [*(row[0] for row in _kiln.isa_parameters(function) if row[0] not in newer), "name"], newer, adapters


def parameters(function):
    """The names of a function's parameters in the version in use, `name` last."""
    return _form(function, version.current())[0]


def call(function, args, kwargs):
    """A call of a function of nki.isa in a version before the newest: without newer parameters and a result."""
    parameters, newer, adapters = _form(function, version.current())
    for parameter in kwargs.keys() & newer.keys():
        _older.missing(f"`{parameter}` of nisa.{function}", newer[parameter])
    if (newer or adapters) and len(args) <= len(parameters) and not set(parameters[:len(args)]) & kwargs.keys():
        args, kwargs = [], {**dict(zip(parameters, args)), **kwargs}
        for adapt in adapters:
            adapt(kwargs)
    _kiln.issue(function, args, kwargs)
