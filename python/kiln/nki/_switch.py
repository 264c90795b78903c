"""Makes the package look like a version of NKI: newer names, attributes and parameters go, calls work as they did."""

import functools
import importlib
import sys

from kiln import _kiln
from kiln._trace import tracebacks
from kiln.nki import _older, _tile_size
from kiln.nki._changes import CHANGES

_hidden = {}  # (module, name) -> what stands there in the newest version
_functions = {}  # name -> the function of nki.isa in the newest version


def show(version):
    """Puts everything back, and undoes what came after a version."""
    newer = [change for change in CHANGES if change.since > version]
    _put_back()
    for change in newer:
        for module, name in change.names:
            _hide(importlib.import_module(f"kiln.nki.{module}"), name)
    if newer:
        _replace_functions(newer)
    _tile_size.hide({name: change.since for change in newer for name in change.sizes})
    _hide_attributes({name: change.since for change in newer for name in change.attributes},
                     {name: method for change in newer for name, method in change.methods})


def _put_back():
    from kiln.nki import isa

    for (module, name), value in _hidden.items():
        setattr(module, name, value)
    _hidden.clear()
    for name, function in _functions.items():
        setattr(isa, name, function)
    _functions.clear()


def _hide(module, name):
    _hidden[module, name] = vars(module)[name]
    delattr(module, name)


def _replace_functions(changes):
    from kiln.nki import isa

    for name in _kiln.isa_functions:
        if name in vars(isa) and name != "register_alloc":
            _functions[name] = vars(isa)[name]
            setattr(isa, name, _older_function(name, vars(isa)[name], changes))


def _older_function(name, function, changes):
    """The function as older versions have it: without newer parameters, and without a result."""
    newer = {p: change.since for change in changes for f, p in change.parameters if f == name}
    adapters = [adapt for change in changes for f, adapt in change.calls if f == name]
    parameters = [*(p[0] for p in _kiln.isa_parameters(name) if p[0] not in newer), "name"]

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not newer and not adapters:
            function(*args, **kwargs)
            return
        for parameter in kwargs.keys() & newer.keys():
            _older.missing(f"`{parameter}` of nisa.{name}", newer[parameter])
        if len(args) > len(parameters) or set(parameters[:len(args)]) & kwargs.keys():
            function(*args, **kwargs)  # says what is wrong
        arguments = {**dict(zip(parameters, args)), **kwargs}
        for adapt in adapters:
            adapt(arguments)
        function(**arguments)

    return call


def _hide_attributes(since, methods):
    """Attributes of tensors as the user's code sees them; ours sees the newest ones."""
    tensor_type = _kiln.NkiTensor
    if "__getattribute__" in vars(tensor_type):
        del tensor_type.__getattribute__
    if not since and not methods:
        return
    plain = tensor_type.__getattribute__

    def look(tensor, name):
        if (name in since or name in methods) and not tracebacks.is_ours(sys._getframe(1).f_code.co_filename):
            if name in since:
                _older.missing(f"`{name}` of tensors", since[name])
            return functools.partial(methods[name], tensor)
        return plain(tensor, name)

    tensor_type.__getattribute__ = look
