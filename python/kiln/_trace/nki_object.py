"""NKIObject: the base of classes that kernels use.

The vendor's parser builds such objects itself: fields may lack annotations, and one that is neither passed nor has a
default is None. Kernels in the wild rely on both, also under @dataclass.
"""

import dataclasses


def _is_generated(init):
    """Whether an __init__ was made by @dataclass or is object's own."""
    return init is object.__init__ or getattr(getattr(init, "__code__", None), "co_filename", "") == "<string>"


def _fields(cls):
    """Names in the order of declaration, base classes first."""
    names = []
    for base in reversed(cls.__mro__):
        if base in (object, NKIObject):
            continue
        declared = list(base.__dict__.get("__annotations__", {}))
        plain = [n for n, v in base.__dict__.items() if not n.startswith("_") and not callable(v)
                 and not isinstance(v, (property, staticmethod, classmethod))]
        names += [n for n in declared + plain if n not in names]
    return names


def _default(cls, name):
    field = getattr(cls, "__dataclass_fields__", {}).get(name)
    if field is not None:
        if field.default is not dataclasses.MISSING:
            return field.default
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
    return getattr(cls, name, None)


class _NKIObjectType(type):
    def __call__(cls, *args, **kwargs):
        if not _is_generated(cls.__init__):
            return super().__call__(*args, **kwargs)
        names = _fields(cls)
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__} has {len(names)} fields, {len(args)} values were given")
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in values:
                raise TypeError(f"{cls.__name__}: field {name!r} is given twice")
            if name not in names:
                raise TypeError(f"{cls.__name__} has no field {name!r}; it has {', '.join(names)}")
            values[name] = value
        self = cls.__new__(cls)
        for name in names:
            object.__setattr__(self, name, values[name] if name in values else _default(cls, name))
        if hasattr(self, "__post_init__"):
            self.__post_init__()
        return self


class NKIObject(metaclass=_NKIObjectType):
    """Base of classes whose objects kernels make or take. Objects of one class with equal fields are equal."""

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self):
        return hash(type(self))  # fields may change


def _equal(a, b):
    """Whether two fields are equal; arrays are when they are the same one."""
    return a is b or not hasattr(a, "__array__") and not hasattr(b, "__array__") and bool(a == b)
