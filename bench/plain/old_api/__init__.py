"""The API that `neuronxcc.nki` had before NKI 0.2, call by call on Kiln's nki: sources written for it can be timed
as they are. It is no emulation of its compiler: where a call is one instruction, it is that instruction."""

import functools
import sys
import types

from kiln import _kiln
from kiln.nki import jit as _jit

from . import isa, language
from .notes import GUESSES, NOTES, NotRewritten  # noqa: F401
from .values import Blocks, Value, settle, start


class OldKernel:
    """A kernel of the old API; `kernel` is the same one for kiln.time."""

    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    __getitem__ = lambda self, _: self  # noqa: E731  (a launch grid of one)

    def run(self, args, kwargs):
        start()
        given = [Value(a) if isinstance(a, _kiln.NkiTensor) else a for a in args]
        result = self.function(*given, **{k: Value(a) if isinstance(a, _kiln.NkiTensor) else a
                                          for k, a in kwargs.items()})
        settle()
        return _native(result)


def _native(value):
    if isinstance(value, Value):
        return value.view
    if isinstance(value, (tuple, list)):
        return tuple(_native(v) for v in value)
    return value


def kernel_of(function):
    """A kernel that kiln.time takes, made of a function of the old API."""
    old = function if isinstance(function, OldKernel) else OldKernel(function)

    @_jit
    def rewritten(*args, **kwargs):
        return old.run(args, kwargs)

    return rewritten


def jit(function=None, **_):
    return OldKernel(function) if function else OldKernel


def _module(name, content):
    module = types.ModuleType(name)
    module.__dict__.update(content)
    module.__path__ = []
    sys.modules[name] = module
    return module


def _public(module):
    return {k: v for k, v in vars(module).items() if not k.startswith("__")}


def install():
    """Makes `import neuronxcc.nki` give this package."""
    for name in [n for n in sys.modules if n.split(".")[0] == "neuronxcc"]:
        del sys.modules[name]
    language_module = _module("neuronxcc.nki.language", _public(language))
    isa_module = _module("neuronxcc.nki.isa", _public(isa))
    sbuf = types.SimpleNamespace(
        mod_alloc=lambda base_addr=0, num_free_tiles=(), **_: language.ModAlloc(num_free_tiles))
    compiler = _module("neuronxcc.nki.compiler", dict(
        skip_middle_end_transformations=lambda f: f, enable_stack_allocator=lambda f=None, **_: f or (lambda g: g),
        force_auto_alloc=lambda f: f, sbuf=sbuf, psum=sbuf))
    anything = type("tensor", (), {"__class_getitem__": classmethod(lambda cls, _: cls)})
    typing = _module("neuronxcc.nki.typing", dict(tensor=anything))
    same = dict(jit=jit, trace=jit, baremetal=jit, benchmark=jit, profile=jit, simulate_kernel=None,
                language=language_module, isa=isa_module, compiler=compiler, typing=typing)
    nki = _module("neuronxcc.nki", same)
    _module("neuronxcc", dict(nki=nki))


__all__ = ["GUESSES", "NOTES", "Blocks", "NotRewritten", "install", "kernel_of"]
