"""nki.isa: one function per instruction, walked from Kiln's instruction table."""

import enum

from kiln import _kiln
from kiln._trace import env as _env
from kiln._trace.errors import NkiValidationError  # noqa: F401
from kiln.nki import _as_of

NkiInstruction = _kiln.NkiInstruction
VirtualRegister = _kiln.VirtualRegister


class _Member(enum.IntEnum):
    """A member is the int that Kiln counts it by. For kernels it is a plain enum's: its value and text are those of the
    documents, it is true, and equal to itself only."""

    def __new__(cls, number, value):
        member = int.__new__(cls, number)
        member._value_ = value
        return member

    def __bool__(self):
        return True

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    __hash__ = enum.Enum.__hash__

    def __str__(self):
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self):  # IntEnum's takes the value for an int
        return f"<{self}: {self._value_!r}>"

    def __format__(self, spec):
        return format(str(self), spec)


def _values(name, members):
    """The documented values: numbers from 0 on, but for two enumerations."""
    return {"dma_engine": range(1, 1 + len(members)), "matmul_perf_mode": members}.get(name, range(len(members)))


def _make_enum(name, members):
    rows = zip(members, enumerate(_values(name, members)))
    return _Member(name, list(rows), module=__name__)


_ENUMS = {name: _make_enum(name, members) for name, members in _kiln.enums().items()}
globals().update(_ENUMS)

unknown_engine = engine.unknown  # noqa: F821
tensor_engine = engine.tensor  # noqa: F821
vector_engine = engine.vector  # noqa: F821
scalar_engine = engine.scalar  # noqa: F821
gpsimd_engine = engine.gpsimd  # noqa: F821
dma_engine_unknown = engine.dma  # noqa: F821


nc_version = enum.IntEnum("nc_version", {chip.generation_name: chip.generation for chip in _kiln.chips.values()},
                          module=__name__)
nc_version.__doc__ = "NeuronCore generations."


def get_nc_version():
    """The generation that the kernel is built for."""
    return nc_version(_env.asked_chip().generation)


def get_nc_sub_version():
    """The silicon revision of the generation."""
    return 0


globals().update(_kiln.isa_functions)

_register_alloc = _kiln.isa_functions["register_alloc"]
_register_load = _kiln.isa_functions["register_load"]


def register_alloc(x=None):
    """A new register, holding x when it is an int; a one-element tensor is loaded into it."""
    trace = _kiln.active_trace()
    if trace is None:
        _register_alloc()  # raises: outside a kernel
    register = trace.new_register()
    if isinstance(x, _kiln.NkiTensor):
        _register_alloc(dst=register)
        _register_load(register, x)
    else:
        _register_alloc(dst=register, x=x)
    return register


from kiln.nki.isa import constants  # noqa: E402,F401

__getattr__, __dir__ = _as_of.names("isa", globals())
