"""Op tokens: one object per name, passed to instructions and, where there is a function, called."""

from kiln import _kiln

_tokens = {}


def token(name):
    """The one object of an operator or activation."""
    if name not in _tokens:
        _tokens[name] = _kiln.op(name)
        _tokens[name].__name__ = name
    return _tokens[name]


def instruction_tokens():
    """The names that instructions take as operators or activations."""
    return sorted({*_kiln.alu_ops(), *_kiln.activations(), "max", "min"})
