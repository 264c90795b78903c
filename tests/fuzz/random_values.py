"""Random arguments for functions of nki: mostly of the kind that a parameter takes, now and then anything at all."""

import ast
import enum
import fractions
import inspect
import pathlib

import numpy as np

from kiln import _kiln, nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl

OPS = [v for v in vars(nl).values() if isinstance(v, _kiln.Op)]
DTYPES = [v for n, v in vars(nl).items() if type(v) is type(nl.float32)]
MEMORIES = [nl.sbuf, nl.sbuf, nl.psum, nl.hbm, nl.shared_hbm, nl.private_hbm]
ENUMS = {n: list(v) for n, v in vars(nisa).items() if isinstance(v, type) and issubclass(v, enum.Enum)}
EXTENTS = (1, 2, 4, 8, 16, 32, 64, 128)
ODD_EXTENTS = (0, -1, 3, 129, 512, 4096, 2**31, 2**40, 2**63, 2**64, 10**30)
TEXTS = ("x", "", "a b", "\ud800", "né", "\0", "p a b", "float32", "multiply", "a" * 3000)


class Evil(Exception):
    """What hostile arguments raise."""


class Hostile:
    """Raises whatever it is asked."""

    def _raise(self, *_):
        raise Evil

    __len__ = __getitem__ = __iter__ = __index__ = __int__ = __float__ = __eq__ = __hash__ = __str__ = _raise
    __repr__ = __bool__ = __array__ = __call__ = _raise

    def __getattr__(self, name):
        raise Evil


def _looped():
    loop = []
    loop.append(loop)
    return loop


def _read_only():
    array = np.ones((4, 4), np.float32)
    array.flags.writeable = False
    return array


JUNK = (
    None, True, object, len, object(), Hostile(), Hostile, _looped(), {}, [], (), {"a": 1}, b"bytes", 1j, 1e400, -0.0,
    float("nan"), 2**31, -(2**63), 2**64, 10**400, fractions.Fraction(1, 3), slice(None), slice(3, 1, -1), Ellipsis,
    np.float64(2), np.int64(3), np.bool_(True), np.dtype("float32"), np.float32, "float32", range(4), iter([1]),
    np.zeros((4, 4), np.float32), np.zeros(()), np.zeros((0, 2)), np.array([None]), _read_only(),
    np.ma.masked_array(np.ones((4, 4), np.float32), True), np.array(["text"]), nki, nl, nisa, nl.NKIObject, *TEXTS)


def _definitions(path):
    """(class or None, function, {parameter: annotation or None}) of a file of stubs."""
    def parameters(node):
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        return {a.arg: ast.unparse(a.annotation) if a.annotation else None for a in given if a.arg != "self"}

    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield None, node.name, parameters(node)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.decorator_list:
                    yield node.name, inner.name, parameters(inner)


def _isa_functions():
    path = pathlib.Path(nisa.__file__).with_suffix(".pyi")
    return [(getattr(nisa, name), parameters) for _, name, parameters in _definitions(path)]


def _language_functions():
    found = []
    for name in dir(nl):
        value = getattr(nl, name)
        if name.startswith("_") or isinstance(value, type) or not callable(value):
            continue
        try:
            parameters = inspect.signature(value).parameters.values()
        except ValueError:
            continue
        found.append((value, {p.name: None for p in parameters if p.kind is not p.VAR_KEYWORD}))
    return [*found, (nl.ndarray, dict.fromkeys(("shape", "dtype", "buffer", "name", "address")))]


FUNCTIONS = _isa_functions() + _language_functions()
STUBS = pathlib.Path(_kiln.__file__).with_name("_kiln.pyi")
METHODS = [(name, parameters) for cls, name, parameters in _definitions(STUBS)
           if cls == "NkiTensor" and name != "__init__"]
OPERATORS = [n for n in dir(_kiln.NkiTensor) if n.startswith("__") and n.endswith("__") and n not in dir(object)]


class Values:
    """Values for one kernel; `tensors` grows with what its calls return. Wild ones are of any kind and any size."""

    def __init__(self, choices, wild):
        self.c, self.wild = choices, wild
        self.tensors, self.registers = [], []
        self._by_name = {name: make for make, names in {
            self.shape: "shape args",
            self.integer: "size num_elem step start stop end lower upper n offset seed index",
            self.number: "fill_value rate epsilon",
            self.truth: "keepdims transpose_x",
            self.dtype: "dtype compute_dtype",
            self.memory: "buffer",
            self.text: "name print_prefix",
            self.axis: "axis axes dim start_dim end_dim",
            self.axes: "dims",
            self.pattern: "pattern",
            self.index: "key",
            self.function: "body_fun",
            self.pair: "address",
            self.array: "constant",
            self.register: "init scalar_offset",
        }.items() for name in names.split()}  # all others are tensors
        self._by_kind = {
            "NkiTensor": self.tensor, "Op": self.op, "int": self.integer, "float": self.number, "bool": self.truth,
            "str": self.text, "VirtualRegister": self.register, "None": lambda: None,
            "Sequence[int]": self.axes, "Sequence[Sequence[int]]": self.pattern,
            "Sequence[float]": lambda: [self.number() for _ in range(self.c.between(0, 4))],
            "Sequence[NkiTensor]": lambda: [self.tensor() for _ in range(self.c.between(0, 4))],
        }

    def arguments(self, parameters):
        """Arguments by position and by name."""
        named = {}
        for name, annotation in parameters.items():
            optional = name == "name" or (annotation and "None" in annotation)
            if not (self.c.chance(2) if optional else self.wild and self.c.chance(30)):
                named[name] = self.value(name, annotation)
        if self.wild and self.c.chance(40):
            named["unknown"] = None
        names = list(named)
        by_position = 0
        for name, wanted in zip(names, parameters):
            if name != wanted or self.c.chance(3):
                break
            by_position += 1
        return [named[n] for n in names[:by_position]], {n: named[n] for n in names[by_position:]}

    def value(self, name, annotation):
        if self.wild and self.c.chance(12):
            return self.c.any(JUNK)
        if annotation and annotation != "object" and not annotation.startswith("object |"):
            kind = self.c.any(annotation.split(" | "))
            if kind in ENUMS:
                return self.c.any(ENUMS[kind])
            if kind in self._by_kind:
                return self._by_kind[kind]()
        return self._by_name.get(name, self.tensor)()

    def tensor(self):
        return self.c.any(self.tensors)

    def op(self):
        return self.c.any(OPS)

    def dtype(self):
        return self.c.any(DTYPES)

    def memory(self):
        return self.c.any(MEMORIES)

    def truth(self):
        return self.c.chance(2)

    def text(self):
        return self.c.any(TEXTS) if self.wild else f"name_{self.c.below(1000)}"

    def register(self):
        return self.c.any(self.registers) if self.registers else self.integer()

    def integer(self):
        if self.wild and self.c.chance(6):
            return self.c.any(ODD_EXTENTS)
        return self.c.below(6) if self.c.chance(2) else self.c.any(EXTENTS)

    def number(self):
        return self.c.any((0, 1, -2, 0.5, 1e-3, 3.0e38, float("inf"), -0.0, 7))

    def axis(self):
        return self.axes() if self.c.chance(4) else self.c.between(-2, 4)

    def axes(self):
        return [self.c.between(-1, 3) for _ in range(self.c.between(0, 4))]

    def shape(self):
        return tuple(self.integer() for _ in range(self.c.any((2, 2, 2, 3, 1, 5 if self.wild else 4))))

    def pattern(self):
        return [[self.integer(), self.integer()] for _ in range(self.c.between(1, 4))]

    def pair(self):
        return (self.c.any((0, 32, 64, 1)), self.c.any((0, 4, 2048, 3)))

    def array(self):
        return np.ones((self.c.any((1, 4, 128)), self.c.any((1, 8))), self.c.any((np.float32, np.int32)))

    def function(self):
        tensor, op = self.tensor(), self.op()
        return self.c.any((lambda *_: None, lambda i, *_: i, lambda *_: nisa.memset(tensor, 0), lambda *_: op(tensor)))

    def index(self):
        parts = [self._index_part() for _ in range(self.c.between(1, 4))]
        return tuple(parts) if self.c.chance(2) else parts[0]

    def _index_part(self):
        kind = self.c.below(7)
        if kind == 0:
            return slice(*(self.c.any((None, 0, 1, 2, 4, 32, -1)) for _ in range(3)))
        if kind == 1:
            return self.c.any((None, Ellipsis, slice(None)))
        if kind == 2:
            return nl.ds(self.c.below(64), self.c.any(EXTENTS))
        if kind == 3:
            return self.register()
        return self.c.between(-2, 130) if kind == 4 else slice(0, self.c.any(EXTENTS))
