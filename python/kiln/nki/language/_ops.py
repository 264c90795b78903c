"""Op tokens: one object per name, passed to instructions and called as a function."""

from kiln import _kiln

_NAMES = sorted(set(_kiln.alu_ops()) | set(_kiln.activations()) | {"max", "min"})
for _name in _NAMES:
    globals()[_name] = _kiln.op(_name)
    globals()[_name].__name__ = _name
__all__ = _NAMES
